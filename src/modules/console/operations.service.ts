/** The operators' inbox, each problem with its remedy, and the state of the service today. Reads only. */
import { Injectable } from '@nestjs/common';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { decimal } from '../../domain/conversion.js';
import { toJsonInteger } from '../../domain/units.js';
import { marginUsdE14, Reports, type Figures, type ReportBy } from '../reports/report-service.js';
import { forecast, poolStanding, poolSums, soldInDay, soldOutAt } from '../pool/forecast.js';
import { IS_RETIRED, listWallets, type WalletView } from '../pool/pool-wallets.js';
import { Database } from '../../platform/database/database.js';
import { money, timeOf, withoutNull } from './answers.js';
import { CHAIN_NOW } from './chain-time.js';
import { readOutages, UNSOLD } from './outages.js';
import { readServiceFigures } from './service-figures.js';
import type {
  DayFigures,
  InboxItem,
  OperatorDays,
  OperatorHome,
  PoolShape,
  ReportFigures,
  ReportShape,
} from './operator-shapes.js';

const DAY_MS = 86_400_000;
/** Lines per kind. */
const SHOWN = 20;
/** Cached by the newest day. */
const DAYS_KEPT = { freshMs: 60_000, staleMsMax: 600_000, keysMax: 1 };
/** Cached, because it reads all running rentals. */
const SOLD_OUT_KEPT = { freshMs: 60_000, staleMsMax: 60_000, keysMax: 1 };
const RANK = { fault: 0, warning: 1, notice: 2 } as const;

