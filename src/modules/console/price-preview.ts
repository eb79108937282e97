/**
 * Previews a change of the price table. Prices the sales of the last thirty days again, and shows changes of the least
 * energy worth renting. Reads only; bounded by the newest orders.
 */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { burnPrice, creditsOf, rateText } from '../../domain/conversion.js';
import {
  bandwidthTable,
  durationSlip,
  fewestUsesOf,
  isWorthRenting,
  leastWorthRenting,
  rentalPrice,
  rowFor,
  slipsIn,
  usesOfRefill,
  warningFor,
  type PriceRow,
} from '../../domain/price.js';
import type { FieldFault } from '../../domain/errors.js';
import { energy, sun, toJsonInteger, type RateE8, type Sun } from '../../domain/units.js';
import { priceFloor } from '../pool/bandwidth.js';
import { Prices } from '../quotes/prices.js';
import { Database } from '../../platform/database/database.js';
import { projectNames } from '../../platform/database/project-names.js';
import { Replica } from '../../platform/database/replica.js';
import { money, withoutNull } from './answers.js';
import { integerOf, lastChainReading } from './sale-records.js';
import type { PriceChange, PriceLine, PricePreview, PriceTable } from './operator-shapes.js';

const DAYS = 30;
const ORDERS_MAX = 100_000;
const PAGE = 5000;
const PROJECTS_SHOWN = 10;

/**
 * Includes direct orders and redeemed quotes, since both were priced by the table of their day. Excludes test orders.
 */
const SALES = {
  name: 'console_sales',
  text: `SELECT o.id, o.project_id, o.energy, o.duration_sec, o.credits, o.trx_usd_e8, o.created_at, o.expected_uses,
      o.bandwidth, o.activation_credits, o.key LIKE 'auto\\_%' AS is_refill FROM orders o
    WHERE o.id < $1 AND o.kind = 'rental' AND NOT o.test ORDER BY o.id DESC LIMIT $2`,
};

interface Sale {
  readonly id: bigint;
  readonly project_id: string;
  readonly energy: bigint;
  readonly duration_sec: number;
  readonly credits: bigint;
  readonly trx_usd_e8: bigint;
  readonly created_at: Date;
  readonly expected_uses: number | null;
  readonly is_refill: boolean;
  readonly bandwidth: bigint | null;
  readonly activation_credits: bigint | null;
}

interface Fees {
  readonly energyFeeSun: bigint | undefined;
  readonly sunPerByte: bigint | undefined;
  readonly floorSun: Sun;
}

interface Tally {
  orders: number;
  credits: bigint;
}

@Injectable()
export class PricePreviews {
  constructor(
    private readonly database: Database,
    private readonly replica: Replica,
    private readonly prices: Prices,
    private readonly config: ConsoleConfig,
  ) {}

  async table(): Promise<PriceTable> {
    const fees = await this.fees();
    const [newest] = await this.database.query<{ trx_usd_e8: bigint }>(
      `SELECT rate_e8 AS trx_usd_e8 FROM asset_rate WHERE asset = 'TRX' AND minute <= clock_timestamp() ORDER BY minute DESC LIMIT 1`,
    );
    return withoutNull<PriceTable>({
      rows: (await this.prices.list()).map((row) => lineOf(row, fees)),
      energy_fee_sun: fees.energyFeeSun === undefined ? undefined : toJsonInteger(fees.energyFeeSun),
      bandwidth_fee_sun: fees.sunPerByte === undefined ? undefined : toJsonInteger(fees.sunPerByte),
      floor_sun: fees.energyFeeSun === undefined ? undefined : toJsonInteger(fees.floorSun),
      trx_usd: newest === undefined ? undefined : rateText(newest.trx_usd_e8 as RateE8),
    });
  }

  async preview(change: PriceChange): Promise<PricePreview> {
    const [before, fees] = [await this.prices.list(), await this.fees()];
    const after = tableAfter(before, change);
    const old = before.find((row) => row.durationMaxSec === change.duration_max_sec);
    return withoutNull<PricePreview>({
      change,
      before_sun_per_energy: old === undefined ? undefined : toJsonInteger(old.sunPerEnergy),
      before_sun_per_bandwidth: bandwidthPriceOf(old),
      doubts: this.doubtsOf(before, change, fees).map(({ msg }) => msg),
      table_after: after.map((row) => lineOf(row, fees)),
      effect: await this.effectOf(after, fees),
      edges: edgesOf(before, after, fees),
    });
  }

  /** Returns possible mistakes in the change, one sentence each, by the members that they are about. */
  async doubts(change: PriceChange): Promise<FieldFault[]> {
    return this.doubtsOf(await this.prices.list(), change, await this.fees());
  }

