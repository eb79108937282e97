/**
 * Converts orders for clients of the family (docs/interface.md §25): to their three statuses, and the HTTP status of
 * each.
 */
import type { Response } from 'express';
import { invariant } from '../../domain/errors.js';
import type { OrderStatus } from '../../domain/order-state.js';
import { markReplay, type OrderAnswer } from '../orders/order-answers.js';
import type { OrderBody } from '../orders/orders.dto.js';

/** Clients know only these, and treat any other status as one of them. */
export const ENERGY_STATUSES = ['delivered', 'unresolved', 'refused'] as const;
export type EnergyStatus = (typeof ENERGY_STATUSES)[number];

/** Every status that may still lead to delivery is unresolved: a client must not take it for failed and buy again. */
const STATUS_OF: Readonly<Record<OrderStatus, EnergyStatus>> = {
  reserved: 'unresolved',
  placed: 'unresolved',
  unresolved: 'unresolved',
  delivered: 'delivered',
  refunded: 'refused',
};

const UNRESOLVED = {
  error:
    'The order is charged but not delivered yet. Repeat the request with the same Idempotency-Key for its outcome.',
  error_code: 'SUPPLIER_UNKNOWN',
};

type SameMembers =
  | 'id'
  | 'idempotency_key'
  | 'receive_address'
  | 'price_sun'
  | 'price_trx'
  | 'bandwidth'
  | 'delivered_energy'
  | 'delivered_bandwidth'
  | 'kept_credits'
  | 'settled'
  | 'needs_attention'
  | 'error'
  | 'error_code'
  | 'created_at'
  | 'delivered_at';

/** A rental in the family's members: those of an order with another status; without the charge if it is refused. */
export interface EnergyOrderBody
  extends
    Pick<OrderBody, SameMembers>,
    Required<Pick<OrderBody, 'energy' | 'duration_sec'>>,
    Partial<Pick<OrderBody, 'price_usd' | 'credits' | 'trx_usd' | 'items'>>,
    Pick<OrderBody, 'expected_uses' | 'price_per_use_sun' | 'fee_limit_sun' | 'fee_limit_capped'> {
  readonly status: EnergyStatus;
}

/** Returns the order in the family's members. A refused order omits its charge, but names the part that was kept. */
export function energyOrderBody(order: OrderBody): EnergyOrderBody {
  const { energy, bandwidth, duration_sec, price_usd, credits, trx_usd, items, delivered_at, error, error_code } =
    order;
  const { delivered_energy, delivered_bandwidth, kept_credits } = order;
  invariant(energy !== undefined && duration_sec !== undefined, 'a rental has energy and a duration');
  const status = STATUS_OF[order.status];
  return {
    id: order.id,
    idempotency_key: order.key,
    status,
    receive_address: order.receive_address,
    energy,
    ...(bandwidth !== undefined && { bandwidth }),
    duration_sec,
    price_sun: order.price_sun,
    price_trx: order.price_trx,
    ...(status !== 'refused' && { price_usd, credits, trx_usd }),
    ...(status !== 'refused' && items !== undefined && { items }),
    ...(delivered_energy !== undefined && { delivered_energy }),
    ...(delivered_bandwidth !== undefined && { delivered_bandwidth }),
    ...(kept_credits !== undefined && { kept_credits }),
    ...(order.expected_uses !== undefined && { expected_uses: order.expected_uses }),
    ...(order.price_per_use_sun !== undefined && { price_per_use_sun: order.price_per_use_sun }),
    ...(order.fee_limit_sun !== undefined && { fee_limit_sun: order.fee_limit_sun }),
    ...(order.fee_limit_capped === true && { fee_limit_capped: true as const }),
    settled: order.settled,
    // The family's member means that this answer does not determine the next step; ours that the operator should act.
    needs_attention: order.needs_attention || status === 'unresolved',
    ...(status === 'unresolved' && UNRESOLVED),
    ...(status === 'refused' && error !== undefined && { error }),
    ...(status === 'refused' && error_code !== undefined && { error_code }),
    created_at: order.created_at,
    ...(delivered_at !== undefined && { delivered_at }),
  };
}

/**
 * Sets the HTTP status that a client of the family expects. A refused order is an error once, for its buyer. A replay
 * is 200, because those clients retry after a 5xx.
 */
export function answerEnergyOrder(response: Response, { body, isReplay }: OrderAnswer): EnergyOrderBody {
  const order = energyOrderBody(body);
  const statuses = { delivered: 200, unresolved: 409, refused: isReplay ? 200 : 502 };
  response.status(statuses[order.status]);
  if (isReplay) markReplay(response);
  return order;
}