/** Faults that pause a wallet automatically (trigger pool_wallet_status). outages.ts reads those of the whole service. */
const WALLET_FAULT = 'coalesce(books_fault, wallet_fault, delivery_fault)';
/** `$1`: lines per kind. Columns: severity, text, command, since, and kind and id of the subject. */
const INBOX = {
  name: 'console_inbox',
  text: `(SELECT 'fault' AS severity, 'Wallet ' || address || ' is not selling: ' || ${WALLET_FAULT} AS says, 'npm run -s cli -- doctor' AS command, read_at AS since, 'wallet' AS kind, address AS id
       FROM pool_wallet w WHERE ${WALLET_FAULT} IS NOT NULL AND NOT ${IS_RETIRED} ORDER BY id LIMIT $1)
    UNION ALL
    (SELECT 'warning', 'Wallet ' || address || ' is paused' || coalesce(': ' || pause_reason, ''), 'npm run -s cli -- pool list', read_at, 'wallet', address
       FROM pool_wallet w WHERE status = 'paused' AND ${WALLET_FAULT} IS NULL AND NOT ${IS_RETIRED} ORDER BY id LIMIT $1)
    UNION ALL
    (SELECT CASE status WHEN 'unresolved' THEN 'fault' ELSE 'warning' END, 'Order ' || id || ' needs attention: it is ' || status || coalesce(', ' || error, ''),
            'npm run -s cli -- orders explain ' || id, created_at, 'order', id::text FROM orders
      WHERE needs_attention AND NOT test ORDER BY (status = 'unresolved') DESC, id DESC LIMIT $1)
    UNION ALL
    (SELECT 'warning', 'Deposit dep_' || id || ' is held: ' || coalesce(reason, 'no reason') || '. Credit or refuse it', NULL, changed_at, 'deposit', id::text
       FROM deposit WHERE status = 'held' ORDER BY id DESC LIMIT $1)
    UNION ALL
    (SELECT CASE WHEN s.contract IS NULL THEN 'notice' ELSE 'fault' END,
            sum(i.transfers) || CASE WHEN s.contract IS NULL THEN ' transfers of another token (' || i.contract || ') to deposit addresses were ignored this week'
              ELSE ' transfers of ' || i.contract || ', the successor of the deprecated token, were ignored. Accept it with deposits accept-successor' END,
            'npm run -s cli -- deposits ignored', max(i.day)::timestamptz, 'finding', ''
       FROM ignored_transfer i LEFT JOIN token_state s ON s.successor = i.contract
      WHERE i.day >= current_date - 7 AND i.contract NOT IN (SELECT contract FROM deposit_token)
      GROUP BY i.contract, s.contract ORDER BY (s.contract IS NULL), sum(i.transfers) DESC LIMIT $1)
    UNION ALL
    (SELECT 'warning', 'Address ' || address || ' (' || use || ') is blacklisted by the token and cannot send', 'npm run -s cli -- doctor', since, 'finding', ''
       FROM blacklisted_address ORDER BY since DESC LIMIT $1)
    UNION ALL
    SELECT 'warning', 'The rules have not been checked for ' || round(extract(epoch FROM clock_timestamp() - passed_at) / 60) || ' min', 'npm run -s cli -- doctor', passed_at, 'finding', ''
      FROM reconcile_state WHERE passed_at < clock_timestamp() - interval '10 minutes'
    UNION ALL
    SELECT 'fault', 'A rate of ' || (value ->> 'rate') || ' USD per TRX is held. Charges continue at the last rate', 'npm run -s cli -- price rate', measured_at, 'finding', ''
      FROM market_state WHERE name = 'trx-usd-held'
    UNION ALL
    SELECT 'fault', 'Events have had no position for ' || round(extract(epoch FROM clock_timestamp() - at)) || ' s: merchants receive nothing', 'npm run -s cli -- doctor', at, 'finding', ''
      FROM (SELECT at FROM event WHERE position IS NULL AND type IS NOT NULL ORDER BY id LIMIT 1) e WHERE at < clock_timestamp() - interval '1 minute'
    UNION ALL
    SELECT 'warning', count(*) || ' blocks could not be searched: no node has them', 'npm run -s cli -- doctor', NULL::timestamptz, 'finding', ''
      FROM (SELECT FROM unsearched_block LIMIT 1000) u HAVING count(*) > 0
    UNION ALL
    (SELECT 'notice', 'Project ' || p.name || ' is frozen: its requests are refused', 'npm run -s cli -- project show ' || p.id, NULL::timestamptz, 'project', p.id::text
       FROM credit_account a JOIN project p ON p.id = a.project_id WHERE a.frozen ORDER BY p.id LIMIT $1)
    UNION ALL
    (SELECT 'warning', CASE r.kind WHEN 'topup' THEN 'Top-up of ' WHEN 'deposit' THEN 'Credit of a held deposit of '
              WHEN 'refusal' THEN 'Refusal of a held deposit of ' ELSE 'Adjustment by ' END || round(r.credits / 10000000.0, 2) || ' USD for ' || p.name || ', requested by ' || r.asked_by_email || ', needs the approval of another admin',
            NULL, r.asked_at, 'approval', r.id::text FROM credit_request r JOIN project p ON p.id = r.project_id
      WHERE r.status = 'pending' ORDER BY r.asked_at LIMIT $1)`,
};

interface InboxRow {
  readonly severity: InboxItem['severity'];
  readonly says: string;
  readonly command: string | null;
  readonly since: Date | null;
  readonly kind: NonNullable<InboxItem['subject']>['kind'];
  readonly id: string;
}

/** Index conditions read `(SELECT clock_timestamp())`, because Postgres can use only a value that it computes once. */
const STATE = {
  name: 'console_state',
  text: `SELECT clock_timestamp() AS now,
      (SELECT coalesce(sum(a.balance_credits), 0)::bigint FROM credit_account a WHERE a.balance_credits > 0
          AND NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test)) AS owed,
      (SELECT coalesce(sum(delegated_sun), 0)::bigint FROM pool_wallet WHERE role = 'pool') AS sold,
      (SELECT value FROM market_state WHERE name = 'chain') AS chain,
      (SELECT passed_at FROM reconcile_state) AS passed_at,
      (SELECT reason FROM sales_stop) AS stopped,
      (SELECT count(*)::int FROM (SELECT FROM orders WHERE next_run_at IS NOT NULL AND lease_until > clock_timestamp() LIMIT 1000) c) AS claimed,
      (SELECT count(*)::int FROM (SELECT FROM orders WHERE next_run_at <= (SELECT clock_timestamp()) AND (lease_until IS NULL OR lease_until < (SELECT clock_timestamp())) LIMIT 1000) d) AS due,
      (SELECT extract(epoch FROM clock_timestamp() - min(next_run_at))::float8 FROM orders WHERE next_run_at <= (SELECT clock_timestamp())
        AND (lease_until IS NULL OR lease_until < (SELECT clock_timestamp()))) AS oldest_due_sec,
      (SELECT json_build_object('block', block_number, 'age', extract(epoch FROM clock_timestamp() - read_at)) FROM deposit_cursor) AS head`,
};

