/** Words an order: one sentence, its timeline, and the reason for a refund. Pure; the two clocks are never compared. */
import { partOf } from '../../domain/order-items.js';
import { money, withoutNull } from './answers.js';
import type { OrderMoment, RefundReason } from './data-shapes.js';
import type { EventRecord, OrderRecord, OrderRecords, TransactionRecord } from './order-records.js';

const HAPPENED: Readonly<Record<string, string>> = {
  'order.created': 'Accepted and charged',
  'order.delivered': 'Delivered',
  'order.settled': 'Final: its block can no longer be reverted',
  'order.unresolved': 'Outcome open: no proof of delivery or failure yet',
  'order.refunded': 'Refunded',
  'order.reverted': 'Block reverted: the same transaction is sent again',
  'order.extended': 'Extended',
  'order.ended': 'Rental ended: energy reclaimed',
  'order.ended_early': 'Ended early by a transaction that was not ours',
  'order.compensated': 'Compensated',
};

const PURPOSES = { delegate: 'Delegation', reclaim: 'Reclaim', activate: 'Activation' } as const;

/** Names a transaction; in an order of several parts, with its resource. */
function nameOf({ purpose, kind }: TransactionRecord, { bandwidth }: OrderRecord): string {
  const isNamed = bandwidth !== null && purpose !== 'activate';
  return `${PURPOSES[purpose]}${isNamed ? ` of ${partOf(kind)}` : ''}`;
}

function happenedIn({ bandwidth, kept_credits: kept }: OrderRecord, type: string): string {
  if (type === 'order.ended' && bandwidth !== null) return 'Rental ended: energy and bandwidth reclaimed';
  if (type === 'order.refunded' && kept !== null) return 'Refunded, except for the activation';
  return HAPPENED[type] ?? type;
}

const IN_BLOCK = new Set(['included', 'solid']);

