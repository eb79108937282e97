/** Routes for the price table: show it, preview a change, and make it. Operators only. */
import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ConsoleError } from '../../domain/console-error.js';
import { invalidFields } from '../../domain/errors.js';
import { IsFlag, IsInteger, IsText, Optional } from '../../platform/http/body/member-rules.js';
import { Prices } from '../quotes/prices.js';
import { authorOf, Person } from './caller.js';
import { reasonOf } from './answers.js';
import { Authority, type ConsoleCaller } from './authority.js';
import type { PriceChange, PricePreview, PriceTable, SavePrice } from './operator-shapes.js';
import { PricePreviews } from './price-preview.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;
const WRITES = { operator: ['admin'], scope: 'service', again: true } as const;
const DURATION = () => ({ min: 1, max: 31_536_000 });
const PRICE = () => ({ min: 1, max: 1_000_000 });
const PRICE_OR_NONE = () => ({ min: 0, max: 1_000_000 });

class PriceChangeRequest implements PriceChange {
  @IsInteger(DURATION, 'The longest duration that the row holds for, in seconds.')
  declare readonly duration_max_sec: number;

  @Optional()
  @IsInteger(PRICE, 'The price of one energy, in sun; absent: the row is removed.')
  declare readonly sun_per_energy?: number;

  @Optional()
  @IsInteger(PRICE_OR_NONE, 'The price of one unit of bandwidth, in sun; 0 sells none; absent: as before.')
  declare readonly sun_per_bandwidth?: number;
}

class SavePriceRequest extends PriceChangeRequest implements SavePrice {
  @IsText({ maxLength: 1000, description: 'The reason, kept for ever.' })
  declare readonly reason: string;

  @Optional()
  @IsFlag('Set the price although the preview warns that it may be a mistake.')
  declare readonly force?: boolean;

  @Optional()
  @IsInteger(PRICE, 'The price of the row that the preview showed. Absent: there was no such row.')
  declare readonly before_sun_per_energy?: number;

  @Optional()
  @IsInteger(PRICE, 'The price of bandwidth that the preview showed. Absent: none was sold.')
  declare readonly before_sun_per_bandwidth?: number;
}

@Controller('api/operator/prices')
export class PricesController {
  constructor(
    private readonly prices: Prices,
    private readonly previews: PricePreviews,
  ) {}

  @Get()
  @Authority(READS)
  async table(): Promise<PriceTable> {
    return this.previews.table();
  }

  @Post('preview')
  @HttpCode(200)
  @Authority(READS)
  async preview(@Body() request: PriceChangeRequest): Promise<PricePreview> {
    return this.previews.preview(request);
  }

  @Post()
  @HttpCode(200)
  @Authority(WRITES)
  async save(@Person() caller: ConsoleCaller, @Body() request: SavePriceRequest): Promise<PriceTable> {
    const { duration_max_sec: durationMaxSec, sun_per_energy: perEnergy } = request;
    const act = authorOf(caller, reasonOf(request));
    const doubts = await this.previews.doubts(request);
    if (doubts.length > 0 && request.force !== true) throw invalidFields(doubts);
    const seen = {
      sunPerEnergy: priceOf(request.before_sun_per_energy),
      sunPerBandwidth: priceOf(request.before_sun_per_bandwidth),
    };
    const isSaved =
      perEnergy === undefined
        ? await this.prices.removeIf(durationMaxSec, seen, act)
        : await this.prices.setIf(
            {
              durationMaxSec,
              sunPerEnergy: BigInt(perEnergy),
              sunPerBandwidth:
                request.sun_per_bandwidth === undefined
                  ? seen.sunPerBandwidth
                  : priceOf(request.sun_per_bandwidth || undefined),
            },
            seen,
            act,
          );
    if (!isSaved)
      throw new ConsoleError('CONFLICT', 'Another person has changed this price meanwhile. Review it again.');
    return this.previews.table();
  }
}

const priceOf = (price: number | undefined): bigint | undefined => (price === undefined ? undefined : BigInt(price));