interface StateRow {
  readonly now: Date;
  readonly owed: bigint;
  readonly sold: bigint;
  readonly chain: Readonly<Record<string, unknown>> | null;
  readonly passed_at: Date | null;
  readonly stopped: string | null;
  readonly claimed: number;
  readonly due: number;
  readonly oldest_due_sec: number | null;
  readonly head: { readonly block: number; readonly age: number | null } | null;
}

@Injectable()
export class Operations {
  private readonly keptDays = new TtlCache<DayFigures[]>(DAYS_KEPT);
  private readonly keptSoldOut = new TtlCache<number | undefined>(SOLD_OUT_KEPT);

  constructor(
    private readonly database: Database,
    private readonly reports: Reports,
    private readonly config: ConsoleConfig,
  ) {}

  /** `most`: lines per kind. */
  async inbox(most = SHOWN): Promise<InboxItem[]> {
    const outages = await readOutages(this.database, this.config);
    const rows = await this.database.query<InboxRow>(INBOX, [most]);
    const others = rows.map(({ severity, says, command, since, kind, id }) =>
      withoutNull<InboxItem>({
        severity,
        says,
        command,
        since: timeOf(since),
        subject: id === '' ? undefined : { kind, id },
      }),
    );
    return [...outages, ...others].sort((a, b) => RANK[a.severity] - RANK[b.severity]);
  }

  async home(): Promise<OperatorHome> {
    const [state] = await this.database.query<StateRow>(STATE);
    if (state === undefined) throw new Error('a statement without a table has one row');
    const pool = await poolSums(this.database);
    const perSun = energyPerSun(state.chain);
    const energyOf = (amount: bigint): number | undefined =>
      perSun === undefined ? undefined : toJsonInteger((amount * perSun.limit) / perSun.weightSun);
    const fee = state.chain?.['energyFeeSun'];
    const inbox = await this.inbox();
    // A pool that sells nothing does not sell out.
    const isSelling = !inbox.some(({ outage, says }) => outage === true && says.startsWith(UNSOLD));
    return withoutNull<OperatorHome>({
      checked_at: state.now.toISOString(),
      inbox,
      last_day: await readServiceFigures(this.database),
      capacity: withoutNull<OperatorHome['capacity']>({
        sold_sun: toJsonInteger(state.sold),
        free_sun: toJsonInteger(pool.freeSun),
        recovering_sun: toJsonInteger(pool.recoveringSun),
        sold_energy: energyOf(state.sold),
        free_energy: energyOf(pool.freeSun),
        recovering_energy: energyOf(pool.recoveringSun),
        sold_out_in_hours: isSelling ? await this.keptSoldOut.get('', () => this.readSoldOut()) : undefined,
        is_selling: isSelling,
      }),
      heads:
        state.head === null
          ? []
          : [
              withoutNull({
                node: 'blocks read for deposits',
                block_number: state.head.block,
                age_sec: state.head.age,
              }),
            ],
      energy_fee_sun: typeof fee === 'string' ? Number(fee) : undefined,
      workers: withoutNull<OperatorHome['workers']>({
        claimed: state.claimed,
        due: state.due,
        oldest_due_sec: state.oldest_due_sec === null ? undefined : Math.round(state.oldest_due_sec),
      }),
      verify: withoutNull<OperatorHome['verify']>({
        passed_at: timeOf(state.passed_at),
        stopped: state.stopped !== null,
        reason: state.stopped,
      }),
      owed: money(state.owed),
    });
  }