  private doubtsOf(rows: readonly PriceRow[], change: PriceChange, fees: Fees): FieldFault[] {
    const { duration_max_sec: durationMaxSec, sun_per_energy: perEnergy, sun_per_bandwidth: perUnit } = change;
    const long = durationSlip(durationMaxSec);
    const doubtsOf = (
      field: 'sun_per_energy' | 'sun_per_bandwidth',
      price: number | undefined,
      table: Parameters<typeof slipsIn>[1],
      feeSun: bigint | undefined,
    ): FieldFault[] => {
      if (price === undefined || price === 0) return [];
      const slips = slipsIn({ durationMaxSec, sunPerEnergy: BigInt(price) }, table, feeSun);
      return slips.filter((msg) => msg !== long).map((msg) => ({ field, msg }));
    };
    return [
      ...(long === undefined || perEnergy === undefined ? [] : [{ field: 'duration_max_sec', msg: long }]),
      ...doubtsOf('sun_per_energy', perEnergy, { unit: 'energy', rows }, fees.energyFeeSun),
      ...doubtsOf('sun_per_bandwidth', perUnit, bandwidthTable(rows), fees.sunPerByte),
    ];
  }

  private async effectOf(after: readonly PriceRow[], fees: Fees): Promise<PricePreview['effect']> {
    const [clock] = await this.database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const to = clock?.now ?? new Date(0);
    const from = new Date(to.getTime() - DAYS * 86_400_000);
    const all = tally();
    const again = tally();
    const notWorth = tally();
    const tooLong = tally();
    const projects = new Map<string, { before: bigint; after: bigint }>();
    let oldest: Date | undefined;
    for await (const sale of this.sales(from)) {
      oldest = sale.created_at;
      add(all, sale.credits);
      const price = priceAfter(sale, after, fees);
      const ofProject = projects.get(sale.project_id) ?? { before: 0n, after: 0n };
      ofProject.before += sale.credits;
      if (price === 'too_long') add(tooLong, sale.credits);
      else if (price === 'not_worth') add(notWorth, sale.credits);
      else {
        add(again, price);
        ofProject.after += price;
      }
      projects.set(sale.project_id, ofProject);
    }
    return withoutNull<PricePreview['effect']>({
      from: from.toISOString(),
      to: to.toISOString(),
      orders: all.orders,
      revenue: money(all.credits),
      revenue_after: money(again.credits),
      difference: money(again.credits - all.credits),
      not_worth_renting: { orders: notWorth.orders, revenue: money(notWorth.credits) },
      too_long: { orders: tooLong.orders, revenue: money(tooLong.credits) },
      projects: await this.mostMoved(projects),
      covered:
        all.orders < ORDERS_MAX || oldest === undefined
          ? undefined
          : { orders: all.orders, since: oldest.toISOString() },
    });
  }

