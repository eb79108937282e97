/**
 * Reports of revenue and costs over UTC days: by day, project or wallet. Ledger entries count by their entry time,
 * costs and stake by chain time or reading time. Reads one snapshot, and Postgres does the sums, so a year needs no
 * more memory than a day.
 */
import { Injectable } from '@nestjs/common';
import { projectNames } from '../../platform/database/project-names.js';
import { Replica } from '../../platform/database/replica.js';
import * as sql from './report-sql.js';

export type { ReportBy } from './report-sql.js';

/** Exact figures: credits, sun, units times seconds or milliseconds, and dollars with fourteen digits. */
export interface Figures {
  readonly revenueCredits: bigint;
  readonly refundsCredits: bigint;
  readonly compensationsCredits: bigint;
  readonly topupsCredits: bigint;
  readonly adjustmentsCredits: bigint;
  /** Revenue without refunds and compensations, in sun by the price and rate of each order. */
  readonly netSun: bigint;
  readonly chainCostSun: bigint;
  /** Part of the chain cost without a rate: reclaims of orphans were never sold. */
  readonly unratedCostSun: bigint;
  readonly chainCostUsdE14: bigint;
  readonly transactions: bigint;
  /** Final transactions whose cost is not recorded yet. */
  readonly transactionsWithoutCost: bigint;
  readonly energySec: bigint;
  readonly bandwidthSec: bigint;
  /** Energy and bandwidth of legs that topped up running rentals at our cost. */
  readonly freeTopUpEnergy: bigint;
  readonly freeTopUpBandwidth: bigint;
  /** The part of the chain cost that these legs burnt. */
  readonly freeTopUpCostSun: bigint;
  readonly idleEnergyMs: bigint;
  readonly recoveringEnergyMs: bigint;
  /** Measured time, summed over all wallets. */
  readonly measuredMs: bigint;
}

export interface ReportRow {
  /** A day, a project's id or a wallet's address; null for figures that belong to none. */
  readonly key: string | null;
  /** Name of a project. */
  readonly name: string | undefined;
  readonly figures: Figures;
}

/** State at the end of the last day, or now if that is in the future. */
export interface Standing {
  readonly owedCredits: bigint;
  /** Debts of postpaid projects. */
  readonly debtsCredits: bigint;
  /** Holdings of deposit addresses by the records, at the newest rate known then. */
  readonly held: readonly {
    readonly asset: 'TRX' | 'USDT';
    readonly amount: bigint;
    readonly rateE8: bigint | undefined;
  }[];
}

export interface Report {
  readonly by: sql.ReportBy;
  readonly rows: readonly ReportRow[];
  readonly total: Figures;
  readonly standing: Standing;
}

export interface ReportTerms {
  /** Start of the first UTC day. */
  readonly from: Date;
  /** Start of the UTC day after the last one. */
  readonly before: Date;
  readonly by: sql.ReportBy;
}

type Mutable = { -readonly [K in keyof Figures]: bigint };

/** A year of millions of orders takes seconds to minutes; the connection's usual limit is for requests. */
const LIMIT_MS = 300_000;
const SNAPSHOT = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  `SET LOCAL statement_timeout = ${LIMIT_MS.toString()}`,
  `SET LOCAL jit = off`,
];

@Injectable()
export class Reports {
  constructor(private readonly replica: Replica) {}

