/**
 * Routes for purchases in the console. Owners buy, behind a cap that they set; members see the terms. Operators have
 * none of these routes.
 */
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { credits } from '../../domain/units.js';
import { ConsoleKeys } from '../projects/console-keys.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { authorOf, Person } from './caller.js';
import { ConsolePurchases } from './console-purchases.js';
import { PurchasePreviews } from './purchase-previews.js';
import type { Purchased, PurchasePreview, PurchaseTerms } from './purchase-shapes.js';
import {
  ExtensionPurchaseRequest,
  PurchaseCapRequest,
  PurchaseQuery,
  PurchaseRequest,
  WantedExtensionRequest,
  WantedPurchaseRequest,
} from './purchases.dto.js';

const READS = { merchant: ['owner', 'member'], scope: 'project' } as const;
const WRITES = { merchant: ['owner'], scope: 'project', again: true } as const;
/** For previews of prices, which change nothing. */
const ASKS = { merchant: ['owner'], scope: 'project' } as const;

@Controller('api/projects/:project_id/purchases')
export class PurchasesController {
  constructor(
    private readonly previews: PurchasePreviews,
    private readonly purchases: ConsolePurchases,
    private readonly keys: ConsoleKeys,
  ) {}

  @Get()
  @Authority(READS)
  async terms(@Param('project_id') project: string, @Query() { key }: PurchaseQuery): Promise<PurchaseTerms> {
    return this.previews.terms(project, key);
  }

  @Post('cap')
  @HttpCode(200)
  @Authority(WRITES)
  async setCap(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() { daily_cap_credits: cap }: PurchaseCapRequest,
  ): Promise<PurchaseTerms> {
    await this.keys.setCap(project, cap === undefined ? undefined : credits(cap), authorOf(caller));
    return this.previews.terms(project, undefined);
  }

  @Post('preview')
  @HttpCode(200)
  @Authority(ASKS)
  async preview(
    @Param('project_id') project: string,
    @Body() request: WantedPurchaseRequest,
  ): Promise<PurchasePreview> {
    return this.previews.preview(project, request);
  }

  @Post()
  @HttpCode(200)
  @Authority(WRITES)
  async buy(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() request: PurchaseRequest,
  ): Promise<Purchased> {
    return this.purchases.buy(caller, project, request);
  }

  @Post('extension/preview')
  @HttpCode(200)
  @Authority(ASKS)
  async extensionPreview(
    @Param('project_id') project: string,
    @Body() request: WantedExtensionRequest,
  ): Promise<PurchasePreview> {
    return this.previews.extensionPreview(project, request);
  }

  @Post('extension')
  @HttpCode(200)
  @Authority(WRITES)
  async extend(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() request: ExtensionPurchaseRequest,
  ): Promise<Purchased> {
    return this.purchases.extend(caller, project, request);
  }
}
