/** The home page of a project: balance, problems, running rentals, and savings. Reads only, in bounded time. */
import { Injectable } from '@nestjs/common';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import { invariant } from '../../domain/errors.js';
import { toJsonInteger } from '../../domain/units.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { Database } from '../../platform/database/database.js';
import { ownedBy } from '../../platform/database/owner-order.js';
import { money, timeOf, withoutNull } from './answers.js';
import { END_CLOCK } from './chain-time.js';
import type { MerchantHome } from './integration-shapes.js';
import { newestOrders, orderLine } from './order-list.js';
import { OrderRecordReader } from './order-records.js';
import { SpanFigures, sumOf, total, type DayRow } from './span-figures.js';
import { TopUp } from './top-up.service.js';

const RUNNING_SHOWN = 20;
const ORDERS_SHOWN = 10;
/** Limits the newest delivered orders. Unsettled ones are among them, because they were delivered within a minute. */
const ORDERS_MAX = 2_000;
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
export const RUNNING = {
  name: 'console_running',
  text: `SELECT o.key, o.receive_address, o.energy, o.ends_at,
      greatest(0, extract(epoch FROM o.ends_at - coalesce(${END_CLOCK}, clock_timestamp())))::float8 AS left_sec
    FROM ((SELECT key, receive_address, energy, ends_at, test FROM orders
            WHERE project_id = $1 AND settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
            ORDER BY ends_at LIMIT $3)
          UNION ALL
          SELECT key, receive_address, energy, ends_at, test
            FROM (SELECT key, receive_address, energy, ends_at, test, kind, settled, reclaimed_at FROM orders
                   WHERE project_id = $1 AND status = 'delivered' ORDER BY created_at DESC, id DESC LIMIT $2) newest
           WHERE NOT settled AND kind = 'rental' AND reclaimed_at IS NULL AND ends_at IS NOT NULL) o
    ORDER BY o.ends_at LIMIT $3`,
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

interface SettledMonth {
  readonly rows: readonly DayRow[];
  readonly settledAt: Date;
}

/** Failed attempts in a row, of one delivery or several, from which on an endpoint counts as failing. */
const FAILURES_SHOWN = 3;
/**
 * Limits the newest deliveries of an endpoint whose attempts are counted. While it is slowed down, those may all be
 * untried; its state then has the count.
 */
const DELIVERIES_READ = 100;

const IS_OF_ENDPOINT = ownedBy('endpoint_id', 'w.id');
const IS_OF_PROJECT = ownedBy('project_id', '$1::uuid');

/**
 * Returns one row per problem that needs a person. Attempts since the last success have all failed; of a delivery from
 * before it, at least one has. A change of the endpoint counts like a success: its URL may be another one.
 */
export const NEEDS = {
  name: 'console_needs',
  text: `SELECT 'webhook_failing' AS kind, w.url AS subject, coalesce(s.failing_since, f.since, clock_timestamp()) AS since
      FROM webhook_endpoint w JOIN webhook_state s ON s.endpoint_id = w.id
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(CASE WHEN d.created_at > greatest(s.taken_at, w.changed_at) THEN d.attempts ELSE 1 END), 0) AS attempts,
               min(d.attempted_at) AS since
          FROM (SELECT status, cause, attempts, created_at, attempted_at FROM webhook_delivery
                 WHERE ${IS_OF_ENDPOINT} ORDER BY endpoint_id DESC, id DESC LIMIT ${DELIVERIES_READ.toString()}) d
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
      WHERE ${IS_OF_PROJECT} AND paused_at IS NOT NULL ORDER BY project_id, id DESC LIMIT 20)
    UNION ALL
    (SELECT 'deposit_held', 'dep_' || id, changed_at FROM deposit
      WHERE ${IS_OF_PROJECT} AND status = 'held' ORDER BY project_id DESC, id DESC LIMIT 20)`,
};

interface NeedRow {
  readonly kind: MerchantHome['needs_you'][number]['kind'];
  readonly subject: string;
  readonly since: Date;
}

/**
 * The ledger has no index by kind: the first step is found only among its oldest entries. The orders are read in the
 * order of an index. For EXISTS the planner may read the whole table, if the project has many orders.
 */
export const STEPS = {
  name: 'console_steps',
  text: `SELECT EXISTS (SELECT FROM (SELECT kind FROM credit_entry WHERE ${IS_OF_PROJECT} ORDER BY project_id, id LIMIT 1000) oldest
        WHERE kind = 'topup') AS topped_up,
      EXISTS (SELECT FROM api_key WHERE project_id = $1 AND last_used_at IS NOT NULL)
        OR (SELECT created_at FROM orders WHERE project_id = $1 ORDER BY created_at LIMIT 1) IS NOT NULL AS key_used,
      EXISTS (SELECT FROM webhook_endpoint WHERE project_id = $1 AND deleted_at IS NULL) AS webhook_made,
      (SELECT created_at FROM orders WHERE project_id = $1 AND status = 'delivered'
        ORDER BY created_at LIMIT 1) IS NOT NULL AS order_delivered`,
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
    private readonly figures: SpanFigures,
    private readonly orderRecordReader: OrderRecordReader,
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
    return withoutNull<MerchantHome>({
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
    const fee = await this.orderRecordReader.energyFee();
    const { rows: settled, settledAt } = await this.settled.get(projectId, () => this.readSettled(projectId, fee));
    const rows = [...settled, ...(await this.figures.entries(projectId, settledAt, 'infinity', fee))];
    const { spent, forEnergy, burning } = sumOf(rows);
    const days = [...new Set(rows.map(({ day }) => day))].sort();
    return withoutNull<MerchantHome['last_30_days']>({
      spent: money(spent),
      orders: rows.reduce((sum, { orders }) => sum + orders, 0),
      energy: toJsonInteger(total(rows, ({ energy }) => energy)),
      used_energy: burning === undefined ? undefined : toJsonInteger(total(rows, (row) => row.used_energy)),
      since: timeOf(settled.find(({ since }) => since !== null)?.since ?? null),
      burning: burning === undefined ? undefined : money(burning),
      saved: burning === undefined ? undefined : money(burning - forEnergy),
      days: days.map((day) => {
        const of = sumOf(rows.filter((row) => row.day === day));
        return withoutNull<MerchantHome['last_30_days']['days'][number]>({
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
    const rows = await this.figures.entries(projectId, moments.begins_at, moments.settled_at, fee);
    return { rows, settledAt: moments.settled_at };
  }
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