  async make({ from, before, by }: ReportTerms): Promise<Report> {
    return this.replica.transaction(async (tx) => {
      for (const statement of SNAPSHOT) await tx.query(statement);
      const read = async <Row extends object>(text: string, params: readonly unknown[] = [from, before]) =>
        tx.query<Row>({ text, query_timeout: LIMIT_MS }, params);
      const figures = new Map<string | null, Mutable>();
      const figuresOf = (key: string | null): Mutable => {
        const known = figures.get(key) ?? noFigures();
        figures.set(key, known);
        return known;
      };
      for (const row of await read<sql.EntriesRow>(sql.ENTRIES_BY[by])) addEntries(figuresOf(row.key), row);
      for (const row of await read<sql.CostsRow>(sql.COSTS_BY[by])) addCosts(figuresOf(row.key), row);
      for (const row of await read<sql.FreeTopUpsRow>(sql.FREE_TOP_UPS_BY[by])) addFreeTopUps(figuresOf(row.key), row);
      for (const row of await read<sql.CapacityRow>(sql.CAPACITY_BY[by])) addCapacity(figuresOf(row.key), row);
      const ids = [...figures.keys()].filter((key) => key !== null);
      const names = by === 'project' ? await projectNames(tx, ids) : undefined;
      const rows = [...figures]
        .filter(([, each]) => Object.values(each).some((figure) => figure !== 0n))
        .sort(([a], [b]) => compareKeys(a, b))
        .map(([key, each]) => ({ key, name: key === null ? undefined : names?.get(key), figures: each }));
      const [owed] = await read<sql.StandingRow>(sql.OWED, [before]);
      const held = await read<sql.HeldRow>(sql.HELD, [before]);
      const standing = {
        owedCredits: BigInt(owed?.owed ?? 0),
        debtsCredits: BigInt(owed?.debts ?? 0),
        held: held.map(({ asset, amount, rate_e8: rate }) => {
          return { asset, amount: BigInt(amount), rateE8: rate ?? undefined };
        }),
      };
      return { by, rows, total: totalOf(rows), standing };
    });
  }
}

/** Returns a row of zeros. */
export function noFigures(): Mutable {
  return {
    revenueCredits: 0n,
    refundsCredits: 0n,
    compensationsCredits: 0n,
    topupsCredits: 0n,
    adjustmentsCredits: 0n,
    netSun: 0n,
    chainCostSun: 0n,
    unratedCostSun: 0n,
    chainCostUsdE14: 0n,
    transactions: 0n,
    transactionsWithoutCost: 0n,
    energySec: 0n,
    bandwidthSec: 0n,
    freeTopUpEnergy: 0n,
    freeTopUpBandwidth: 0n,
    freeTopUpCostSun: 0n,
    idleEnergyMs: 0n,
    recoveringEnergyMs: 0n,
    measuredMs: 0n,
  };
}

function addEntries(figures: Mutable, row: sql.EntriesRow): void {
  figures.revenueCredits += BigInt(row.revenue);
  figures.refundsCredits += BigInt(row.refunds);
  figures.compensationsCredits += BigInt(row.compensations);
  figures.topupsCredits += BigInt(row.topups);
  figures.adjustmentsCredits += BigInt(row.adjustments);
  figures.netSun += BigInt(row.net_sun);
  figures.energySec += BigInt(row.energy_sec);
  figures.bandwidthSec += BigInt(row.bandwidth_sec);
}

function addCosts(figures: Mutable, row: sql.CostsRow): void {
  figures.transactions += BigInt(row.transactions);
  figures.transactionsWithoutCost += BigInt(row.missing);
  figures.chainCostSun += BigInt(row.cost_sun);
  figures.unratedCostSun += BigInt(row.unrated_sun);
  figures.chainCostUsdE14 += BigInt(row.cost_usd_e14);
}

function addFreeTopUps(figures: Mutable, row: sql.FreeTopUpsRow): void {
  figures.freeTopUpEnergy += BigInt(row.energy);
  figures.freeTopUpBandwidth += BigInt(row.bandwidth);
  figures.freeTopUpCostSun += BigInt(row.cost_sun);
}

function addCapacity(figures: Mutable, row: sql.CapacityRow): void {
  figures.measuredMs += BigInt(row.measured_ms);
  figures.idleEnergyMs += BigInt(row.idle_energy_ms);
  figures.recoveringEnergyMs += BigInt(row.recovering_energy_ms);
}

function totalOf(rows: readonly ReportRow[]): Figures {
  const total = noFigures();
  for (const { figures } of rows) {
    for (const name of Object.keys(total) as (keyof Figures)[]) total[name] += figures[name];
  }
  return total;
}

/** Sorts by key; null comes last. */
function compareKeys(a: string | null, b: string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return a < b ? -1 : 1;
}

/** Returns the margin in dollars of fourteen digits, without costs that have no rate. */
export function marginUsdE14(figures: Figures): bigint {
  return netCreditsOf(figures) * CREDIT_E14 - figures.chainCostUsdE14;
}

/** A ten-millionth of a dollar. */
const CREDIT_E14 = 10_000_000n;

export function marginSun({ netSun, chainCostSun }: Figures): bigint {
  return netSun - chainCostSun;
}

export function netCreditsOf({ revenueCredits, refundsCredits, compensationsCredits }: Figures): bigint {
  return revenueCredits - refundsCredits - compensationsCredits;
}