  /** Answers from a cache of at most ten minutes. */
  async days(): Promise<OperatorDays> {
    const [clock] = await this.database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const [today, ...before] = await this.daysUpTo(clock?.now ?? new Date(0));
    return { today: today ?? dayOf('', undefined), median: medianOf(before) };
  }

  async pool(): Promise<PoolShape> {
    const wallets = await listWallets(this.database);
    const hours = forecast(await poolStanding(this.database, await this.chainNow()));
    return {
      wallets: wallets.map((wallet) =>
        withoutNull<PoolShape['wallets'][number]>({
          address: wallet.address,
          role: wallet.role,
          status: wallet.status,
          pause_reason: wallet.pause_reason,
          staked_sun: toJsonInteger(wallet.staked_sun),
          delegated_sun: toJsonInteger(wallet.delegated_sun),
          reserved_sun: toJsonInteger(wallet.reserved_sun),
          recovering_sun: toJsonInteger(wallet.recovering_sun),
          free_sun: toJsonInteger(wallet.free_sun),
          free_transactions: toJsonInteger(wallet.free_transactions),
          balance_sun: toJsonInteger(wallet.balance_sun),
          bandwidth: bandwidthOf(wallet),
          read_at: timeOf(wallet.read_at),
        }),
      ),
      forecast: hours.map(({ hour, atLeastSun, atMostSun, transactions }) => ({
        hour,
        at_least_sun: toJsonInteger(atLeastSun),
        at_most_sun: toJsonInteger(atMostSun),
        transactions: toJsonInteger(transactions),
      })),
    };
  }

  async report(from: Date, before: Date, by: ReportBy): Promise<ReportShape> {
    const { rows, total, standing } = await this.reports.make({ from, before, by });
    return {
      by,
      rows: rows.map(({ key, name, figures }) => ({
        ...withoutNull<{ key?: string; name?: string }>({ key, name }),
        ...figuresOf(figures),
      })),
      total: figuresOf(total),
      owed: money(standing.owedCredits),
      debts: money(standing.debtsCredits),
      held: standing.held.map(({ asset, amount, rateE8 }) =>
        withoutNull<ReportShape['held'][number]>({
          asset,
          amount: decimal(amount, 6),
          usd: rateE8 === undefined ? undefined : decimal((amount * rateE8) / 1_000_000_000_000n, 2),
        }),
      ),
    };
  }

  private async chainNow(): Promise<Date> {
    const [clock] = await this.database.query<{ chain_now: Date }>(`SELECT ${CHAIN_NOW} AS chain_now`);
    return clock?.chain_now ?? new Date(0);
  }

  /**
   * Returns the hours until the pool is sold out at the last day's rate, given returning stake; undefined if not within
   * a day.
   */
  private async readSoldOut(): Promise<number | undefined> {
    const now = await this.chainNow();
    const [standing, sold] = [await poolStanding(this.database, now), await soldInDay(this.database, now)];
    return soldOutAt(forecast(standing), sold);
  }

  /** Returns today and the seven days before it, newest first. */
  private daysUpTo(now: Date): Promise<DayFigures[]> {
    return this.keptDays.get(now.toISOString().slice(0, 10), () => this.readDays(now));
  }

  private async readDays(now: Date): Promise<DayFigures[]> {
    const today = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
    const { rows } = await this.reports.make({
      from: new Date(today.getTime() - 7 * DAY_MS),
      before: new Date(today.getTime() + DAY_MS),
      by: 'day',
    });
    const byDay = new Map(rows.map(({ key, figures }) => [key, figures]));
    return Array.from({ length: 8 }, (_, ago) => {
      const day = new Date(today.getTime() - ago * DAY_MS).toISOString().slice(0, 10);
      return dayOf(day, byDay.get(day));
    });
  }
}

