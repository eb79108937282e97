/** GET /openapi.json and GET /docs: the interface described, to anybody. Built from the routes at the first request. */
import { readFileSync } from 'node:fs';
import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { Response } from 'express';
import { Config } from '../config.js';
import { describeApi, type JsonSchema } from './openapi.js';
import { PAGE_POLICY, renderPage } from './openapi-page.js';
import { Door } from './route-options.js';
import { routesIn } from './routes.js';

/** The version of the package, from src as from dist. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

@Controller()
export class OpenApiController {
  private document: JsonSchema | undefined;
  private page: string | undefined;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  @Get('openapi.json')
  @Door({ isPublic: true })
  describe(): JsonSchema {
    this.document ??= describeApi(routesIn(this.modules).list(), this.config, packageVersion());
    return this.document;
  }

  @Get('docs')
  @Door({ isPublic: true })
  @Header('Content-Type', 'text/html; charset=utf-8')
  read(@Res({ passthrough: true }) response: Response): string {
    // The door's own policy forbids even the page's style.
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    this.page ??= renderPage(this.describe());
    return this.page;
  }
}
