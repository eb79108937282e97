/** Answers with orders, for first requests and replays alike (docs/interface.md §9). */
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { isPending } from '../../domain/order-state.js';
import { withDeadline } from '../../platform/support/clock.js';
import { OrdersByKey } from './order-rows.js';
import { orderBody, type OrderBody } from './orders.dto.js';
import type { Accepted } from './purchase.js';
import { OrderWaits } from './order-waits.js';

/** An order to answer with. `isReplay`: an earlier request created it. */
export interface OrderAnswer {
  readonly body: OrderBody;
  readonly isReplay: boolean;
}

/** Limit of the read after a wait. */
const READ_LIMIT_MS = 1000;

@Injectable()
export class OrderAnswers {
  constructor(
    private readonly ordersByKey: OrdersByKey,
    private readonly orderWaits: OrderWaits,
  ) {}

  /** Returns the project's order of this key; undefined if none exists or another project has it. */
  async find(projectId: string, key: string): Promise<OrderBody | undefined> {
    const row = await this.ordersByKey.find(projectId, key);
    return row === undefined ? undefined : orderBody(row);
  }

  /**
   * Returns the order once it is delivered or refunded, or after `waitSec` in its current state. Holds no database
   * connection meanwhile.
   */
  async hold({ row, isReplay }: Accepted, projectId: string, waitSec: number): Promise<OrderAnswer> {
    const body = orderBody(row);
    if (waitSec <= 0 || !isPending(row.status)) return { body, isReplay };
    await this.orderWaits.waitForOutcome(projectId, row.id, waitSec);
    // The order is taken. If it cannot be read again in time, answer with its known state.
    const found = withDeadline(this.find(projectId, row.key), READ_LIMIT_MS, 'the order after the wait');
    const latest = await found.catch(() => undefined);
    return { body: latest ?? body, isReplay };
  }
}

/** Answers 202 with a Location while the order is pending, and 200 once it is delivered or refunded. */
export function answerOrder(response: Response, { body, isReplay }: OrderAnswer): OrderBody {
  response.status(isPending(body.status) ? 202 : 200);
  if (isPending(body.status)) response.setHeader('Location', `/v1/orders/${encodeURIComponent(body.key)}`);
  if (isReplay) markReplay(response);
  return body;
}

/** Marks the answer as a replay of an earlier request. */
export function markReplay(response: Response): void {
  response.setHeader('Idempotency-Replayed', 'true');
}
