/**
 * Assigns every committed event its position in its project's log, and renders its payload. A reader by position misses
 * nothing: one session at a time assigns positions, and only to committed events. An event that commits later gets a
 * later position. The events of one object stay in order, because their ids rise with its changes and a batch takes the
 * lowest ids first.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics, addGauge } from '../../platform/observability/metrics.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { holdNumbering } from './numbering-lock.js';
import { renderEvent, type OrderTerms, type WrittenEvent } from './payload.js';

/** Events per batch. */
const BATCH = 500;
/** Bounds a batch of large payloads, so that its statement stays far below its time limit. */
const PAYLOAD_CHARS_MAX = 4_000_000;
/** Longest wait of an event for its position. A batch costs the same statements for one event as for many. */
const EVERY_MS = 100;
/**
 * After a batch of this size the next events are taken without asking first whether there are any. An empty batch costs
 * more statements than the question.
 */
const BUSY_BATCH = 8;
/** Pause if more events wait than fit in a batch, so that other sessions can write. */
const BUSY_MS = 50;
const RETRY_MS = 1000;
/** Step by which positions rise when commits may have been lost: more than any server loses. */
const RESTART_STEP = 1_000_000n;

const WAITING = {
  name: 'events_waiting',
  text: `SELECT greatest(extract(epoch FROM clock_timestamp() - at), 0)::float8 AS oldest_sec FROM event
    WHERE position IS NULL AND type IS NOT NULL ORDER BY id LIMIT 1`,
};

/** The marks are read with every batch; a restart without events is announced within this time. */
const MARK_EVERY_MS = 1000;
const IS_OTHER_SERVER = {
  name: 'numbered_on_other_server',
  text: `SELECT server_mark IS DISTINCT FROM server_mark() AS restarts FROM event_numbering`,
};

const SET_MARK = { name: 'set_numbering_mark', text: `UPDATE event_numbering SET server_mark = $1` };

/**
 * Raises every project's positions by $1 + 1, even if a project lost all of its positions. $1: a million per failover.
 */
const RAISE_POSITIONS = {
  name: 'raise_positions',
  text: `INSERT INTO event_position AS p (project_id, position) SELECT id, $1::bigint + 1 FROM project ORDER BY id
    ON CONFLICT (project_id) DO UPDATE SET position = p.position + excluded.position
    RETURNING project_id, position, clock_timestamp() AS at,
      (SELECT r.test FROM project r WHERE r.id = p.project_id) AS test`,
};

const INSERT_RESTARTS = {
  name: 'insert_restarts',
  text: `INSERT INTO event (project_id, type, at, position, payload)
    SELECT v.project_id, 'log.restarted', v.at, v.position, v.payload
      FROM unnest($1::uuid[], $2::timestamptz[], $3::bigint[], $4::text[]) AS v(project_id, at, position, payload)`,
};

/**
 * $1 batch size. Returns at least one row: the server marks, with the first event if there is one. The snapshots of an
 * order's moves have what changes; its terms are read here, because they never change. The snapshot of `order.created`
 * has none of the rest, so it is derived.
 */
const TAKE = {
  name: 'take_events',
  text: `SELECT n.known, n.mark, e.id, e.project_id, e.type, e.at, e.chain_at, coalesce(p.position, 0) AS last_position,
      coalesce(r.test, false) AS test,
      coalesce(e.snapshot, CASE WHEN e.type = 'order.created' AND o.id IS NOT NULL THEN json_build_object(
          'order', json_build_object('status', 'reserved', 'delivered_energy', null, 'settled', false,
            'needs_attention', false, 'error_code', null, 'error', null, 'delivered_at', null, 'ends_at', null,
            'reclaimed_at', null),
          'legs', null, 'compensations', null) END) AS snapshot,
      CASE WHEN o.id IS NOT NULL THEN json_build_object(
          'id', o.id, 'key', o.key, 'kind', o.kind, 'receive_address', o.receive_address, 'energy', o.energy,
          'duration_sec', o.duration_sec, 'price_sun', o.price_sun, 'credits', o.credits, 'trx_usd_e8', o.trx_usd_e8,
          'reference', o.reference, 'metadata', o.metadata, 'created_at', o.created_at, 'test', o.test,
          'expected_uses', o.expected_uses, 'energy_fee_sun', o.energy_fee_sun,
          'max_fee_limit_sun', o.max_fee_limit_sun, 'bandwidth', o.bandwidth, 'bandwidth_price_sun', o.bandwidth_price_sun,
          'bandwidth_credits', o.bandwidth_credits, 'activation_price_sun', o.activation_price_sun,
          'activation_credits', o.activation_credits) END AS terms
    -- Once, and not for each event.
    FROM (SELECT server_mark AS known, server_mark() AS mark FROM event_numbering OFFSET 0) n
    LEFT JOIN (SELECT * FROM event WHERE position IS NULL AND type IS NOT NULL ORDER BY id LIMIT $1) e ON true
    LEFT JOIN open_orders o ON o.id = e.order_id
    LEFT JOIN project r ON r.id = e.project_id
    LEFT JOIN event_position p ON p.project_id = e.project_id ORDER BY e.id`,
};