/** Returns energy per stake: the network's energy limit over its total stake, which TRON counts in TRX. */
function energyPerSun(chain: StateRow['chain']): { readonly limit: bigint; readonly weightSun: bigint } | undefined {
  const [limit, weight] = [chain?.['totalEnergyLimit'], chain?.['totalEnergyWeight']];
  if (typeof limit !== 'string' || typeof weight !== 'string') return undefined;
  const weightSun = BigInt(weight) * 1_000_000n;
  return weightSun > 0n ? { limit: BigInt(limit), weightSun } : undefined;
}

function dayOf(day: string, figures: Figures | undefined): DayFigures {
  return {
    day,
    revenue: money(figures?.revenueCredits ?? 0n),
    refunds: money(figures?.refundsCredits ?? 0n),
    chain_cost: {
      sun: toJsonInteger(figures?.chainCostSun ?? 0n),
      usd: decimal((figures?.chainCostUsdE14 ?? 0n) / 100_000_000n, 6),
    },
    margin_usd: figures === undefined ? '0.000000' : decimal(marginUsdE14(figures) / 100_000_000n, 6),
  };
}

/** Returns the median of each figure separately, for an odd number of days. */
function medianOf(days: readonly DayFigures[]): OperatorDays['median'] {
  const middle = <T>(values: readonly T[], sizeOf: (value: T) => number, none: T): T =>
    [...values].sort((a, b) => sizeOf(a) - sizeOf(b))[Math.floor(values.length / 2)] ?? none;
  const none = dayOf('', undefined);
  return {
    revenue: middle(
      days.map(({ revenue }) => revenue),
      ({ credits }) => credits,
      none.revenue,
    ),
    refunds: middle(
      days.map(({ refunds }) => refunds),
      ({ credits }) => credits,
      none.refunds,
    ),
    chain_cost: middle(
      days.map(({ chain_cost: cost }) => cost),
      ({ sun }) => sun,
      none.chain_cost,
    ),
    margin_usd: middle(
      days.map(({ margin_usd: margin }) => margin),
      Number,
      none.margin_usd,
    ),
  };
}

const hoursOf = (energyTime: bigint, hour: bigint): string => (energyTime / hour).toString();

/** Undefined for a wallet without stake for bandwidth. */
function bandwidthOf(wallet: Omit<WalletView, 'key_held_by'>): PoolShape['wallets'][number]['bandwidth'] {
  const { staked_bandwidth_sun: staked, delegated_bandwidth_sun: delegated } = wallet;
  const { reserved_bandwidth_sun: reserved, free_bandwidth_sun: free } = wallet;
  if ([staked, delegated, reserved, free].every((each) => each === 0n)) return undefined;
  return {
    staked_sun: toJsonInteger(staked),
    delegated_sun: toJsonInteger(delegated),
    reserved_sun: toJsonInteger(reserved),
    free_sun: toJsonInteger(free),
  };
}

function figuresOf(figures: Figures): ReportFigures {
  return {
    revenue: money(figures.revenueCredits),
    refunds: money(figures.refundsCredits),
    compensations: money(figures.compensationsCredits),
    topups: money(figures.topupsCredits),
    adjustments: money(figures.adjustmentsCredits),
    chain_cost_trx: decimal(figures.chainCostSun, 6),
    chain_cost_usd: decimal(figures.chainCostUsdE14 / 100_000_000n, 6),
    margin_usd: decimal(marginUsdE14(figures) / 100_000_000n, 6),
    transactions: toJsonInteger(figures.transactions),
    energy_hours: hoursOf(figures.energySec, 3600n),
    bandwidth_hours: hoursOf(figures.bandwidthSec, 3600n),
    free_top_up_energy: figures.freeTopUpEnergy.toString(),
    free_top_up_bandwidth: figures.freeTopUpBandwidth.toString(),
    free_top_up_cost_trx: decimal(figures.freeTopUpCostSun, 6),
    idle_energy_hours: hoursOf(figures.idleEnergyMs, 3_600_000n),
    recovering_energy_hours: hoursOf(figures.recoveringEnergyMs, 3_600_000n),
  };
}
