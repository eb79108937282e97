/**
 * GET /openapi.json, GET /llms.txt, GET /docs and the pages below it, all unsigned. Built from the routes, and rebuilt
 * when the longest rental on sale changes. Each document is cached as the bytes to send.
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
import { PAGE_POLICY } from './site-layout.js';
import { Site } from './site.js';
import { RouteOptionsOf } from '../pipeline/route-options.js';
import { routesIn } from '../pipeline/routes.js';

function packageVersion(): string {
  const text = readFileSync(ownFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

interface Served {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The documents built from the routes. */
interface Documents {
  readonly longestSec: number | undefined;
  readonly json: JsonSchema;
  readonly bytes: Buffer;
  /** After its first request: a program without docs/ still describes itself. */
  site?: Site;
  /** The files of the site that were read, by name. */
  readonly files: Map<string, Served>;
}

const hrefOf = (name: string): string => (name === '' ? '/docs' : `/docs/${name}`);

@Controller()
export class OpenApiController {
  private documents: Documents | undefined;

  constructor(
    private readonly config: Config,
    private readonly modules: ModulesContainer,
    private readonly moduleRef: ModuleRef,
  ) {}

  @Get('openapi.json')
  @RouteOptionsOf({ isPublic: true })
  describe(@Res() response: Response): void {
    sendBytes(response, 'application/json; charset=utf-8', this.current().bytes);
  }

  @Get('docs')
  @RouteOptionsOf({ isPublic: true })
  readIndex(@Res() response: Response): void {
    this.sendFile(response, '');
  }

  @Get('llms.txt')
  @RouteOptionsOf({ isPublic: true })
  readForModels(@Res() response: Response): void {
    this.sendFile(response, 'llms.txt');
  }

  @Get('docs/:page')
  @RouteOptionsOf({ isPublic: true })
  readPage(@Param('page') name: string, @Res() response: Response): void {
    this.sendFile(response, name);
  }

  private sendFile(response: Response, name: string): void {
    const documents = this.current();
    const { files } = documents;
    let served = files.get(name);
    if (served === undefined) {
      documents.site ??= new Site(documents.json, hrefOf);
      const file = documents.site.file(name);
      if (file === undefined) throw new ApiError('NOT_FOUND', 'There is no page of this name; GET /docs lists them.');
      served = { type: file.type, bytes: Buffer.from(file.text) };
      files.set(name, served);
    }
    // The pipeline's own policy would forbid even the page's style.
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    sendBytes(response, served.type, served.bytes);
  }

  private current(): Documents {
    // Prices belong to a feature, which this layer does not import.
    const { longestSec } = this.moduleRef.get(SaleBounds, { strict: false });
    if (this.documents === undefined || this.documents.longestSec !== longestSec) {
      const limits = { sales: this.config.sales, sale: { longestSec } };
      const json = describeApi(routesIn(this.modules).list(), limits, packageVersion());
      const bytes = Buffer.from(JSON.stringify(json));
      this.documents = { longestSec, json, bytes, files: new Map() };
    }
    return this.documents;
  }
}

/** Sends the bytes unchanged: Nest and Express would convert them to JSON or copy them. */
function sendBytes(response: Response, type: string, bytes: Buffer): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
