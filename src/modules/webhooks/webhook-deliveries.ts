/** Deliveries of an endpoint: lists them, and writes new ones for tests, replays and resends. The sender sends them. */
import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { nowMs } from '../../platform/support/clock.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { Database, type Statement, type Transaction } from '../../platform/database/database.js';
import { ownedBy } from '../../platform/database/owner-order.js';
import type { DeliveryCause, DeliveryStatus } from '../../domain/webhook-delivery.js';
import type { Witness } from '../../platform/database/audit-log.js';
import { countAct, isWithin, requireAct } from './webhook-acts.js';
import { lockEndpoint, requireId } from './webhooks.js';

const REPLAY_EVENTS_MAX = 10_000;
const TESTS_PER_MINUTE = 6;

/** A delivery as its owner sees it. */
export interface DeliveryView {
  readonly id: bigint;
  readonly event_key: string;
  readonly type: string;
  readonly position: bigint;
  readonly cause: DeliveryCause;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly created_at: Date;
  readonly next_at: Date | null;
  readonly attempted_at: Date | null;
  readonly ended_at: Date | null;
  readonly answer_status: number | null;
  readonly answer: string | null;
  readonly fault: string | null;
  readonly duration_ms: number | null;
}

/** A delivery with its body, as it is or was sent. */
export interface DeliveryDetail extends DeliveryView {
  /** Null for an event of no order. */
  readonly order_key: string | null;
  /** Null if the event was pruned. */
  readonly body: string | null;
}

export interface Replay {
  readonly events: number;
  /** Last replayed position; a next replay can continue after it. */
  readonly lastPosition: bigint;
}

const COLUMNS = `id, event_key, type, position, cause, status, attempts, created_at, next_at, attempted_at, ended_at,
    answer_status, answer, fault, duration_ms`;

const VIEW = `SELECT ${COLUMNS} FROM webhook_delivery WHERE endpoint_id = $1 AND id = $2`;

const DETAIL = {
  name: 'webhook_delivery_detail',
  text: `SELECT d.id, d.event_key, d.type, d.position, d.cause, d.status, d.attempts, d.created_at, d.next_at, d.attempted_at,
      d.ended_at, d.answer_status, d.answer, d.fault, d.duration_ms, o.key AS order_key, coalesce(d.payload, e.payload) AS body
    FROM webhook_delivery d LEFT JOIN event e ON e.id = d.event_id LEFT JOIN orders o ON o.id = e.order_id
   WHERE d.endpoint_id = $1 AND d.id = $2`,
};

const IS_OF_ENDPOINT = ownedBy('endpoint_id', '$1::uuid');

/**
 * $1 endpoint, $2 exclusive upper id, $3 limit. The status is a literal, so that the planner uses its partial index.
 */
const listOf = (name: string, CONDITION: string): Statement => ({
  name: `webhook_deliveries_${name}`,
  text: `SELECT ${COLUMNS} FROM webhook_delivery WHERE ${IS_OF_ENDPOINT} AND id < $2 ${CONDITION}
    ORDER BY endpoint_id DESC, id DESC LIMIT $3`,
});
export const LIST = listOf('all', '');
export const LIST_IN: Readonly<Record<DeliveryStatus, Statement>> = {
  pending: listOf('pending', `AND status = 'pending'`),
  delivered: listOf('delivered', `AND status = 'delivered'`),
  failed: listOf('failed', `AND status = 'failed'`),
  dropped: listOf('dropped', `AND status = 'dropped'`),
};
const ID_MAX = 2n ** 63n - 1n;

const INSERT_TEST = `INSERT INTO webhook_delivery (endpoint_id, cause, event_key, type, payload, is_requested)
  VALUES ($1, 'test', $2, 'webhook.test', $3, true) RETURNING id`;

const IS_TESTED_LATELY = isWithin('d.created_at', '1 minute');
const TESTS = `SELECT count(*)::int AS count, coalesce(ceil(extract(epoch FROM min(d.created_at) + interval '1 minute' - clock_timestamp())), 1)::int AS wait_sec
  FROM webhook_delivery d WHERE d.endpoint_id = $1 AND d.cause = 'test' AND ${IS_TESTED_LATELY}`;

const REPLAYING = `SELECT FROM webhook_delivery WHERE endpoint_id = $1 AND cause = 'replay' AND status = 'pending' LIMIT 1`;

const IS_BROKEN_OFF_LATELY = isWithin('b.at', '1 minute');

