/**
 * Closes legs whose delegation a foreign act ended, inside the caller's transaction. The evidence is that act or the
 * operator's statement. Orders continue as after our own undelegation. The row guard refuses while an undelegation of
 * ours may still be included.
 */
import type { Queryable } from '../../platform/database/database.js';
import type { JudgedShortfall } from './shortfall.js';

export interface Closing {
  readonly legIds: readonly bigint[];
  /** By the chain's clock: block time of the act, or of the block that showed the delegation missing. */
  readonly at: Date;
  /** Id of the undelegation that ended the delegation, in hex. */
  readonly txid: string | undefined;
  readonly reason: string | undefined;
}

/** An order whose last open leg was closed. */
export interface EndedOrder {
  readonly id: bigint;
  readonly project_id: string;
  readonly request_id: string | null;
  /** Seconds from the rental's end to its last act, by the chain's clock; negative if the delegation ended early. */
  readonly late_sec: number;
}

/**
 * Locks orders first, in order of id, like every writer of several orders. The new fence stops the present claim holder
 * from writing.
 */
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

/** The order's other legs continue, and end with their rental. */
const WAKE_REST = `UPDATE open_orders SET next_run_at = clock_timestamp()
  WHERE id = ANY ($1::bigint[]) AND (undoing OR next_run_at IS NOT NULL) AND reclaimed_at IS NULL`;

/** First key of the advisory locks that serialize closing the legs of one pair. */
const CLOSING = 4204;
const HOLD_PAIR = `SELECT pg_advisory_xact_lock($1, hashtext($2))`;
const CLOSED_SINCE = `SELECT FROM open_leg WHERE id = ANY ($1::bigint[]) AND status = 'reclaimed' LIMIT 1`;

/**
 * Takes the pair's advisory lock until this transaction ends. Returns false if one of the judged legs has been closed
 * since the judgement. The shortfall may belong to that leg, so the caller must judge again.
 */
export async function holdPair(tx: Queryable, judged: JudgedShortfall): Promise<boolean> {
  await tx.query(HOLD_PAIR, [CLOSING, `${judged.wallet.id.toString()}:${judged.receiver}`]);
  return (await tx.query(CLOSED_SINCE, [judged.legIds])).length === 0;
}

/**
 * Closes the legs; the caller must hold the pair's lock (`holdPair`). Returns the ended orders and the number of closed
 * legs.
 */
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
