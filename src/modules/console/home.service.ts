/** The home page of a project: balance, problems, running rentals, and savings. Reads only, in bounded time. */
import { Injectable } from '@nestjs/common';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import { invariant } from '../../domain/errors.js';
import { creditsOf } from '../../domain/conversion.js';
import { sun, toJsonInteger, type RateE8 } from '../../domain/units.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { Database } from '../../platform/database/database.js';
import { Replica } from '../../platform/database/replica.js';
import { given, money, timeOf } from './answers.js';
import { END_CLOCK } from './chain-time.js';
import type { MerchantHome } from './integration-shapes.js';
import { newestOrders, orderLine } from './order-list.js';
import { OrderRecordReader } from './order-records.js';
import { TopUp } from './top-up.service.js';

const RUNNING_SHOWN = 20;
const ORDERS_SHOWN = 10;
/** Limits the newest delivered orders. Unsettled ones are among them, because they were delivered within a minute. */
const ORDERS_MAX = 2_000;
/** Limits the newest entries of thirty days. Beyond it the figures cover only these, and state since when. */
const ENTRIES_MAX = 50_000;
const DAYS = 30;
/**
 * Entries older than SETTLED_MS are summed per project and cached, because no transaction that writes entries lasts
 * longer.
 */
const MONTH_KEPT = { freshMs: 60_000, staleMsMax: 600_000, keysMax: 1000 };
const SETTLED_MS = 60_000;

/**
 * Running rentals. Settled ones come from an index of running rentals, whose size the pool bounds; the others were
 * delivered a moment ago.
 */
const RUNNING = {
  name: 'console_running',
  text: `SELECT o.key, o.receive_address, o.energy, o.ends_at,
      greatest(0, extract(epoch FROM o.ends_at - coalesce(${END_CLOCK}, clock_timestamp())))::float8 AS left_sec
    FROM ((SELECT key, receive_address, energy, ends_at, test FROM orders
            WHERE project_id = $1 AND settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
            ORDER BY ends_at LIMIT $3)
          UNION ALL
          SELECT key, receive_address, energy, ends_at, test
            FROM (SELECT key, receive_address, energy, ends_at, test, kind, settled, reclaimed_at FROM orders
                   WHERE project_id = $1 AND status = 'delivered' ORDER BY id DESC LIMIT $2) newest
           WHERE NOT settled AND kind = 'rental' AND reclaimed_at IS NULL AND ends_at IS NOT NULL) o
    ORDER BY o.ends_at LIMIT $3`,
};

/**
 * Sums ledger entries from `$3` to `$4` by UTC day: charges minus refunds and compensations. The energy that the
 * receiver of a rental used is compared with burning it, at the energy fee (`$5` if it was not kept) and the rate of the
 * sale, on the day of the charge. Activations count as spent but burn no energy.
 */
const MONTH = {
  name: 'console_month',
  text: `SELECT to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, coalesce(-sum(e.credits), 0)::bigint AS credits,
      coalesce(-sum(e.credits) FILTER (WHERE o.kind = 'rental'), 0)::bigint AS energy_credits,
      coalesce(sum(e.sales) FILTER (WHERE o.kind = 'rental' AND x.number IS NULL), 0)::int AS orders,
      coalesce(sum(e.sales * o.energy) FILTER (WHERE x.number IS NULL), 0)::bigint AS energy,
      coalesce(sum(u.energy * coalesce(o.energy_fee_sun, $5)::numeric * o.trx_usd_e8)
        FILTER (WHERE e.kind = 'charge' AND x.number IS NULL), 0)::text AS burning_rate,
      coalesce(sum(u.energy) FILTER (WHERE e.kind = 'charge' AND x.number IS NULL), 0)::bigint AS used_energy,
      coalesce(bool_or(o.test OR u.order_id IS NOT NULL AND coalesce(o.energy_fee_sun, $5) IS NULL), false) AS is_unmeasured,
      CASE WHEN sum(count(*)) OVER () >= $2 THEN min(min(e.created_at)) OVER () END AS since
    FROM (SELECT credits, order_id, kind, entry_key, created_at,
                 CASE kind WHEN 'charge' THEN 1 WHEN 'refund' THEN -1 ELSE 0 END AS sales
            FROM credit_entry
           WHERE project_id = $1 AND created_at > $3 AND created_at <= $4
             AND kind IN ('charge', 'refund', 'compensation')
           ORDER BY created_at DESC, id DESC LIMIT $2) e
    LEFT JOIN orders o ON o.id = e.order_id
    LEFT JOIN order_extension x ON x.order_id = e.order_id AND x.number = CASE WHEN e.kind = 'charge'
      AND e.entry_key LIKE 'charge:%:ext:%' THEN split_part(e.entry_key, ':', 4)::smallint END
    LEFT JOIN rental_use u ON u.order_id = e.order_id
    GROUP BY 1`,
};

const MOMENTS = {
  name: 'console_month_moments',
  text: `SELECT now - $1 * interval '1 day' AS begins_at, now - $2 * interval '1 millisecond' AS settled_at
    FROM (SELECT clock_timestamp() AS now) c`,
};

