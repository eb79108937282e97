/** Sets the status and headers of an order, for first answers and replays alike (docs/interface.md §9). */
import type { Response } from 'express';
import { isPending } from '../../domain/order-state.js';
import type { OrderAnswer } from './orders.service.js';
import type { OrderBody } from './orders.dto.js';

/** Marks the answer as a replay of an earlier request. */
export function markReplay(response: Response): void {
  response.setHeader('Idempotency-Replayed', 'true');
}

/** Answers 202 with a Location while the order is pending, and 200 once it is delivered or refunded. */
export function answerOrder(response: Response, { body, isReplay }: OrderAnswer): OrderBody {
  response.status(isPending(body.status) ? 202 : 200);
  if (isPending(body.status)) response.setHeader('Location', `/v1/orders/${encodeURIComponent(body.key)}`);
  if (isReplay) markReplay(response);
  return body;
}
