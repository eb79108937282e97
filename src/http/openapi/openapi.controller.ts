/** GET /openapi.json and GET /docs: unsigned. Built from the routes, anew when the longest rental on sale changes. */
import { readFileSync } from 'node:fs';
import { Controller, Get, Header, Res } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import type { Response } from 'express';
import { Config } from '../../config/config.js';
import { SaleBounds, type JsonSchema } from '../body/member-rules.js';
import { describeApi } from './openapi.js';
import { PAGE_POLICY, renderPage } from './openapi-page.js';
import { RouteOptionsOf } from '../pipeline/route-options.js';
import { routesIn } from '../pipeline/routes.js';

/** The version of the package, from src as from dist. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

@Controller()
export class OpenApiController {
  private document: { readonly longestSec: number | undefined; readonly json: JsonSchema } | undefined;
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
    if (this.page?.of !== json) this.page = { of: json, html: renderPage(json) };
    return this.page.html;
  }
}
