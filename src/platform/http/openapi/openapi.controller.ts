/**
 * GET /openapi.json, GET /docs and the guides below it, all unsigned. Built from the routes, and rebuilt when the
 * longest rental on sale changes. Each document is cached as the bytes to send.
 */
import { readFileSync } from 'node:fs';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import type { Response } from 'express';
import { ownFile } from '../../support/own-files.js';
import { Config } from '../../config/config.js';
import { ApiError } from '../../../domain/errors.js';
import { SaleBounds, type JsonSchema } from '../body/member-rules.js';
import { describeApi } from './openapi.js';
import { readChapters, readGuides, type Guide } from './guides.js';
import { PAGE_POLICY, renderGuide, renderPage } from './openapi-page.js';
import { RouteOptionsOf } from '../pipeline/route-options.js';
import { routesIn } from '../pipeline/routes.js';

function packageVersion(): string {
  const text = readFileSync(ownFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The documents built from the routes. */
interface Documents {
  readonly longestSec: number | undefined;
  readonly json: JsonSchema;
  readonly bytes: Buffer;
  /** The page, after its first request. */
  page?: Buffer;
}

const HTML = 'text/html; charset=utf-8';

@Controller()
export class OpenApiController {
  private documents: Documents | undefined;
  private guides: readonly Guide[] | undefined;
  private chapters: readonly Guide[] | undefined;
  private readonly guidePages = new Map<string, Buffer>();

  constructor(
    private readonly config: Config,
    private readonly modules: ModulesContainer,
    private readonly parts: ModuleRef,
  ) {}

  @Get('openapi.json')
  @RouteOptionsOf({ isPublic: true })
  describe(@Res() response: Response): void {
    sendBytes(response, 'application/json; charset=utf-8', this.current().bytes);
  }

  @Get('docs')
  @RouteOptionsOf({ isPublic: true })
  read(@Res() response: Response): void {
    const documents = this.current();
    documents.page ??= Buffer.from(renderPage(documents.json, this.allGuides()));
    sendPage(response, documents.page);
  }

  @Get('docs/:guide')
  @RouteOptionsOf({ isPublic: true })
  readGuide(@Param('guide') name: string, @Res() response: Response): void {
    const guide = [...this.allGuides(), ...this.allChapters()].find((each) => each.name === name);
    if (guide === undefined) throw new ApiError('NOT_FOUND', 'There is no page of this name; GET /docs lists them.');
    const page = this.guidePages.get(name) ?? Buffer.from(renderGuide(guide));
    this.guidePages.set(name, page);
    sendPage(response, page);
  }

  private current(): Documents {
    // Prices belong to a feature, which this layer does not import.
    const { longestSec } = this.parts.get(SaleBounds, { strict: false });
    if (this.documents === undefined || this.documents.longestSec !== longestSec) {
      const limits = { sales: this.config.sales, sale: { longestSec } };
      const json = describeApi(routesIn(this.modules).list(), limits, packageVersion());
      this.documents = { longestSec, json, bytes: Buffer.from(JSON.stringify(json)) };
    }
    return this.documents;
  }

  private allGuides(): readonly Guide[] {
    return (this.guides ??= readGuides());
  }

  private allChapters(): readonly Guide[] {
    return (this.chapters ??= readChapters());
  }
}

function sendPage(response: Response, bytes: Buffer): void {
  // The pipeline's own policy would forbid even the page's style.
  response.setHeader('Content-Security-Policy', PAGE_POLICY);
  sendBytes(response, HTML, bytes);
}

/** Sends the bytes unchanged: Nest and Express would convert them to JSON or copy them. */
function sendBytes(response: Response, type: string, bytes: Buffer): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
