/** Decides the next move of a test order, and the delay after it, from its recorded state and receiver alone. Pure. */
import { InvariantError } from '../../domain/errors.js';
import type { OrderKind, OrderStatus } from '../../domain/order-state.js';
import { testAddressName } from '../../domain/test-addresses.js';
import type { TestMove } from '../order-records/test-order-transitions.js';

export interface PlayedOrder {
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly isSettled: boolean;
  readonly receiver: string;
}

export interface NextMove {
  readonly move: TestMove;
  /** Seconds until the move after it; undefined for the rental's end, or if there is none. */
  readonly thenSec: number | undefined;
}

/** Seconds after `placed`: about a block, as on a healthy chain. */
const DELIVERED_SEC = 3;
/** Longer than `POST /v1/energy/rent` holds its answer, and than most clients wait. */
const LATE_SEC = 60;
/** A real order becomes unresolved after ten minutes; that is too long for a test. */
const UNRESOLVED_SEC = 5;
const RESOLVED_SEC = 20;
/** Shorter than on chain, where a block is solid after about a minute. */
const SETTLED_SEC = 10;

/** Returns the next move of an order. Throws InvariantError if the order has ended. */
export function nextMove({ kind, status, isSettled, receiver }: PlayedOrder): NextMove {
  const name = testAddressName(receiver);
  switch (status) {
    case 'reserved':
      if (name === 'delivered late') return { move: 'place', thenSec: LATE_SEC };
      return { move: 'place', thenSec: name === 'unresolved then delivered' ? UNRESOLVED_SEC : DELIVERED_SEC };
    case 'placed':
      if (name === 'refunded') return { move: 'refund', thenSec: undefined };
      if (name === 'unresolved then delivered') return { move: 'set aside', thenSec: RESOLVED_SEC };
      return { move: 'deliver', thenSec: SETTLED_SEC };
    case 'unresolved':
      return { move: 'deliver', thenSec: SETTLED_SEC };
    case 'delivered':
      if (!isSettled) return { move: 'settle', thenSec: undefined };
      if (kind === 'rental') return { move: 'end', thenSec: undefined };
      break;
    case 'refunded':
      break;
  }
  throw new InvariantError('what is over is not played on');
}