/**
 * A pause of a minute after a webhook of the project was deleted or disabled, or a delivery of this one was dropped.
 * The sender ends the deliveries of a deleted webhook by an update per row. A project that caused this repeatedly would
 * delay the deliveries of all others.
 */
const BROKEN_OFF = `SELECT ceil(extract(epoch FROM max(b.at) + interval '1 minute' - clock_timestamp()))::int AS wait_sec FROM (
    SELECT greatest(e.deleted_at, e.disabled_at) AS at FROM webhook_endpoint e WHERE e.project_id = $1
    UNION ALL (SELECT d.created_at FROM webhook_delivery d WHERE d.endpoint_id = $2 AND d.status = 'dropped' ORDER BY d.id DESC LIMIT 1)) b
  WHERE ${IS_BROKEN_OFF_LATELY}`;

/**
 * Events of the types that the endpoint subscribes to, in order. Beyond the limit, the next replay continues after the
 * last.
 */
const REPLAY = `WITH wanted AS (
    SELECT e.id AS event_id, e.payload::json ->> 'id' AS event_key, e.type, e.position
      FROM webhook_endpoint w JOIN event e ON e.project_id = w.project_id AND e.payload IS NOT NULL AND e.position > $2
     WHERE w.id = $1 AND (w.types IS NULL OR e.type = ANY (w.types)) ORDER BY e.position LIMIT $3),
  made AS (INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
    SELECT $1, 'replay', event_id, event_key, type, position FROM wanted RETURNING position)
  SELECT count(*)::int AS events, coalesce(max(position), $2) AS "lastPosition" FROM made`;

/** A pending delivery becomes due now; an ended one is sent as a new delivery. */
const RESEND_PENDING = `UPDATE webhook_delivery SET next_at = clock_timestamp(), is_fresh = true, is_requested = true
  WHERE id = $2 AND endpoint_id = $1 AND status = 'pending' RETURNING id`;
const CAUSE = `SELECT cause FROM webhook_delivery WHERE id = $2 AND endpoint_id = $1`;
const RESEND_ENDED = `INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position, payload, is_requested)
  SELECT endpoint_id, CASE cause WHEN 'test' THEN 'test' ELSE 'resend' END, event_id, event_key, type, position, payload, true
    FROM webhook_delivery WHERE id = $2 AND endpoint_id = $1 AND status <> 'pending' RETURNING id`;

/** A separate statement, so that it reads the state after the lock was taken. */
const IS_FROZEN = `SELECT frozen FROM credit_account WHERE project_id = $1`;

@Injectable()
export class WebhookDeliveries {
  constructor(private readonly database: Database) {}

  /**
   * Returns deliveries before the given id, newest first, up to `limit`. The caller must have checked that the endpoint
   * belongs to the project.
   */
  async list(
    webhookId: string,
    status: DeliveryStatus | undefined,
    limit: number,
    beforeId: bigint | undefined,
  ): Promise<DeliveryView[]> {
    const statement = status === undefined ? LIST : LIST_IN[status];
    return this.database.query<DeliveryView>(statement, [webhookId, beforeId ?? ID_MAX, limit]);
  }

  /** The caller must have checked that the endpoint belongs to the project. */
  async find(webhookId: string, deliveryId: bigint): Promise<DeliveryDetail | undefined> {
    const [found] = await this.database.query<DeliveryDetail>(DETAIL, [webhookId, deliveryId]);
    return found;
  }

  /** Sends one test event. Throws 404, 403, 400 for a disabled endpoint, and 429 for a seventh test within a minute. */
  async test(projectId: string, webhookId: string, witness: Witness): Promise<DeliveryView> {
    return this.act(projectId, webhookId, async (tx, url) => {
      await requireTest(tx, webhookId);
      await witness(tx, 'webhook.test', projectId, { webhook: webhookId });
      const id = `evt_test_${randomBytes(12).toString('hex')}`;
      const data = { webhook: { id: webhookId, url: maskedUrl(url) } };
      const [project] = await tx.query<{ test: boolean }>(`SELECT test FROM project WHERE id = $1`, [projectId]);
      const test = project?.test === true ? { test: true } : {};
      const payload = { id, type: 'webhook.test', timestamp: new Date(nowMs()).toISOString(), ...test, data };
      return tx.query<{ id: bigint }>(INSERT_TEST, [webhookId, id, JSON.stringify(payload)]);
    });
  }

