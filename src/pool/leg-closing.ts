/**
 * Ends legs whose delegation a foreign act ended, in one transaction of the caller's: with the act that did it, or
 * with the operator's word. Orders move on as after an undelegation of ours. Refused by the row's guard while an undelegation
 * of ours may live.
 */
import type { Queryable } from '../store/database.js';
import type { JudgedShortfall } from './shortfall.js';

export interface Closing {
  readonly legIds: readonly bigint[];
  /** By the chain's clock: the block of the act, or the block at which the delegation was seen to be missing. */
  readonly at: Date;
  /** The undelegation that took it back, in hex. */
  readonly txid: string | undefined;
  readonly reason: string | undefined;
}

/** An order whose last leg this was. */
export interface EndedOrder {
  readonly id: bigint;
  readonly project_id: string;
  readonly request_id: string | null;
  /** Seconds from the rental's end to its last act, by the chain's clock; negative when it was taken early. */
  readonly late_sec: number;
}

/** Orders first and in order of id, as by everyone who writes several of them; a new fence: its holder writes nothing more. */
const TAKE_ORDERS = `UPDATE open_orders o SET fence = o.fence + 1, lease_until = NULL
  FROM (SELECT id FROM open_orders WHERE id IN (SELECT order_id FROM open_leg WHERE id = ANY ($1::bigint[]))
         ORDER BY id FOR NO KEY UPDATE) held WHERE o.id = held.id RETURNING o.id`;

const DROP_UNSENT = `UPDATE open_chain_tx SET status = 'dropped'
  WHERE leg_id = ANY ($1::bigint[]) AND purpose = 'reclaim' AND status IN ('built', 'signed')`;

const CLOSE = `UPDATE open_leg SET status = 'reclaimed', closed_at = $2, closed_by_txid = $3, closed_reason = $4, changed_at = clock_timestamp()
  WHERE id = ANY ($1::bigint[]) AND status IN ('active', 'reclaiming') RETURNING id`;

const END_ORDERS = `UPDATE open_orders o SET reclaimed_at = s.at, needs_attention = o.undoing AND o.needs_attention,
    next_run_at = CASE WHEN o.undoing THEN clock_timestamp() WHEN s.waits THEN o.next_run_at END
  FROM (SELECT l.order_id, max(coalesce(l.closed_at, t.block_at)) AS at, bool_or(l.status <> 'reclaimed') AS waits FROM open_leg l
          LEFT JOIN open_chain_tx t ON t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')
         WHERE l.order_id = ANY ($1::bigint[]) AND l.status <> 'released'
         GROUP BY l.order_id HAVING bool_and(t.id IS NOT NULL OR l.closed_at IS NOT NULL)) s
  WHERE o.id = s.order_id AND o.status = 'delivered'
  RETURNING o.id, o.project_id, o.request_id, extract(epoch FROM s.at - o.ends_at)::float8 AS late_sec`;

/** What goes on as it was: other legs of the order, which end with their rental. */
const WAKE_REST = `UPDATE open_orders SET next_run_at = clock_timestamp()
  WHERE id = ANY ($1::bigint[]) AND (undoing OR next_run_at IS NOT NULL) AND reclaimed_at IS NULL`;

/** The first number of the advisory locks by which the legs of one pair are closed in turn. */
const CLOSING = 4204;
const HOLD_PAIR = `SELECT pg_advisory_xact_lock($1, hashtext($2))`;
const CLOSED_SINCE = `SELECT FROM open_leg WHERE id = ANY ($1::bigint[]) AND status = 'reclaimed' LIMIT 1`;

/**
 * Holds up everyone else who closes legs of the pair until this transaction ends. False when one was closed since it was
 * judged: what is missing may be that one's, and is to be judged again.
 */
export async function holdPair(tx: Queryable, judged: JudgedShortfall): Promise<boolean> {
  await tx.query(HOLD_PAIR, [CLOSING, `${judged.wallet.id.toString()}:${judged.receiver}`]);
  return (await tx.query(CLOSED_SINCE, [judged.legIds])).length === 0;
}

/** Call holdPair before. Returns the orders that this ended, and how many of the legs it closed. */
export async function closeLegs(
  tx: Queryable,
  closing: Closing,
): Promise<{ readonly closed: number; readonly ended: readonly EndedOrder[] }> {
  const { legIds, at, txid, reason } = closing;
  const orders = (await tx.query<{ id: bigint }>(TAKE_ORDERS, [legIds])).map(({ id }) => id);
  await tx.query(DROP_UNSENT, [legIds]);
  const act = txid === undefined ? null : Buffer.from(txid, 'hex');
  const closed = await tx.query(CLOSE, [legIds, at, act, reason ?? null]);
  const ended = await tx.query<EndedOrder>(END_ORDERS, [orders]);
  await tx.query(WAKE_REST, [orders]);
  return { closed: closed.length, ended };
}
