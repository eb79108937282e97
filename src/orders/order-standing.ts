import { timeText } from '../domain/text.js';
import type { OrderDetails } from './order-history.js';

/** Returns the order's current state and its next step, as a sentence for the operator. Pure. */
export function standing(details: OrderDetails): string {
  const { order, transactions } = details;
  if (order.isTest) return 'An order of a test project: it is played, by its receiver, and nothing of it is on chain.';
  const newest = transactions.at(-1);
  const expiry =
    newest === undefined ? '' : ` Its newest transaction expires at ${timeText(newest.expiresAt)} of the chain.`;
  switch (order.status) {
    case 'reserved':
      return 'Charged, capacity held, nothing sent yet: a worker will build and send its transactions.';
    case 'placed':
      return `A signed transaction may be on its way: it is looked for, and sent again, until it is found or proven dead.${expiry}`;
    case 'unresolved':
      return `No proof either way for long, so the outcome is open. It resolves itself once a node answers.${expiry}`;
    case 'refunded':
      return order.settled || order.reclaimedAt !== null
        ? 'Proven never to have happened, or undone; the charge is back.'
        : 'Proven never to happen; the charge is back.';
    case 'delivered':
      if (order.kind === 'activation') {
        return order.settled ? 'Activated, for good.' : 'Activated; waiting for its block to become solid.';
      }
      if (order.reclaimedAt !== null)
        return `Delivered and reclaimed at ${timeText(order.reclaimedAt)} of the chain. Finished.`;
      if (order.settled) {
        return `Delivered, for good. Reclaimed when the chain's head reaches ${at(order.endsAt)}. Each transaction uses no more of the energy than its fee_limit pays for, and pays its bandwidth itself.`;
      }
      return 'Delivered in a block that is not solid yet; should it be reverted, the same bytes are sent again.';
  }
}

const at = (moment: Date | null): string => (moment === null ? 'its end' : timeText(moment));