interface Moments {
  readonly begins_at: Date;
  readonly settled_at: Date;
}

interface MonthRow {
  readonly day: string;
  readonly credits: bigint;
  readonly energy_credits: bigint;
  readonly orders: number;
  readonly energy: bigint;
  /** Sun times rate. */
  readonly burning_rate: string;
  readonly used_energy: bigint;
  readonly is_unmeasured: boolean;
  readonly since: Date | null;
}

interface SettledMonth {
  readonly rows: readonly MonthRow[];
  readonly settledAt: Date;
}

/** Failed attempts in a row, of one delivery or several, from which on an endpoint counts as failing. */
const FAILURES_SHOWN = 3;
/**
 * Limits the newest deliveries of an endpoint whose attempts are counted. While it is slowed down, those may all be
 * untried; its state then has the count.
 */
const DELIVERIES_READ = 100;

/**
 * Returns one row per problem that needs a person. Attempts since the last success have all failed; of a delivery from
 * before it, at least one has. A change of the endpoint counts like a success: its URL may be another one.
 */
const NEEDS = {
  name: 'console_needs',
  text: `SELECT 'webhook_failing' AS kind, w.url AS subject, coalesce(s.failing_since, f.since, clock_timestamp()) AS since
      FROM webhook_endpoint w JOIN webhook_state s ON s.endpoint_id = w.id
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(CASE WHEN d.created_at > greatest(s.taken_at, w.changed_at) THEN d.attempts ELSE 1 END), 0) AS attempts,
               min(d.attempted_at) AS since
          FROM (SELECT status, cause, attempts, created_at, attempted_at FROM webhook_delivery
                 WHERE endpoint_id = w.id ORDER BY id DESC LIMIT ${DELIVERIES_READ.toString()}) d
         WHERE d.status IN ('pending', 'failed') AND d.cause <> 'test' AND d.attempts > 0
           AND d.attempted_at > greatest(s.taken_at, w.changed_at)) f
     WHERE w.project_id = $1 AND w.deleted_at IS NULL AND w.disabled_at IS NULL
       AND (s.failures >= ${FAILURES_SHOWN.toString()} OR f.attempts >= ${FAILURES_SHOWN.toString()}
         OR s.failing_since < clock_timestamp() - interval '1 hour')
    UNION ALL
    SELECT 'webhook_disabled', url, disabled_at FROM webhook_endpoint
     WHERE project_id = $1 AND deleted_at IS NULL AND disabled_reason IN ('gone', 'failing')
    UNION ALL
    (SELECT 'auto_delegation_paused', address, paused_at FROM auto_delegation
      WHERE project_id = $1 AND paused_at IS NOT NULL ORDER BY id DESC LIMIT 20)
    UNION ALL
    (SELECT 'deposit_held', 'dep_' || id, changed_at FROM deposit WHERE project_id = $1 AND status = 'held' ORDER BY id DESC LIMIT 20)`,
};

interface NeedRow {
  readonly kind: MerchantHome['needs_you'][number]['kind'];
  readonly subject: string;
  readonly since: Date;
}

/** The ledger has no index by kind: the first step is found only among its oldest entries. */
const STEPS = {
  name: 'console_steps',
  text: `SELECT EXISTS (SELECT FROM (SELECT kind FROM credit_entry WHERE project_id = $1 ORDER BY id LIMIT 1000) oldest
        WHERE kind = 'topup') AS topped_up,
      EXISTS (SELECT FROM api_key WHERE project_id = $1 AND last_used_at IS NOT NULL)
        OR EXISTS (SELECT FROM orders WHERE project_id = $1) AS key_used,
      EXISTS (SELECT FROM webhook_endpoint WHERE project_id = $1 AND deleted_at IS NULL) AS webhook_made,
      EXISTS (SELECT FROM orders WHERE project_id = $1 AND status = 'delivered') AS order_delivered`,
};

const SAYS = {
  webhook_failing: 'failed at its last three attempts or more',
  webhook_disabled: 'is disabled: enable it when its server works again',
  auto_delegation_paused: 'is not supplied with energy at present',
  deposit_held: 'is held until your operator has checked it',
} as const;

@Injectable()
export class MerchantHomes {
  /** By project. */
  private readonly settled = new TtlCache<SettledMonth>(MONTH_KEPT);

  constructor(
    private readonly database: Database,
    private readonly topUp: TopUp,
    private readonly replica: Replica,
    private readonly records: OrderRecordReader,
  ) {}