  /**
   * Sends events after a position again, behind new ones. Throws 404, 403, 400, and 409 while a replay is in progress
   * or if the project's daily limit is used up. Throws 429 within a minute after a webhook of the project was deleted
   * or disabled.
   */
  async replay(projectId: string, webhookId: string, after: bigint, witness: Witness): Promise<Replay> {
    requireId(webhookId);
    return this.database.transaction(async (tx) => {
      await lockEnabled(tx, projectId, webhookId);
      if ((await tx.query(REPLAYING, [webhookId])).length > 0) {
        throw new ApiError('LIMIT_REACHED', 'A replay of this webhook is running. Wait until it has finished.');
      }
      const [broken] = await tx.query<{ wait_sec: number | null }>(BROKEN_OFF, [projectId, webhookId]);
      if (typeof broken?.wait_sec === 'number') {
        const words =
          'A webhook of this project was deleted or disabled less than a minute ago. Repeat the request after the time in Retry-After.';
        throw new ApiError('RATE_LIMITED', words, { retryAfterSec: Math.max(1, broken.wait_sec) });
      }
      const left = await requireAct(tx, projectId, 'replay');
      await witness(tx, 'webhook.replay', projectId, { webhook: webhookId, after });
      const most = Math.min(left, REPLAY_EVENTS_MAX);
      const [replay = { events: 0, lastPosition: after }] = await tx.query<Replay>(REPLAY, [webhookId, after, most]);
      await countAct(tx, projectId, 'replay', replay.events);
      return replay;
    });
  }

  /**
   * Sends one delivery again, or now if it is pending, even while its endpoint is slowed down. Throws 404, 403, 400,
   * 409 beyond the daily limit, and 429 for a seventh test within a minute.
   */
  async resend(projectId: string, webhookId: string, deliveryId: bigint, witness: Witness): Promise<DeliveryView> {
    return this.act(projectId, webhookId, async (tx) => {
      await requireAct(tx, projectId, 'resend');
      await witness(tx, 'webhook.resend', projectId, { webhook: webhookId, delivery: deliveryId });
      await countAct(tx, projectId, 'resend');
      const now = await tx.query<{ id: bigint }>(RESEND_PENDING, [webhookId, deliveryId]);
      if (now.length > 0) return now;
      const [ended] = await tx.query<{ cause: string }>(CAUSE, [webhookId, deliveryId]);
      if (ended?.cause === 'test') await requireTest(tx, webhookId);
      return tx.query<{ id: bigint }>(RESEND_ENDED, [webhookId, deliveryId]);
    });
  }

  /** Runs `work` on an enabled endpoint and returns the delivery with the id that it returns. */
  private async act(
    projectId: string,
    webhookId: string,
    work: (tx: Transaction, url: string) => Promise<readonly { readonly id: bigint }[]>,
  ): Promise<DeliveryView> {
    requireId(webhookId);
    return this.database.transaction(async (tx) => {
      const [made] = await work(tx, await lockEnabled(tx, projectId, webhookId));
      const [view] = await tx.query<DeliveryView>(VIEW, [webhookId, made?.id ?? null]);
      if (view === undefined) throw new ApiError('NOT_FOUND', 'This webhook has no delivery with this ID.');
      return view;
    });
  }
}

/** Throws 429 for a seventh test within a minute. */
async function requireTest(tx: Transaction, webhookId: string): Promise<void> {
  const [tests] = await tx.query<{ count: number; wait_sec: number }>(TESTS, [webhookId]);
  if (tests === undefined || tests.count < TESTS_PER_MINUTE) return;
  const words = `A webhook can be tested at most ${TESTS_PER_MINUTE.toString()} times a minute. Wait a minute.`;
  throw new ApiError('RATE_LIMITED', words, { retryAfterSec: Math.max(1, tests.wait_sec) });
}

/**
 * Locks the endpoint and returns its URL. Throws 404, 403 if the project is frozen, and 400 if the endpoint is
 * disabled. A freeze waits for this lock and then ends deliveries written under it
 * (src/platform/database/sql/functions/webhook_project_frozen.sql).
 */
async function lockEnabled(tx: Transaction, projectId: string, webhookId: string): Promise<string> {
  const { url, isDisabled } = await lockEndpoint(tx, projectId, webhookId);
  const [account] = await tx.query<{ frozen: boolean }>(IS_FROZEN, [projectId]);
  if (account?.frozen === true) {
    const words = 'This project is frozen: nothing is tested, replayed or resent until it is unfrozen.';
    throw new ApiError('PROJECT_FROZEN', words);
  }
  if (isDisabled) throw invalidField('id', 'is disabled; enable it first');
  return url;
}
