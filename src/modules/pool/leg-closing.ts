/**
 * Closes legs whose delegation a foreign act ended, inside the caller's transaction. The evidence is that act or the
 * operator's statement. Orders continue as after our own undelegation. The row guard refuses while an undelegation of
 * ours may still be included.
 */
import type { Queryable } from '../../platform/database/database.js';
import { markLegsClosed, type LegEvidence } from '../order-records/leg-transitions.js';
import { wakeOrdersWithOpenLegs } from '../order-records/order-schedule.js';
import { recordClosedOrders, takeOrdersOfLegs, type EndedOrder } from '../order-records/order-transitions.js';
import { dropUnsentReclaims } from '../order-records/transaction-transitions.js';
import type { JudgedShortfall } from './shortfall.js';

/** Legs to close. The time is that of the foreign act's block, or of the block that showed the delegation missing. */
export interface Closing extends LegEvidence {
  readonly legIds: readonly bigint[];
}

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
  const { legIds } = closing;
  const orders = await takeOrdersOfLegs(tx, legIds);
  await dropUnsentReclaims(tx, legIds);
  const closed = await markLegsClosed(tx, legIds, closing);
  const ended = await recordClosedOrders(tx, orders);
  await wakeOrdersWithOpenLegs(tx, orders);
  return { closed, ended };
}