  async home(projectId: string): Promise<MerchantHome> {
    const balance = await this.topUp.balance(projectId);
    const running = await this.database.query<{
      key: string;
      receive_address: string;
      energy: bigint;
      ends_at: Date;
      left_sec: number;
    }>(RUNNING, [projectId, ORDERS_MAX, RUNNING_SHOWN + 1]);
    const [steps] = await this.database.query<MerchantHome['first_steps']>(STEPS, [projectId]);
    const [clock] = await this.database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const newest = await newestOrders(this.database, projectId, ORDERS_SHOWN);
    return given<MerchantHome>({
      checked_at: (clock?.now ?? new Date(0)).toISOString(),
      balance: balance.balance,
      days_left: balance.days_left,
      needs_you: [...ofBalance(balance), ...(await this.needs(projectId))],
      running: running.slice(0, RUNNING_SHOWN).map((row) => ({
        order_key: row.key,
        receive_address: row.receive_address,
        energy: toJsonInteger(row.energy),
        ends_at: row.ends_at.toISOString(),
        left_sec: Math.round(row.left_sec),
      })),
      running_more: running.length > RUNNING_SHOWN,
      last_30_days: await this.month(projectId),
      last_orders: newest.map(orderLine),
      first_steps: steps ?? { topped_up: false, key_used: false, webhook_made: false, order_delivered: false },
    });
  }

  private async needs(projectId: string): Promise<MerchantHome['needs_you'][number][]> {
    const rows = await this.database.query<NeedRow>(NEEDS, [projectId]);
    return rows.map(({ kind, subject: named, since }) => {
      const subject = kind.startsWith('webhook_') ? maskedUrl(named) : named;
      return {
        kind,
        says: `${subject} ${SAYS[kind as keyof typeof SAYS]}.`,
        subject,
        since: since.toISOString(),
      };
    });
  }

  /** Returns the month's figures, which are the sums of its days. */
  private async month(projectId: string): Promise<MerchantHome['last_30_days']> {
    const fee = await this.records.energyFee();
    const { rows: settled, settledAt } = await this.settled.get(projectId, () => this.readSettled(projectId, fee));
    const rows = [...settled, ...(await this.entries(projectId, settledAt, 'infinity', fee))];
    const { spent, forEnergy, burning } = sumOf(rows);
    const days = [...new Set(rows.map(({ day }) => day))].sort();
    return given<MerchantHome['last_30_days']>({
      spent: money(spent),
      orders: rows.reduce((sum, { orders }) => sum + orders, 0),
      energy: toJsonInteger(total(rows, ({ energy }) => energy)),
      used_energy: burning === undefined ? undefined : toJsonInteger(total(rows, (row) => row.used_energy)),
      since: timeOf(settled.find(({ since }) => since !== null)?.since ?? null),
      burning: burning === undefined ? undefined : money(burning),
      saved: burning === undefined ? undefined : money(burning - forEnergy),
      days: days.map((day) => {
        const of = sumOf(rows.filter((row) => row.day === day));
        return given<MerchantHome['last_30_days']['days'][number]>({
          day,
          spent: money(of.spent),
          saved: of.burning === undefined ? undefined : money(of.burning - of.forEnergy),
        });
      }),
    });
  }

  private async readSettled(projectId: string, fee: bigint | undefined): Promise<SettledMonth> {
    const [moments] = await this.database.query<Moments>(MOMENTS, [DAYS, SETTLED_MS]);
    invariant(moments !== undefined, 'a statement without a table has one row');
    const rows = await this.entries(projectId, moments.begins_at, moments.settled_at, fee);
    return { rows, settledAt: moments.settled_at };
  }

  /** Reads entries later than `from`, up to `to`. */
  private async entries(
    projectId: string,
    from: Date,
    to: Date | 'infinity',
    fee: bigint | undefined,
  ): Promise<MonthRow[]> {
    const params = [projectId, ENTRIES_MAX, from, to, fee];
    return this.replica.readNow((on) => on.query<MonthRow>(MONTH, params));
  }
}

interface DaySums {
  readonly spent: bigint;
  readonly forEnergy: bigint;
  readonly burning: bigint | undefined;
}

function total<T>(of: readonly T[], valueOf: (one: T) => bigint): bigint {
  return of.reduce((sum, one) => sum + valueOf(one), 0n);
}

/** `burning` is undefined where savings are not measured. */
function sumOf(of: readonly MonthRow[]): DaySums {
  return {
    spent: total(of, ({ credits }) => credits),
    forEnergy: total(of, ({ energy_credits: credits }) => credits),
    burning: of.some((row) => row.is_unmeasured)
      ? undefined
      : total(of, (row) => creditsOf(sun(BigInt(row.burning_rate)), 1n as RateE8)),
  };
}

function ofBalance(balance: Awaited<ReturnType<TopUp['balance']>>): MerchantHome['needs_you'][number][] {
  const { balance: has, available, low_balance: low, frozen } = balance;
  return [
    ...(frozen
      ? [{ kind: 'frozen' as const, says: 'The project is frozen: every request is refused. Contact the operator.' }]
      : []),
    ...(available?.credits === 0
      ? [{ kind: 'balance_out' as const, says: 'Your balance is used up: orders are refused until you top up.' }]
      : low !== undefined && has.credits < low.credits
        ? [{ kind: 'balance_low' as const, says: `The balance of $${has.usd} is below your threshold of $${low.usd}.` }]
        : []),
  ];
}
