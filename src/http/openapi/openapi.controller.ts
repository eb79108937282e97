/**
 * GET /openapi.json, GET /docs and the guides below it: unsigned. Built from the routes, anew when the longest rental on sale
 * changes. Each is kept as the bytes that all who ask are sent.
 */
import { readFileSync } from 'node:fs';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import type { Response } from 'express';
import { ownFile } from '../../base/own-files.js';
import { Config } from '../../config/config.js';
import { ApiError } from '../../domain/errors.js';
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

/** What is made of the routes. */
interface Documents {
  readonly longestSec: number | undefined;
  readonly json: JsonSchema;
  readonly bytes: Buffer;
  /** The page, once it was asked for. */
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
    // Prices are a feature's, which this layer doesn't import.
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
  // The pipeline's own policy forbids even the page's style.
  response.setHeader('Content-Security-Policy', PAGE_POLICY);
  sendBytes(response, HTML, bytes);
}

/** Sends the bytes themselves: Nest and Express would make JSON or a copy of them. */
function sendBytes(response: Response, type: string, bytes: Buffer): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
