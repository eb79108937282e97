/** State of the service from stored records: nodes by their answers, waiting work, checks. Reads only. */
import { Injectable } from '@nestjs/common';
import { HeldRates } from '../billing/held-rates.js';
import type { DoctorFinding } from '../diagnostics/doctor-finding.js';
import { checkHeldRate, checkSignatures, checkWork } from '../diagnostics/doctor-service.js';
import { toJsonInteger } from '../../domain/units.js';
import { SalesHold } from '../pool/sales-hold.js';
import { Database } from '../../platform/database/database.js';
import { timeOf, withoutNull } from './answers.js';
import type { KeptDisagreement, NodeUse, SystemShape, WorkLine } from './system-shapes.js';

const EXPLAINED_SHOWN = 100;
const SENDS_COUNTED = 20_000;

/** Reads only the newest sends, so that no table is counted. A duplicate answer also counts as taken. */
const NODES = {
  name: 'console_nodes',
  text: `WITH newest AS MATERIALIZED (SELECT node, answer, sent_at, answer IN ('SUCCESS', 'DUP_TRANSACTION_ERROR') AS is_taken
      FROM broadcast ORDER BY id DESC LIMIT $1)
    SELECT node, count(*)::int AS sends, (count(*) FILTER (WHERE is_taken))::int AS taken, max(sent_at) AS last_at,
      (SELECT json_build_object('answer', r.answer, 'at', r.sent_at) FROM newest r
        WHERE r.node = n.node AND NOT r.is_taken ORDER BY r.sent_at DESC LIMIT 1) AS refusal
    FROM newest n GROUP BY node ORDER BY node`,
};

interface NodeRow {
  readonly node: string;
  readonly sends: number;
  readonly taken: number;
  readonly last_at: Date;
  readonly refusal: { readonly answer: string; readonly at: string } | null;
}

/** A claimed order is under way, not waiting. */
const IS_DUE = `next_run_at <= (SELECT clock_timestamp()) AND (lease_until IS NULL OR lease_until < (SELECT clock_timestamp()))`;

/**
 * Counts waiting work to a thousand, and reads the age of the oldest, each by an index. `{moment}` becomes its age in
 * seconds.
 */
const STATE = {
  name: 'console_system',
  text: `SELECT clock_timestamp() AS now,
      (SELECT count(*)::int FROM (SELECT FROM orders WHERE ${IS_DUE} LIMIT 1000) o) AS orders_waiting,
      (SELECT {min(next_run_at)} FROM orders WHERE ${IS_DUE}) AS orders_sec,
      (SELECT count(*)::int FROM (SELECT FROM auto_delegation WHERE due_at <= (SELECT clock_timestamp()) LIMIT 1000) a) AS autos_waiting,
      (SELECT {min(due_at)} FROM auto_delegation WHERE due_at <= (SELECT clock_timestamp())) AS autos_sec,
      (SELECT count(*)::int FROM (SELECT FROM webhook_state WHERE due_at <= (SELECT clock_timestamp()) LIMIT 1000) w) AS webhooks_waiting,
      (SELECT {min(due_at)} FROM webhook_state WHERE due_at <= (SELECT clock_timestamp())) AS webhooks_sec,
      (SELECT count(*)::int FROM (SELECT FROM event WHERE position IS NULL AND type IS NOT NULL LIMIT 1000) e) AS events_waiting,
      (SELECT {e.at} FROM (SELECT at FROM event WHERE position IS NULL AND type IS NOT NULL ORDER BY id LIMIT 1) e) AS events_sec,
      (SELECT {min(coalesce(read_at, created_at))} FROM pool_wallet) AS pool_sec,
      (SELECT row_to_json(c) FROM (SELECT block_number, block_at, read_at, {read_at} AS read_sec FROM deposit_cursor) c) AS cursor,
      (SELECT measured_at FROM market_state WHERE name = 'chain') AS figures_at,
      (SELECT measured_at FROM market_state WHERE name = 'trx-usd') AS rate_at,
      (SELECT count(*)::int FROM (SELECT FROM unsearched_block LIMIT 1000) u) AS unsearched,
      r.passed_at, r.searched_at, {r.passed_at} AS passed_sec
    FROM (SELECT true) one LEFT JOIN reconcile_state r ON true`.replaceAll(
    /\{([^}]+)\}/g,
    'extract(epoch FROM clock_timestamp() - $1)::float8',
  ),
};

