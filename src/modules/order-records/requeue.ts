/** Makes one order due again on the operator's word. */
import type { Queryable } from '../../platform/database/database.js';

const REQUEUE = `UPDATE orders SET next_run_at = clock_timestamp()
  WHERE id = $1 AND NOT test AND status <> 'refunded' AND reclaimed_at IS NULL
    AND NOT (kind = 'activation' AND settled)
  RETURNING next_run_at`;

/** Makes an unfinished order due now. Returns its next run, or undefined if it is finished or of a test project. */
export async function requeueOrder(tx: Queryable, orderId: bigint): Promise<Date | undefined> {
  const [row] = await tx.query<{ next_run_at: Date }>(REQUEUE, [orderId]);
  return row?.next_run_at;
}

/** Repeatedly failed reclaims are retried ever less often. A new time of the leg resets their count. */
const RESET_PAUSES = `UPDATE leg SET changed_at = clock_timestamp() WHERE order_id = $1 AND status IN ('active', 'reclaiming')
    AND EXISTS (SELECT FROM chain_tx t WHERE t.leg_id = leg.id AND t.purpose = 'reclaim')`;

/** Retries the order's reclaims as if none had failed. */
export async function resetReclaimPauses(tx: Queryable, orderId: bigint): Promise<void> {
  await tx.query(RESET_PAUSES, [orderId]);
}
