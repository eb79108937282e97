/** Limits of a project's webhook acts in 24 hours: each act writes rows and is free for the project. */
import { ApiError } from '../../domain/errors.js';
import { CLOCK_IS_STEADY } from '../../platform/database/confirmed-clock.js';
import type { Transaction } from '../../platform/database/database.js';
import { isFromLaterClock } from '../../platform/database/lease-sql.js';

/** First key of the advisory locks that serialize counting a project's webhooks and acts. */
const COUNTING = 4202;

type WebhookActKind = 'change' | 'rotate' | 'resend' | 'replay';

/** Limits in 24 hours over all webhooks of a project; for replays, of their events. */
export const ACTS_PER_DAY: Readonly<Record<WebhookActKind, number>> = {
  change: 100,
  rotate: 100,
  resend: 1000,
  replay: 100_000,
};

const REFUSALS: Readonly<Record<WebhookActKind, string>> = {
  change: 'A project can change its webhooks at most 100 times in 24 hours',
  rotate: 'A project can rotate webhook secrets at most 100 times in 24 hours',
  resend: 'A project can resend at most 1,000 deliveries in 24 hours',
  replay: 'A project can replay at most 100,000 events in 24 hours',
};

/**
 * Returns SQL of the condition that something happened within `interval` before now. Acts of a clock that was ahead do
 * not count: they would bar acts until that time comes.
 */
export const isWithin = (at: string, interval: string): string =>
  `(${at} > clock_timestamp() - interval '${interval}' AND NOT ${isFromLaterClock(at, 0)})`;

const FORGET = `DELETE FROM webhook_act WHERE project_id = $1 AND created_at < clock_timestamp() - interval '24 hours'
  AND ${CLOCK_IS_STEADY}`;

const IS_OF_A_DAY = isWithin('created_at', '24 hours');
const IS_OF_A_MINUTE = isWithin('created_at', '1 minute');

const COUNTED = `SELECT coalesce(sum(count), 0)::int AS count,
    greatest(1, ceil(extract(epoch FROM min(created_at) + interval '24 hours' - clock_timestamp())))::int AS wait_sec
  FROM webhook_act WHERE project_id = $1 AND act = $2 AND ${IS_OF_A_DAY}`;

/** Changes per minute and project that become one event each, immediately. Further changes share one event. */
const REPORTED_PER_MINUTE = 5;

const CHANGED = `SELECT count(*)::int AS count FROM webhook_act WHERE project_id = $1 AND act IN ('change', 'rotate')
    AND ${IS_OF_A_MINUTE}`;

const COUNT = `INSERT INTO webhook_act (project_id, act, count) VALUES ($1, $2, $3)`;

/** Serializes with all other counted acts of the project until the transaction ends. */
export async function lockCounts(tx: Transaction, projectId: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, [COUNTING, projectId]);
}

/** Returns how much of an act the project has left. Throws 409 LIMIT_REACHED if that is nothing. */
export async function requireAct(tx: Transaction, projectId: string, act: WebhookActKind): Promise<number> {
  await lockCounts(tx, projectId);
  await tx.query(FORGET, [projectId]);
  const [counted] = await tx.query<{ count: number; wait_sec: number }>(COUNTED, [projectId, act]);
  const left = ACTS_PER_DAY[act] - (counted?.count ?? 0);
  if (left > 0) return left;
  const hours = Math.ceil((counted?.wait_sec ?? 1) / 3600);
  throw new ApiError('LIMIT_REACHED', `${REFUSALS[act]}. Try again in ${hours.toString()} h.`);
}

/** Counts an act that `requireAct` allowed, in the same transaction. */
export async function countAct(tx: Transaction, projectId: string, act: WebhookActKind, count = 1): Promise<void> {
  if (count > 0) await tx.query(COUNT, [projectId, act, count]);
}

/** Counts a change or a rotation. Throws 409 LIMIT_REACHED. */
export async function countChange(tx: Transaction, projectId: string, act: 'change' | 'rotate'): Promise<void> {
  await requireAct(tx, projectId, act);
  await countAct(tx, projectId, act);
}

/** Returns true if the change just counted becomes a separate event. */
export async function isReportedNow(tx: Transaction, projectId: string): Promise<boolean> {
  const [changed] = await tx.query<{ count: number }>(CHANGED, [projectId]);
  return (changed?.count ?? 0) <= REPORTED_PER_MINUTE;
}
