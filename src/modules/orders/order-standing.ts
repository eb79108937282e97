import { timeText } from '../../domain/text.js';
import type { Order } from '../../platform/database/entities/order.entity.js';
import type { OrderDetails } from './order-history.js';

/** Returns the order's current state and its next step, as a sentence for the operator. Pure. */
export function describeStanding(details: OrderDetails): string {
  const { order, transactions } = details;
  if (order.isTest)
    return 'An order of a test project: its receiver determines the simulated outcome. Nothing is on chain.';
  const newest = transactions.at(-1);
  const expiry =
    newest === undefined
      ? ''
      : ` Its newest transaction expires at ${timeText(newest.expiresAt)} by the chain’s clock.`;
  switch (order.status) {
    case 'reserved':
      return 'Charged, capacity reserved, nothing sent yet: a worker will build and send its transactions.';
    case 'placed':
      return `A signed transaction may be under way. It is sent again until it is found on chain or proven dead.${expiry}`;
    case 'unresolved':
      return `There has been no proof of delivery or failure for a long time, so the outcome is open. It resolves itself when a node answers.${expiry}`;
    case 'refunded':
      return order.settled || order.reclaimedAt !== null
        ? `Proven dead or reclaimed; ${returnedIn(order)}.`
        : `Proven dead; ${returnedIn(order)}.`;
    case 'delivered':
      if (order.kind === 'activation') {
        return order.settled ? 'Activated; final.' : 'Activated; waiting for its block to become solid.';
      }
      if (order.reclaimedAt !== null)
        return `Delivered, and reclaimed at ${timeText(order.reclaimedAt)} by the chain’s clock. Finished.`;
      if (order.settled) {
        return `Delivered; final. Reclaimed when the chain’s head reaches ${at(order.endsAt)}. A transaction uses energy only up to its fee_limit, and ${order.bandwidth === null ? 'pays for its own bandwidth' : 'takes its bandwidth from the rental'}.`;
      }
      return 'Delivered in a block that is not solid yet. If the block is reverted, the same bytes are sent again.';
  }
}

const returnedIn = ({ keptCredits }: Order): string =>
  keptCredits === null
    ? 'the charge was returned'
    : 'the charge was returned except for the activation, which is final';

const at = (moment: Date | null): string => (moment === null ? 'its end' : timeText(moment));
