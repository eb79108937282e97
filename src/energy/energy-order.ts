/** Our order as clients of the family read it (docs/interface.md §25): their three statuses, and the status code of each. */
import type { Response } from 'express';
import { invariant } from '../domain/errors.js';
import type { OrderStatus } from '../domain/order-state.js';
import { markReplay } from '../orders/order-answer.js';
import type { OrderBody } from '../orders/orders.dto.js';
import type { OrderAnswer } from '../orders/orders.service.js';

/** Clients know these and take any other for one of them. */
export const ENERGY_STATUSES = ['delivered', 'unresolved', 'refused'] as const;
export type EnergyStatus = (typeof ENERGY_STATUSES)[number];

/** Anything that may still be delivered is unresolved: nobody may take it for failed and buy again. */
const STATUS_OF: Readonly<Record<OrderStatus, EnergyStatus>> = {
  reserved: 'unresolved',
  placed: 'unresolved',
  unresolved: 'unresolved',
  delivered: 'delivered',
  refunded: 'refused',
};

const UNRESOLVED = {
  error:
    'The order is charged and not delivered yet; repeat the request with the same Idempotency-Key to learn its outcome.',
  error_code: 'SUPPLIER_UNKNOWN',
};

type SameMembers =
  | 'id'
  | 'idempotency_key'
  | 'receive_address'
  | 'price_sun'
  | 'price_trx'
  | 'delivered_energy'
  | 'settled'
  | 'needs_attention'
  | 'error'
  | 'error_code'
  | 'created_at'
  | 'delivered_at';

/** A rental in the family's members: those of an order, with another status; what was charged unless it is refused. */
export interface EnergyOrderBody
  extends
    Pick<OrderBody, SameMembers>,
    Required<Pick<OrderBody, 'energy' | 'duration_sec'>>,
    Partial<Pick<OrderBody, 'price_usd' | 'credits' | 'trx_usd'>> {
  readonly status: EnergyStatus;
}

/** The order in the family's members; of a refused one nothing that was charged is left to show. */
export function energyOrderBody(order: OrderBody): EnergyOrderBody {
  const { energy, duration_sec, price_usd, credits, trx_usd, delivered_energy, delivered_at, error, error_code } =
    order;
  invariant(energy !== undefined && duration_sec !== undefined, 'a rental has energy and a duration');
  const status = STATUS_OF[order.status];
  return {
    id: order.id,
    idempotency_key: order.key,
    status,
    receive_address: order.receive_address,
    energy,
    duration_sec,
    price_sun: order.price_sun,
    price_trx: order.price_trx,
    ...(status !== 'refused' && { price_usd, credits, trx_usd }),
    ...(delivered_energy !== undefined && { delivered_energy }),
    settled: order.settled,
    // Theirs means that this answer does not say what to do next, ours that the operator should act.
    needs_attention: order.needs_attention || status === 'unresolved',
    ...(status === 'unresolved' && UNRESOLVED),
    ...(status === 'refused' && error !== undefined && { error }),
    ...(status === 'refused' && error_code !== undefined && { error_code }),
    created_at: order.created_at,
    ...(delivered_at !== undefined && { delivered_at }),
  };
}

/**
 * The order with the status that a client of the family reads it by. A refused order is an error once, for whoever
 * bought it; a replay is 200, which ends the repetitions that a 5xx starts in those clients.
 */
export function answerEnergyOrder(response: Response, { body, isReplay }: OrderAnswer): EnergyOrderBody {
  const order = energyOrderBody(body);
  const statuses = { delivered: 200, unresolved: 409, refused: isReplay ? 200 : 502 };
  response.status(statuses[order.status]);
  if (isReplay) markReplay(response);
  return order;
}
