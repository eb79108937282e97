/** GET /openapi.json, GET /docs and the guides below it: unsigned. Built from the routes, anew when the longest rental on sale changes. */
import { readFileSync } from 'node:fs';
import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import type { Response } from 'express';
import { ownFile } from '../../base/own-files.js';
import { Config } from '../../config/config.js';
import { ApiError } from '../../domain/errors.js';
import { SaleBounds, type JsonSchema } from '../body/member-rules.js';
import { describeApi } from './openapi.js';
import { readGuides, type Guide } from './guides.js';
import { PAGE_POLICY, renderGuide, renderPage } from './openapi-page.js';
import { RouteOptionsOf } from '../pipeline/route-options.js';
import { routesIn } from '../pipeline/routes.js';

function packageVersion(): string {
  const text = readFileSync(ownFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

@Controller()
export class OpenApiController {
  private document: { readonly longestSec: number | undefined; readonly json: JsonSchema } | undefined;
  private guides: readonly Guide[] | undefined;
  private page: { readonly of: JsonSchema; readonly html: string } | undefined;

  constructor(
    private readonly config: Config,
    private readonly modules: ModulesContainer,
    private readonly parts: ModuleRef,
  ) {}

  @Get('openapi.json')
  @RouteOptionsOf({ isPublic: true })
  describe(): JsonSchema {
    // Prices are a feature's, which this layer doesn't import.
    const { longestSec } = this.parts.get(SaleBounds, { strict: false });
    if (this.document === undefined || this.document.longestSec !== longestSec) {
      const limits = { sales: this.config.sales, sale: { longestSec } };
      const json = describeApi(routesIn(this.modules).list(), limits, packageVersion());
      this.document = { longestSec, json };
    }
    return this.document.json;
  }

  @Get('docs')
  @RouteOptionsOf({ isPublic: true })
  @Header('Content-Type', 'text/html; charset=utf-8')
  read(@Res({ passthrough: true }) response: Response): string {
    // The pipeline's own policy forbids even the page's style.
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    const json = this.describe();
    if (this.page?.of !== json) this.page = { of: json, html: renderPage(json, this.allGuides()) };
    return this.page.html;
  }

  @Get('docs/:guide')
  @RouteOptionsOf({ isPublic: true })
  @Header('Content-Type', 'text/html; charset=utf-8')
  readGuide(@Param('guide') name: string, @Res({ passthrough: true }) response: Response): string {
    const guide = this.allGuides().find((each) => each.name === name);
    if (guide === undefined) throw new ApiError('NOT_FOUND', 'There is no page of this name; GET /docs lists them.');
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    return renderGuide(guide);
  }

  private allGuides(): readonly Guide[] {
    return (this.guides ??= readGuides());
  }
}
