/** Renders the parts of an order that only operators see: legs, attempts, broadcasts and evidence. Pure. */
import { partOf } from '../../domain/order-items.js';
import { toJsonInteger } from '../../domain/units.js';
import type { OrderDetails } from '../orders/order-history.js';
import { timeOf, withoutNull } from './answers.js';
import type { OperatorOrder } from './data-shapes.js';

export function operatorOrder(
  details: OrderDetails,
  project: { readonly id: string; readonly name: string },
  standing: string,
): OperatorOrder {
  const { order, legs, transactions, broadcasts, wallets } = details;
  const legNo = new Map(legs.map((leg) => [leg.id, leg.legNo]));
  const txids = new Map(transactions.map(({ id, txid }) => [id, txid.toString('hex')]));
  return {
    standing,
    needs_attention: order.needsAttention,
    project,
    legs: legs.map((leg) =>
      withoutNull<OperatorOrder['legs'][number]>({
        leg_no: leg.legNo,
        part: partOf(leg.kind),
        wallet: wallets.get(leg.walletId) ?? leg.walletId.toString(),
        status: leg.status,
        amount_sun: toJsonInteger(leg.amountSun),
        energy: leg.energy === null ? undefined : toJsonInteger(leg.energy),
        bandwidth: leg.bandwidth === null ? undefined : toJsonInteger(leg.bandwidth),
        active_at: timeOf(leg.activeAt),
        closed_at: timeOf(leg.closedAt),
        closed_reason: leg.closedReason,
      }),
    ),
    attempts: transactions.map((transaction) =>
      withoutNull<OperatorOrder['attempts'][number]>({
        leg_no: legNo.get(transaction.legId),
        purpose: transaction.purpose,
        attempt: transaction.attempt,
        status: transaction.status,
        txid: transaction.txid.toString('hex'),
        sends: transaction.sends,
        expires_at: transaction.expiresAt.toISOString(),
        block_number: transaction.blockNumber === null ? undefined : toJsonInteger(transaction.blockNumber),
        fee_sun: transaction.feeSun === null ? undefined : toJsonInteger(transaction.feeSun),
        evidence: transaction.evidence,
      }),
    ),
    broadcasts: broadcasts.map((sent) =>
      withoutNull<OperatorOrder['broadcasts'][number]>({
        at: sent.sentAt.toISOString(),
        txid: txids.get(sent.chainTxId),
        node: sent.node,
        answer: sent.answer,
        message: sent.message,
      }),
    ),
  };
}
