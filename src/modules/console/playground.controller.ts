/**
 * Tries quotes and simulations without an API key: the price from present records, and the request code for the
 * merchant's own server. Redeems, sends and stores nothing. A console sends no node requests, so it does not run a
 * simulation.
 */
import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { burnPrice, creditsOf, rateText, trxOf } from '../../domain/conversion.js';
import { ConsoleError } from '../../domain/console-error.js';
import { DEFAULT_DURATION_SEC } from '../../domain/price.js';
import { energy, toJsonInteger } from '../../domain/units.js';
import { IsText, IsTronAddress, Optional } from '../../platform/http/body/member-rules.js';
import { priceAddedTime } from '../quotes/bandwidth-price.js';
import { priceDirect } from '../quotes/direct-price.js';
import { IsDuration, IsEnergy } from '../quotes/quote.dto.js';
import { callOf, SimulateRequest } from '../simulation/simulate.dto.js';
import { money } from './answers.js';
import { Authority } from './authority.js';
import type {
  PlaygroundCall,
  PlaygroundExtension,
  PlaygroundQuote,
  TryExtension,
  TryQuote,
} from './integration-shapes.js';
import { OrderRecordReader } from './order-records.js';
import { isRunning } from './order-page.js';
import { SaleRecords } from './sale-records.js';
import { curlOfRequest, nodeOfRequest } from './signed-snippets.js';

const TRIES = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;

class TryQuoteRequest implements TryQuote {
  @IsTronAddress('The account that spends the energy.')
  declare readonly receive_address: string;

  @IsEnergy('The amount of energy. A console asks no node, so it cannot size the amount by the receiver.')
  declare readonly energy: number;

  @Optional()
  @IsDuration()
  declare readonly duration_sec?: number;
}

class TryExtensionRequest implements TryExtension {
  @IsText({ maxLength: 255, description: 'The key of a rental that runs.' })
  declare readonly order: string;

  @IsDuration({ isLongJudged: false, defaultOf: null })
  declare readonly duration_sec: number;
}

@Controller('api/projects/:project_id/playground')
export class PlaygroundController {
  constructor(
    private readonly saleRecords: SaleRecords,
    private readonly orderRecordReader: OrderRecordReader,
  ) {}

  @Post('quote')
  @HttpCode(200)
  @Authority(TRIES)
  async quote(@Param('project_id') _project: string, @Body() request: TryQuoteRequest): Promise<PlaygroundQuote> {
    const { duration_sec: seconds = DEFAULT_DURATION_SEC, receive_address: receiver } = request;
    const figures = await this.saleRecords.figures();
    const amount = energy(request.energy);
    const { priceSun, credits, rate } = priceDirect(figures, amount, seconds);
    const burnSun = burnPrice(amount, figures.fees.energyFeeSun);
    const burnCredits = creditsOf(burnSun, rate);
    const body = { receive_address: receiver, energy: request.energy, duration_sec: seconds };
    return {
      energy: request.energy,
      duration_sec: seconds,
      price_sun: toJsonInteger(priceSun),
      price_trx: trxOf(priceSun),
      price: money(credits),
      burning_trx: trxOf(burnSun),
      burning: money(burnCredits),
      saving_trx: trxOf(burnSun - priceSun),
      saving: money(burnCredits - credits),
      trx_usd: rateText(rate),
      curl: curlOfRequest({ path: '/v1/quotes', body, isOrder: false }),
      node: nodeOfRequest('quotes.create', body, ['ref', 'price_trx', 'saving_trx', 'expires_in_sec']),
    };
  }

  @Post('simulation')
  @HttpCode(200)
  @Authority(TRIES)
  simulation(@Param('project_id') _project: string, @Body() request: SimulateRequest): PlaygroundCall {
    callOf(request);
    const body = Object.fromEntries(Object.entries(request));
    return {
      curl: curlOfRequest({ path: '/v1/simulate', body, isOrder: false }),
      node: nodeOfRequest('quotes.simulate', body, ['energy_needed', 'burn_price_trx', 'would_fail', 'reason']),
    };
  }

  /** Returns the price of additional time, and the request code that buys it with a key. */
  @Post('extension')
  @HttpCode(200)
  @Authority(TRIES)
  async extension(
    @Param('project_id') project: string,
    @Body() { order: key, duration_sec: seconds }: TryExtensionRequest,
  ): Promise<PlaygroundExtension> {
    const order = await this.orderRecordReader.read(project, key);
    if (!isRunning(order) || order.energy === null) {
      throw new ConsoleError('CONFLICT', 'This rental cannot be extended: it must be final and still running.');
    }
    const sold = { energy: order.energy, bandwidth: order.bandwidth };
    const { priceSun, credits } = priceAddedTime(await this.saleRecords.figures(), sold, seconds);
    const body = { duration_sec: seconds };
    const path = `/v1/orders/${encodeURIComponent(order.key)}/extensions`;
    return {
      duration_sec: seconds,
      price: money(credits),
      price_trx: trxOf(priceSun),
      curl: curlOfRequest({ path, body, isOrder: true }),
      node: nodeOfRequest('orders.extend', body, ['ends_at'], order.key),
    };
  }
}