  /** Yields sales newest first, back to `from`. */
  private async *sales(from: Date): AsyncGenerator<Sale, void, undefined> {
    const mark = await this.replica.mark();
    let before = 9_223_372_036_854_775_807n;
    for (let count = 0; count < ORDERS_MAX;) {
      const params = [before, Math.min(PAGE, ORDERS_MAX - count)];
      const rows = await this.replica.read(mark, (on) => on.query<Sale>(SALES, params));
      for (const sale of rows) {
        if (sale.created_at < from) return;
        count += 1;
        yield sale;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      before = last.id;
    }
  }

  private async mostMoved(
    projects: ReadonlyMap<string, { readonly before: bigint; readonly after: bigint }>,
  ): Promise<PricePreview['effect']['projects']> {
    const size = ({ before, after }: { before: bigint; after: bigint }): bigint =>
      after > before ? after - before : before - after;
    const most = [...projects].sort(([, a], [, b]) => (size(a) < size(b) ? 1 : -1)).slice(0, PROJECTS_SHOWN);
    const ids = most.map(([id]) => id);
    const names = await projectNames(this.database, ids);
    return most.map(([id, { before, after }]) => ({
      id,
      name: names.get(id) ?? '',
      before: money(before),
      after: money(after),
    }));
  }

  /** Reads the fees from the last chain reading. Without one, prices cannot be compared with burning. */
  private async fees(): Promise<Fees> {
    const chain = await lastChainReading(this.database);
    const sunPerByte = integerOf(chain?.byte_fee);
    const floorSun = sunPerByte === undefined ? sun(0n) : priceFloor(sunPerByte, this.config.sales.priceFloorBps);
    return { energyFeeSun: integerOf(chain?.energy_fee), sunPerByte, floorSun };
  }
}

const tally = (): Tally => ({ orders: 0, credits: 0n });

function add(to: Tally, credits: bigint): void {
  to.orders += 1;
  to.credits += credits;
}

/**
 * Returns the sale's price at its own rate, or the reason why it would have been refused. An activation costs the same.
 */
function priceAfter(sale: Sale, rows: readonly PriceRow[], fees: Fees): bigint | Refused {
  const { floorSun, energyFeeSun, sunPerByte } = fees;
  const parts = [
    partAfter(sale, { amount: sale.energy, rows, floorSun, feeSun: energyFeeSun }),
    ...(sale.bandwidth === null
      ? []
      : [partAfter(sale, { amount: sale.bandwidth, rows: bandwidthTable(rows).rows, floorSun, feeSun: sunPerByte })]),
  ];
  let price = 0n;
  for (const part of parts) {
    if (typeof part === 'string') return part;
    price += part;
  }
  return creditsOf(sun(price), sale.trx_usd_e8 as RateE8) + (sale.activation_credits ?? 0n);
}

type Refused = 'too_long' | 'not_worth';

/** One resource of a sale and its prices. For bandwidth, `sunPerEnergy` of each row is the price of bandwidth. */
interface PricedPart {
  readonly amount: bigint;
  readonly rows: readonly PriceRow[];
  readonly floorSun: Sun;
  readonly feeSun: bigint | undefined;
}

function partAfter(sale: Sale, { amount, rows, floorSun, feeSun }: PricedPart): Sun | Refused {
  const row = rowFor(rows, sale.duration_sec);
  if (row === undefined) return 'too_long';
  const price = rentalPrice(energy(amount), row, floorSun);
  const isWorth = feeSun === undefined || isWorthRenting(price, burnPrice(energy(amount), feeSun, usesOfSale(sale)));
  return isWorth ? price : 'not_worth';
}

/** Returns the number of uses that a sale was priced for: its request's, or those of an auto-delegation's refill. */
function usesOfSale({ expected_uses: asked, is_refill: isRefill, duration_sec: durationSec }: Sale): number {
  return asked ?? (isRefill ? usesOfRefill(durationSec) : 1);
}

/** Returns the table with the change. Without a price of bandwidth the row keeps its own; 0 sells none. */
function tableAfter(rows: readonly PriceRow[], change: PriceChange): PriceRow[] {
  const { duration_max_sec: durationMaxSec, sun_per_energy: sunPerEnergy, sun_per_bandwidth: perUnit } = change;
  const old = rows.find((row) => row.durationMaxSec === durationMaxSec);
  const others = rows.filter((row) => row !== old);
  const sunPerBandwidth =
    perUnit === undefined ? (old?.sunPerBandwidth ?? null) : perUnit === 0 ? null : BigInt(perUnit);
  const added =
    sunPerEnergy === undefined ? [] : [{ durationMaxSec, sunPerEnergy: BigInt(sunPerEnergy), sunPerBandwidth }];
  return [...others, ...added].sort((a, b) => a.durationMaxSec - b.durationMaxSec);
}

function bandwidthPriceOf(row: PriceRow | undefined): number | undefined {
  const price = row?.sunPerBandwidth ?? null;
  return price === null ? undefined : toJsonInteger(price);
}

function lineOf(row: PriceRow, fees: Fees): PriceLine {
  const least = leastOf(row, fees);
  const [ofBandwidth] = bandwidthTable([row]).rows;
  return withoutNull<PriceLine>({
    duration_max_sec: row.durationMaxSec,
    sun_per_energy: toJsonInteger(row.sunPerEnergy),
    sun_per_bandwidth: bandwidthPriceOf(row),
    least_energy: least,
    warning: fees.energyFeeSun === undefined ? undefined : warningFor(row, fees.energyFeeSun),
    bandwidth_warning:
      fees.sunPerByte === undefined || ofBandwidth === undefined
        ? undefined
        : warningFor(ofBandwidth, fees.sunPerByte, 'bandwidth'),
  });
}

function leastOf(row: PriceRow | undefined, { energyFeeSun, floorSun }: Fees): number | undefined {
  if (row === undefined || energyFeeSun === undefined) return undefined;
  const least = leastWorthRenting(row, floorSun, energyFeeSun, fewestUsesOf(row, energyFeeSun));
  return least === undefined ? undefined : toJsonInteger(least);
}

/** Compares at every duration that either table names. */
function edgesOf(before: readonly PriceRow[], after: readonly PriceRow[], fees: Fees): PricePreview['edges'] {
  const durations = [...new Set([...before, ...after].map(({ durationMaxSec }) => durationMaxSec))].sort(
    (a, b) => a - b,
  );
  return durations
    .map((duration) => ({
      duration_max_sec: duration,
      least_energy_before: leastOf(rowFor(before, duration), fees),
      least_energy_after: leastOf(rowFor(after, duration), fees),
    }))
    .filter((edge) => edge.least_energy_before !== edge.least_energy_after)
    .map((edge) => withoutNull<PricePreview['edges'][number]>(edge));
}