/** Formats a duration: `3.4 s`, `41 min`, `5 h 12 min`. */
function spanText(ms: number): string {
  if (ms < 90_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes.toString()} min`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours < 48) return rest === 0 ? `${hours.toString()} h` : `${hours.toString()} h ${rest.toString()} min`;
  return `${Math.round(hours / 24).toString()} d`;
}

export function sentenceOf(order: OrderRecord): string {
  const inTime = order.delivered_in_ms === null ? '' : ` in ${spanText(order.delivered_in_ms)}`;
  switch (order.status) {
    case 'reserved':
      return 'Charged, capacity reserved; the transaction is about to be sent.';
    case 'placed':
      return 'Sent; waiting for a block.';
    case 'unresolved':
      return 'The outcome is open: there is no proof of delivery or failure yet. The order resolves itself, and nothing more is charged.';
    case 'refunded':
      return order.kept_credits === null
        ? 'Not delivered; the charge was returned in full.'
        : 'Not delivered; the charge was returned except for the activation, which is final.';
    case 'delivered':
      if (order.kind === 'activation')
        return `Activated${inTime}${order.settled ? '; final' : '; waiting for its block to be final'}.`;
      if (order.reclaimed_at !== null) return `Delivered${inTime}; the rental has ended.`;
      return `Delivered${inTime}; ${endOf(order)}.`;
  }
}

function endOf({ ends_at: endsAt, chain_at: chainAt, bandwidth }: OrderRecord): string {
  if (endsAt === null) return 'the rental is running';
  if (chainAt === null)
    return `ends at ${endsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC by the chain’s clock`;
  const leftMs = endsAt.getTime() - chainAt.getTime();
  const rented = bandwidth === null ? 'the energy is' : 'energy and bandwidth are';
  return leftMs > 0 ? `ends in ${spanText(leftMs)}` : `the rental is over, and ${rented} being reclaimed`;
}

/**
 * Returns the moments in order of our clock. A moment known only by the chain's clock follows the one it belongs to.
 */
export function timelineOf({ order, events, transactions }: OrderRecords): OrderMoment[] {
  const ours: (OrderMoment & { readonly at: string })[] = [];
  if (!events.some(({ type }) => type === 'order.created')) {
    ours.push({ what: 'Accepted and charged', at: order.created_at.toISOString() });
  }
  for (const { type, at, chain_at: chainAt } of events) {
    const moment = { what: happenedIn(order, type), at: at.toISOString() };
    ours.push(chainAt === null ? moment : { ...moment, chain_at: chainAt.toISOString() });
  }
  for (const transaction of transactions) {
    const { txid, sent_at: sentAt, block_number: block, block_at: blockAt, status } = transaction;
    const name = nameOf(transaction, order);
    if (sentAt === null) continue;
    ours.push({ what: `${name} sent`, at: sentAt.toISOString(), txid });
    if (block !== null && blockAt !== null && IN_BLOCK.has(status)) {
      ours.push({
        what: `${name} in block ${block.toString()}`,
        at: sentAt.toISOString(),
        chain_at: blockAt.toISOString(),
        txid,
        block_number: Number(block),
      });
    }
  }
  const sorted = ours.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  // The time of a block is known only by the chain's clock.
  return sorted.map(({ at, ...moment }) => (moment.block_number === undefined ? { ...moment, at } : moment));
}

/** Recommended action by the order's error code. */
const ADVICE: Readonly<Record<string, string>> = {
  SUPPLIER_REFUSED:
    'You owe nothing for this order. Order again with a new Idempotency-Key: the old one keeps returning this order.',
};

/** Returns the reason for a refund; undefined if the order was not refunded. */
export function refundOf(records: OrderRecords): RefundReason | undefined {
  const { order, events, entries } = records;
  if (order.status !== 'refunded') return undefined;
  const refund = entries.find(({ kind }) => kind === 'refund');
  const refunded = events.findLast(({ type }) => type === 'order.refunded');
  const code = order.error_code ?? 'SUPPLIER_REFUSED';
  return withoutNull<RefundReason>({
    summary: order.error ?? 'The order could not be delivered. Its charge was returned.',
    error_code: code,
    refunded: refund === undefined ? undefined : money(refund.credits),
    refunded_at: refunded?.at.toISOString() ?? refund?.at,
    evidence: evidenceOf(records, refunded),
    advice: ADVICE[code] ?? ADVICE['SUPPLIER_REFUSED'] ?? '',
  });
}

type Evidence = RefundReason['evidence'][number];

function evidenceOf({ order, transactions, entries }: OrderRecords, refunded: EventRecord | undefined): Evidence[] {
  const { kept_credits: kept } = order;
  const charge = entries.find(({ kind }) => kind === 'charge');
  const refund = entries.find(({ kind }) => kind === 'refund');
  return [
    {
      at: order.created_at.toISOString(),
      says: `Accepted; ${charge === undefined ? 'charged' : `$${money(-charge.credits).usd} charged`}.`,
    },
    ...(transactions.length === 0
      ? [{ says: 'No transaction was signed, so nothing of this order can be on chain.' }]
      : transactions.flatMap((transaction) => saidOf(transaction, order))),
    ...(refund === undefined
      ? []
      : [
          {
            at: new Date(refund.at).toISOString(),
            says: `$${money(refund.credits).usd} returned: ${kept === null ? 'the full charge' : 'the charge without the activation'}.`,
          },
        ]),
    ...(kept === null ? [] : [{ says: `$${money(kept).usd} kept for the activation: it is in a final block.` }]),
    ...(refunded === undefined
      ? []
      : [{ at: refunded.at.toISOString(), says: 'The order is refunded; this is final.' }]),
  ];
}

function saidOf(transaction: TransactionRecord, order: OrderRecord): Evidence[] {
  const { txid, status, sent_at: sentAt, expires_at: expiresAt } = transaction;
  const { block_number: block, block_at: blockAt } = transaction;
  const name = `${nameOf(transaction, order)} ${txid}`;
  const sent: Evidence[] =
    sentAt === null
      ? [{ says: `${name} was signed but never sent.` }]
      : [{ at: sentAt.toISOString(), says: `${name} was sent.` }];
  if (status === 'dead') {
    const says = `${name} can no longer be included: it has expired, and no final block up to its expiration contains it.`;
    return [...sent, { chain_at: expiresAt.toISOString(), says }];
  }
  if (status === 'dropped') return [...sent, { says: `${name} was dropped before it was sent.` }];
  if (block !== null && blockAt !== null) {
    return [...sent, { chain_at: blockAt.toISOString(), says: `${name} is in block ${block.toString()}.` }];
  }
  return sent;
}
