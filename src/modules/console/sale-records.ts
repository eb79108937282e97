/** Figures for prices, from stored records: a console sends no requests to nodes or exchanges. Reads only. */
import { Injectable } from '@nestjs/common';
import { HeldRates } from '../billing/held-rates.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ApiError } from '../../domain/errors.js';
import type { BandwidthRatio } from '../pool/bandwidth-stake.js';
import type { EnergyRatio } from '../pool/energy-ratio.js';
import { Prices } from '../quotes/prices.js';
import type { SaleFigures } from '../quotes/direct-price.js';
import { Database, type Queryable } from '../../platform/database/database.js';

const CHAIN = {
  name: 'console_chain_reading',
  text: `SELECT value ->> 'energyFeeSun' AS energy_fee, value ->> 'transactionFeeSunPerByte' AS byte_fee,
      value ->> 'maxFeeLimitSun' AS max_fee_limit,
      value ->> 'totalNetLimit' AS net_limit, value ->> 'totalNetWeight' AS net_weight,
      value ->> 'createAccountFeeSun' AS account_fee, value ->> 'totalEnergyLimit' AS energy_limit, value ->> 'totalEnergyWeight' AS energy_weight,
      extract(epoch FROM clock_timestamp() - measured_at)::float8 AS age_sec FROM market_state WHERE name = 'chain'`,
};

interface ChainReading {
  readonly energy_fee: string | null;
  readonly byte_fee: string | null;
  readonly max_fee_limit: string | null;
  readonly energy_limit: string | null;
  readonly energy_weight: string | null;
  readonly net_limit: string | null;
  readonly net_weight: string | null;
  readonly account_fee: string | null;
  readonly age_sec: number;
}

/** Returns the last reading of the chain by the service, its integers as text; undefined before the first. */
export async function lastChainReading(on: Queryable): Promise<ChainReading | undefined> {
  return (await on.query<ChainReading>(CHAIN))[0];
}

/** Adds the ratios of stake to each resource. They give the stake that an order takes from the pool. */
export interface RecordedFigures extends SaleFigures {
  readonly ratio: EnergyRatio;
  /** Undefined while the network's stake for bandwidth is unknown. */
  readonly bandwidthRatio: BandwidthRatio | undefined;
  /** Sun that an activation burns; undefined while it is unknown. */
  readonly accountFeeSun: bigint | undefined;
}

@Injectable()
export class SaleRecords {
  private readonly rates: HeldRates;

  constructor(
    private readonly database: Database,
    private readonly prices: Prices,
    private readonly config: ConsoleConfig,
  ) {
    this.rates = new HeldRates(database);
  }

  /** Throws ApiError CHAIN_UNAVAILABLE if the last chain reading is too old, and SERVICE_UNAVAILABLE without prices. */
  async figures(): Promise<RecordedFigures> {
    const { sales, market, rates } = this.config;
    const chain = await lastChainReading(this.database);
    const priceRows = await this.prices.list();
    if (priceRows.length === 0)
      throw new ApiError('SERVICE_UNAVAILABLE', 'Prices are unknown at present. Try again shortly.');
    const [energyFeeSun, perByte] = [integerOf(chain?.energy_fee), integerOf(chain?.byte_fee)];
    const [totalEnergyLimit, totalEnergyWeight] = [integerOf(chain?.energy_limit), integerOf(chain?.energy_weight)];
    if (
      chain === undefined ||
      chain.age_sec > market.maxAgeSec ||
      energyFeeSun === undefined ||
      perByte === undefined ||
      totalEnergyLimit === undefined ||
      totalEnergyWeight === undefined
    ) {
      throw new ApiError('CHAIN_UNAVAILABLE', 'The state of the chain is unknown at present. Try again shortly.');
    }
    const isStatic = rates.sources.every((source) => source === 'static');
    const stored = isStatic ? undefined : await this.rates.stored();
    return {
      rules: sales,
      priceRows,
      fees: { energyFeeSun, transactionFeeSunPerByte: perByte, maxFeeLimitSun: integerOf(chain.max_fee_limit) },
      rate: stored?.rate ?? rates.fallback,
      ratio: { totalEnergyLimit, totalEnergyWeight },
      bandwidthRatio: bandwidthRatioOf(chain),
      accountFeeSun: integerOf(chain.account_fee),
    };
  }
}

function bandwidthRatioOf({ net_limit: limit, net_weight: weight }: ChainReading): BandwidthRatio | undefined {
  const [totalNetLimit, totalNetWeight] = [integerOf(limit) ?? 0n, integerOf(weight) ?? 0n];
  return totalNetLimit > 0n && totalNetWeight > 0n ? { totalNetLimit, totalNetWeight } : undefined;
}

export function integerOf(text: string | null | undefined): bigint | undefined {
  return text !== null && text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : undefined;
}