/**
 * Updates the events of a batch and the last position of each log in one statement. `(SELECT $1…)` hides the number of
 * events, so that the plan is kept (order-records/transaction-transitions.ts).
 */
const NUMBER = {
  name: 'number_events',
  text: `WITH numbered AS (
      UPDATE event e SET position = v.position, payload = v.payload, snapshot = NULL
        FROM unnest((SELECT $1::bigint[]), $2::bigint[], $3::text[]) AS v(id, position, payload) WHERE e.id = v.id AND e.position IS NULL)
    INSERT INTO event_position AS p (project_id, position)
    SELECT v.project_id, v.position FROM unnest((SELECT $4::uuid[]), $5::bigint[]) AS v(project_id, position)
    ON CONFLICT (project_id) DO UPDATE SET position = excluded.position`,
};

interface ServerMarks {
  /** The mark of the server that numbered last; null before the first. */
  readonly known: string | null;
  readonly mark: string;
}

interface TakenEvent extends WrittenEvent {
  readonly id: bigint;
  readonly last_position: bigint;
  /** Null for an event of no order, and of an archived one, whose snapshot is whole. */
  readonly terms: OrderTerms | null;
}

interface NumberedBatch {
  readonly ids: bigint[];
  readonly positions: bigint[];
  readonly payloads: string[];
  readonly last: Map<string, bigint>;
}

