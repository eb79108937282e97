/** Routes of extensions (docs/interface.md §30). */
import { Body, Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { usesOf } from '../quotes/quote.dto.js';
import { ExtensionRequest } from './extensions.dto.js';
import { describeExtension } from './extensions.openapi.js';
import { ExtensionsService } from './extensions.service.js';
import { markReplay } from './order-answers.js';
import type { OrderBody } from './orders.dto.js';
import { keyedContextOf } from './purchase.js';

@Controller('v1/orders')
export class ExtensionsController {
  constructor(private readonly extensions: ExtensionsService) {}

  @Post(':key/extensions')
  @Describe(describeExtension)
  @RouteOptionsOf({ isPurchase: true, scope: 'order' })
  @HttpCode(200)
  async extend(
    @Caller() caller: Caller,
    @Param('key') orderKey: string,
    @Body() { duration_sec: durationSec, expected_uses: expectedUses }: ExtensionRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderBody> {
    const context = keyedContextOf(caller, response);
    const time = { durationSec, expectedUses: usesOf(expectedUses, durationSec) };
    const { body, isReplay } = await this.extensions.extend(orderKey, time, context);
    if (isReplay) markReplay(response);
    return body;
  }
}
