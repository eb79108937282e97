/** Claims test orders and moves them from state to state, each move under the fence of its claim. */
import type { OrderKind, OrderStatus } from '../../domain/order-state.js';
import type { Queryable } from '../../platform/database/database.js';
import { leaseIsFree } from '../../platform/database/lease-sql.js';
import type { OrderClaim } from './order-leases.js';

/** The moves of a simulated order, each one update of its row. */
export type TestMove = 'place' | 'deliver' | 'set aside' | 'refund' | 'settle' | 'end';

const LEASE_IS_FREE = leaseIsFree('lease_until', '$1', 'statement_timestamp()');

const CLAIM = {
  name: 'claim_test_orders',
  text: `WITH due AS (
      SELECT id, clock_timestamp() + $1 * interval '1 second' AS until FROM open_orders
       WHERE play_at <= statement_timestamp() AND ${LEASE_IS_FREE}
       ORDER BY play_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE open_orders o SET lease_until = due.until, fence = o.fence + 1 FROM due WHERE o.id = due.id
    RETURNING o.id, o.project_id, o.kind, o.status, o.settled, o.receive_address, o.credits, o.fence`,
};

export interface ClaimedTestOrder {
  readonly id: bigint;
  readonly project_id: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly settled: boolean;
  readonly receive_address: string;
  readonly credits: bigint;
  readonly fence: number;
}

/** Claims up to `limit` test orders whose next move is due. */
export async function claimTestOrders(
  database: Queryable,
  leaseSec: number,
  limit: number,
): Promise<ClaimedTestOrder[]> {
  return database.query<ClaimedTestOrder>(CLAIM, [leaseSec, limit]);
}

/**
 * $1 order, $2 fence of the claim, $3 seconds until the next move; null if there is none, or if it is due at the
 * rental's end.
 */
const LATER = `statement_timestamp() + $3::integer * interval '1 second'`;
const BY_CLAIM = `lease_until = NULL WHERE id = $1 AND fence = $2 RETURNING id`;

const MOVES: Readonly<Record<TestMove, { readonly name: string; readonly text: string }>> = {
  place: {
    name: 'place_test_order',
    text: `UPDATE open_orders SET status = 'placed', placed_at = statement_timestamp(), play_at = ${LATER}, ${BY_CLAIM}`,
  },
  deliver: {
    name: 'deliver_test_order',
    text: `UPDATE open_orders SET status = 'delivered', delivered_at = statement_timestamp(), delivered_energy = energy, delivered_bandwidth = bandwidth,
      ends_at = statement_timestamp() + duration_sec * interval '1 second', needs_attention = false,
      error_code = NULL, error = NULL, play_at = ${LATER}, ${BY_CLAIM}`,
  },
  'set aside': {
    name: 'set_test_order_aside',
    text: `UPDATE open_orders SET status = 'unresolved', needs_attention = true, error_code = 'SUPPLIER_UNKNOWN',
      error = 'This test address simulates an unknown outcome. The order resolves by itself.',
      play_at = ${LATER}, ${BY_CLAIM}`,
  },
  refund: {
    name: 'refund_test_order',
    text: `UPDATE open_orders SET status = 'refunded', settled = true, error_code = 'SUPPLIER_REFUSED',
      error = 'This test address simulates a failed delivery. The charge was returned.',
      play_at = ${LATER}, ${BY_CLAIM}`,
  },
  // A rental's next move is at its end, which an extension moves.
  settle: {
    name: 'settle_test_order',
    text: `UPDATE open_orders SET settled = true, play_at = coalesce(${LATER}, ends_at), ${BY_CLAIM}`,
  },
  end: {
    name: 'end_test_order',
    text: `UPDATE open_orders SET reclaimed_at = greatest(statement_timestamp(), ends_at), play_at = ${LATER}, ${BY_CLAIM}`,
  },
};

/** Makes one move of a claimed order, with the next one due after `thenSec`. Returns false if another worker has it. */
export async function moveTestOrder(
  database: Queryable,
  order: OrderClaim,
  move: TestMove,
  thenSec: number | undefined,
): Promise<boolean> {
  return (await database.query(MOVES[move], [order.id, order.fence, thenSec ?? null])).length > 0;
}