@Injectable()
export class Numberer extends RepeatedTask {
  private readonly numberedCounter: Counter;
  private oldestSec = 0;
  private readAtMs = monotonicMs();
  private markReadAtMs = Number.NEGATIVE_INFINITY;
  private isBusy = false;
  /** True if the last batch was full, so that more events may wait. */
  private isFull = false;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    super(RETRY_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to number events');
    });
    addGauge(
      metrics.registry,
      'event_numbering_age_seconds',
      'Longest wait of an event for its position (use the `min`).',
      () => this.oldestSec + (monotonicMs() - this.readAtMs) / 1000,
    );
    this.numberedCounter = new Counter({
      name: 'events_numbered_total',
      help: 'Events that this worker numbered.',
      registers: [metrics.registry],
    });
  }

  protected override async runOnce(): Promise<number> {
    if (!(this.isBusy || (await this.hasWork())) || this.repeater.isEnding) return EVERY_MS;
    const numbered = await this.numberBatch();
    // A full batch leaves an age that only the question reads.
    this.isBusy = numbered >= BUSY_BATCH && !this.isFull;
    if (numbered > 0 && !this.isFull) this.noteAge(0);
    return this.isFull ? BUSY_MS : EVERY_MS;
  }

  /** Numbers the next events, all or none. Returns their number; 0 while another worker numbers. */
  async numberBatch(): Promise<number> {
    this.isFull = false;
    const numbered = await this.database.transaction(async (tx) => {
      if (!(await holdNumbering(tx))) return 0;
      const taken = await takeEvents(tx);
      const { known, mark } = taken.marks;
      const restarted = known === mark ? 0 : await this.restartAfterLoss(tx, taken.marks);
      // After a restart all positions have changed.
      const { events } = known === mark ? taken : await takeEvents(tx);
      if (events.length === 0) return restarted;
      const given = this.assignPositions(events);
      const projects = [...given.last].sort(([a], [b]) => (a < b ? -1 : 1));
      const positions = [projects.map(([id]) => id), projects.map(([, position]) => position)];
      await tx.query(NUMBER, [given.ids, given.positions, given.payloads, ...positions]);
      this.isFull = events.length >= BATCH || given.ids.length < events.length;
      return restarted + given.ids.length;
    });
    this.numberedCounter.inc(numbered);
    return numbered;
  }

  private async hasWork(): Promise<boolean> {
    const [oldest] = await this.database.query<{ oldest_sec: number }>(WAITING);
    this.noteAge(oldest?.oldest_sec ?? 0);
    return oldest !== undefined || (await this.isOnOtherServer());
  }

  private async isOnOtherServer(): Promise<boolean> {
    if (monotonicMs() - this.markReadAtMs < MARK_EVERY_MS) return false;
    this.markReadAtMs = monotonicMs();
    const [numbering] = await this.database.query<{ restarts: boolean }>(IS_OTHER_SERVER);
    return numbering?.restarts === true;
  }

  private noteAge(oldestSec: number): void {
    this.oldestSec = oldestSec;
    this.readAtMs = monotonicMs();
  }

  /**
   * On another server, or on restored data, callers may have read positions that are now unknown. So every log
   * continues far above them, with an event that announces it. Returns the number of logs.
   */
  private async restartAfterLoss(tx: Queryable, { known, mark }: ServerMarks): Promise<number> {
    await tx.query(SET_MARK, [mark]);
    // The very first numberer adopts the current server as the log's original one.
    if (known === null) return 0;
    const step = RESTART_STEP * failoversBetween(known, mark);
    const logs = await tx.query<{ project_id: string; position: bigint; at: Date; test: boolean }>(RAISE_POSITIONS, [
      step,
    ]);
    const payloads = logs.map(({ project_id, position, at, test }) =>
      renderEvent({ project_id, type: 'log.restarted', at, chain_at: null, test, snapshot: null }, position),
    );
    await tx.query(INSERT_RESTARTS, [
      logs.map((each) => each.project_id),
      logs.map((each) => each.at),
      logs.map((each) => each.position),
      payloads,
    ]);
    this.log.error(
      { known, mark, logs: logs.length, effect: `event positions of every project raised by ${step.toString()}` },
      'database server changed or data restored',
    );
    return logs.length;
  }

  /**
   * Computes positions and payloads for a batch in id order, and the last position of each project. Leaves the events
   * whose payloads exceed the bound to the next batch.
   */
  private assignPositions(taken: readonly TakenEvent[]): NumberedBatch {
    const given: NumberedBatch = { ids: [], positions: [], payloads: [], last: new Map() };
    let chars = 0;
    for (const event of taken) {
      const position = (given.last.get(event.project_id) ?? event.last_position) + 1n;
      const payload = this.render(event, position);
      chars += payload.length;
      if (chars > PAYLOAD_CHARS_MAX && given.ids.length > 0) break;
      given.last.set(event.project_id, position);
      given.ids.push(event.id);
      given.positions.push(position);
      given.payloads.push(payload);
    }
    return given;
  }

  /** Renders an event without its data if it cannot be rendered, so that it does not block the others. */
  private render(event: TakenEvent, position: bigint): string {
    try {
      return renderEvent(withTerms(event), position);
    } catch (error) {
      this.log.error({ err: error, event: event.id.toString() }, 'failed to render an event');
      return renderEvent({ ...event, snapshot: null }, position);
    }
  }
}

function withTerms(event: TakenEvent): WrittenEvent {
  const { snapshot, terms } = event;
  if (snapshot === null || terms === null || !('order' in snapshot)) return event;
  return { ...event, snapshot: { ...snapshot, order: { ...terms, ...snapshot.order } } };
}

async function takeEvents(
  tx: Queryable,
): Promise<{ readonly marks: ServerMarks; readonly events: readonly TakenEvent[] }> {
  const rows = await tx.query<ServerMarks & (TakenEvent | { readonly id: null })>(TAKE, [BATCH]);
  const [marks] = rows;
  if (marks === undefined) throw new Error('the row of event_numbering is missing');
  return { marks, events: rows.filter((row): row is ServerMarks & TakenEvent => row.id !== null) };
}

/**
 * Returns the number of failovers, at least one. Timelines between the two may have given positions that this server's
 * data does not contain. The timeline is the second part of a mark (src/platform/database/sql/functions/server_mark.sql), in hex.
 */
function failoversBetween(known: string, mark: string): bigint {
  const [from, to] = [known, mark].map((each) => Number.parseInt(each.split('/')[1] ?? '', 16));
  const passed = (to ?? NaN) - (from ?? NaN);
  return passed > 1 && passed < 1000 ? BigInt(passed) : 1n;
}