interface StateRow {
  readonly now: Date;
  readonly orders_waiting: number;
  readonly orders_sec: number | null;
  readonly autos_waiting: number;
  readonly autos_sec: number | null;
  readonly webhooks_waiting: number;
  readonly webhooks_sec: number | null;
  readonly events_waiting: number;
  readonly events_sec: number | null;
  readonly pool_sec: number | null;
  readonly cursor: {
    readonly block_number: number;
    readonly block_at: string;
    readonly read_at: string | null;
    readonly read_sec: number | null;
  } | null;
  readonly figures_at: Date | null;
  readonly rate_at: Date | null;
  readonly unsearched: number;
  readonly passed_at: Date | null;
  readonly searched_at: Date | null;
  readonly passed_sec: number | null;
}

/** Limits after which a line is late, equal to those of the alerts (docker/alerts.yml). */
const LATE_SEC = {
  orders: 60,
  pool: 60,
  events: 60,
  webhooks: 60,
  auto_delegations: 60,
  rules: 600,
  blocks: 120,
} as const;

@Injectable()
export class System {
  constructor(
    private readonly database: Database,
    private readonly sales: SalesHold,
  ) {}

  async read(): Promise<SystemShape> {
    const [state] = await this.database.query<StateRow>(STATE);
    if (state === undefined) throw new Error('a statement without a table has one row');
    const nodes = await this.database.query<NodeRow>(NODES, [SENDS_COUNTED]);
    return {
      checked_at: state.now.toISOString(),
      nodes: nodes.map(nodeUse),
      sends_counted: nodes.reduce((sum, { sends }) => sum + sends, 0),
      chain: chainOf(state),
      work: workOf(state),
      findings: await this.findings(),
      verify: await this.verify(state),
    };
  }

  /** The doctor's checks that need only the database. */
  private async findings(): Promise<DoctorFinding[]> {
    return [
      ...(await checkWork(this.database)),
      ...(await checkHeldRate(new HeldRates(this.database))),
      ...(await checkSignatures(this.database)),
    ];
  }

  private async verify(state: StateRow): Promise<SystemShape['verify']> {
    const [stop, explained] = [await this.sales.currentStop(), await this.sales.explained(EXPLAINED_SHOWN)];
    return withoutNull<SystemShape['verify']>({
      passed_at: timeOf(state.passed_at),
      searched_at: timeOf(state.searched_at),
      stop: stop && {
        reason: stop.reason,
        since: stop.stoppedAt.toISOString(),
        findings: stop.findings.map(disagreement),
      },
      explained: explained.map(({ checkName: check, subject, fingerprint, actor, reason, explainedAt }) => ({
        ...{ check, subject, fingerprint },
        by: actor,
        reason,
        at: explainedAt.toISOString(),
      })),
    });
  }
}

function nodeUse({ node, sends, taken, last_at: lastAt, refusal }: NodeRow): NodeUse {
  return {
    node,
    sends,
    taken,
    last_at: lastAt.toISOString(),
    ...(refusal !== null && { last_refusal: { answer: refusal.answer, at: new Date(refusal.at).toISOString() } }),
  };
}

function chainOf({ cursor, figures_at: figures, rate_at: rate, unsearched }: StateRow): SystemShape['chain'] {
  const moment = (text: string | null | undefined) => (text ? new Date(text).toISOString() : undefined);
  return withoutNull<SystemShape['chain']>({
    block_number: cursor?.block_number,
    block_at: moment(cursor?.block_at),
    blocks_read_at: moment(cursor?.read_at),
    figures_read_at: timeOf(figures),
    rate_read_at: timeOf(rate),
    unsearched_blocks: unsearched,
  });
}

function workOf(state: StateRow): WorkLine[] {
  const line = (what: WorkLine['what'], sec: number | null | undefined, count?: number): WorkLine =>
    withoutNull<WorkLine>({
      what,
      waiting: count,
      age_sec: sec === null || sec === undefined ? undefined : toJsonInteger(BigInt(Math.max(0, Math.round(sec)))),
      late: sec !== null && sec !== undefined && sec > LATE_SEC[what],
    });
  return [
    line('orders', state.orders_sec, state.orders_waiting),
    line('auto_delegations', state.autos_sec, state.autos_waiting),
    line('events', state.events_sec, state.events_waiting),
    line('webhooks', state.webhooks_sec, state.webhooks_waiting),
    line('pool', state.pool_sec),
    line('blocks', state.cursor?.read_sec),
    line('rules', state.passed_sec),
  ];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function disagreement(finding: Readonly<Record<string, unknown>>): KeptDisagreement {
  return {
    check: textOf(finding['check']),
    subject: textOf(finding['subject']),
    fingerprint: textOf(finding['fingerprint']),
  };
}
