/** Formats an order's history: its current state in a sentence, then every event in time order. */
import { rateText, usdOfCredits } from '../../domain/conversion.js';
import type { Credits, RateE8 } from '../../domain/units.js';
import type { ChainTx } from '../../platform/database/entities/chain-tx.entity.js';
import type { Leg } from '../../platform/database/entities/leg.entity.js';
import type { Order } from '../../platform/database/entities/order.entity.js';
import { grouped, durationText, trxText, timeText } from '../../domain/text.js';
import { ForeignJson } from './cli-context.js';
import { partOf } from '../../domain/order-items.js';
import { creditsText, fields, fittedTable, paragraph, table } from './format.js';
import type { OrderDetails, OrderMoment } from '../orders/order-history.js';
import { orderItems } from '../orders/orders.dto.js';
import { describeStanding } from '../orders/order-standing.js';
import type { Outlook } from '../simulation/transfer-outlook.js';
import { useJson, useText } from './order-use.js';

const PROJECT_AND_KEY = [1, 2];

/** Formats orders as a table of at most 80 columns. `names`: the projects' names by their ids. */
export function orderTable(orders: readonly Order[], names: ReadonlyMap<string, string>): string {
  const human = fittedTable(
    ['order', 'project', 'key', 'status', 'created (UTC)'],
    orders.map((order) => [
      order.id.toString(),
      names.get(order.projectId) ?? order.projectId,
      order.key,
      order.needsAttention ? `${order.status} !` : order.status,
      timeText(order.createdAt).slice(0, 'YYYY-MM-DD HH:MM'.length),
    ]),
    PROJECT_AND_KEY,
    'No orders match.',
  );
  return orders.some(({ needsAttention }) => needsAttention) ? `${human}\n\n! needs attention` : human;
}

/** Formats orders one after another, with all that the list knows of each. */
export function orderEntries(orders: readonly Order[], names: ReadonlyMap<string, string>): string {
  return table(
    [
      'order',
      'project',
      'key',
      'kind',
      'status',
      'receiver',
      'energy',
      'bandwidth',
      'activation',
      'for',
      'USD',
      'created',
      'notes',
    ],
    orders.map((order) => [
      order.id.toString(),
      `${names.get(order.projectId) ?? ''} (${order.projectId})`,
      order.key,
      order.kind,
      order.status,
      order.receiveAddress,
      order.energy,
      order.bandwidth,
      order.activationCredits === null ? null : true,
      order.durationSec === null ? null : durationText(order.durationSec),
      usdOfCredits(order.credits as Credits),
      order.createdAt,
      notes(order),
    ]),
    'No orders match.',
  );
}

function notes(order: Order): string {
  return [
    order.isTest ? 'test' : '',
    order.needsAttention ? 'needs attention' : '',
    order.settled ? 'settled' : '',
    order.reclaimedAt === null ? '' : 'reclaimed',
    order.reference === null ? '' : `reference ${order.reference}`,
  ]
    .filter((note) => note !== '')
    .join(', ');
}

/** Formats the whole history for the operator. `outlook` is set for a rental in use. */
export function detailsText(history: OrderDetails, outlook: Outlook | undefined): string {
  const { order } = history;
  return [
    paragraph('', describeStanding(history)),
    '',
    fields([
      ['Order', `${order.id.toString()} (${order.kind}), key ${order.key}`],
      ['Project', order.projectId],
      ['Receiver', order.receiveAddress],
      ['Energy', order.energy === null ? null : `${grouped(order.energy)} for ${durationText(order.durationSec ?? 0)}`],
      ['Bandwidth', order.bandwidth],
      ['Delivered', deliveredText(order)],
      ['Used', usedText(history)],
      ['Price', `${trxText(order.priceSun)} at ${rateText(order.trxUsdE8 as RateE8)} USD/TRX`],
      ...itemFields(order),
      ['Charged', creditsText(order.credits as Credits)],
      ['Kept', order.keptCredits === null ? null : `${creditsText(order.keptCredits as Credits)} for the activation`],
      ['Extended', extendedText(history)],
      [
        'Status',
        `${order.status}${order.settled ? ', settled' : ''}${order.needsAttention ? ', needs attention' : ''}`,
      ],
      ['Error', order.error === null ? null : `${order.errorCode ?? ''} ${order.error}`],
      ['Reference', order.reference],
      ['Metadata', order.metadata === null ? null : JSON.stringify(order.metadata)],
      ['Request', order.requestId],
      ['Due', dueText(history)],
    ]),
    ...useText(order, outlook),
    '',
    'Legs',
    legTable(history),
    '',
    'Transactions',
    transactionTable(history),
    ...usageText(history),
    '',
    'Events (database time)',
    timeline(history),
  ].join('\n');
}

/** Returns the price and the charge of each part; nothing for an order of a single part. */
function itemFields(order: Order): [string, string][] {
  const items = orderItems({
    energy: order.energy,
    price_sun: order.priceSun,
    credits: order.credits,
    bandwidth: order.bandwidth,
    bandwidth_price_sun: order.bandwidthPriceSun,
    bandwidth_credits: order.bandwidthCredits,
    activation_price_sun: order.activationPriceSun,
    activation_credits: order.activationCredits,
  });
  if (items.length < 2) return [];
  return items.map((item) => [`Price of ${item.kind}`, `${trxText(item.priceSun)}, ${creditsText(item.credits)}`]);
}

function deliveredText({ bandwidth, deliveredEnergy, deliveredBandwidth }: Order): string | null {
  if (bandwidth === null || deliveredEnergy === null || deliveredBandwidth === null) return null;
  return `${grouped(deliveredEnergy)} energy, ${grouped(deliveredBandwidth)} bandwidth`;
}

const at = (moment: Date | null): string => (moment === null ? 'its end' : timeText(moment));

function usedText({ order, use }: OrderDetails): string | null {
  if (order.kind !== 'rental' || order.isTest || order.deliveredAt === null) return null;
  if (use === null) return 'no energy in the final blocks read';
  const calls = use.calls === 1 ? 'one call' : `${use.calls.toString()} calls`;
  return `${grouped(use.energy)} energy in ${calls}, up to block ${use.lastBlock.toString()}`;
}

function extendedText({ order, extensions }: OrderDetails): string | null {
  if (extensions.length === 0) return null;
  const seconds = extensions.reduce((sum, { durationSec }) => sum + durationSec, 0);
  const credits = extensions.reduce((sum, extension) => sum + extension.credits, 0n);
  const times = extensions.length === 1 ? 'once' : `${extensions.length.toString()} times`;
  return `${times}, by ${durationText(seconds)} to ${at(order.endsAt)} of the chain, for ${creditsText(credits as Credits)}`;
}

function dueText({ order, readAt }: OrderDetails): string {
  if (order.nextRunAt === null) return 'nothing is due';
  if (order.leaseUntil !== null && order.leaseUntil > readAt) {
    const claim = `claimed by a worker until ${timeText(order.leaseUntil)} (fence ${order.fence.toString()})`;
    return `${timeText(order.nextRunAt)}; ${claim}`;
  }
  return `${timeText(order.nextRunAt)}${order.nextRunAt <= readAt ? ' (overdue)' : ''}`;
}

function legTable({ legs, wallets }: OrderDetails): string {
  return table(
    ['leg', 'part', 'wallet', 'amount', 'delivers', 'status', 'active since (chain)', 'why', 'ended otherwise'],
    legs.map((leg) => [
      leg.legNo.toString(),
      partOf(leg.kind),
      wallets.get(leg.walletId) ?? leg.walletId.toString(),
      trxText(leg.amountSun),
      leg.energy ?? leg.bandwidth,
      leg.status,
      leg.activeAt,
      whyText(leg),
      leg.closedAt === null
        ? null
        : `${timeText(leg.closedAt)} ${leg.closedByTxid?.toString('hex') ?? ''} ${leg.closedReason ?? ''}`.trim(),
    ]),
  );
}

const WHY = {
  stake: 'free top-up: the network’s stake grew',
  usage: 'free top-up: a rental that ended beside it left used energy on the receiver',
} as const;

/** Returns the reason for a leg that was not sold. */
function whyText({ topUp, topUpCause }: Leg): string | null {
  if (topUpCause !== null) return WHY[topUpCause];
  return topUp ? 'free top-up' : null;
}

/** Formats the receiver's energy at the time that reclaims beside its other rentals were built. */
function usageText({ order, usage }: OrderDetails): string[] {
  if (usage.length === 0) return [];
  return [
    '',
    'Energy of the receiver before reclaims beside other rentals',
    table(
      ['reclaim of', 'used', 'of', 'reclaimed', 'at block', 'leftover usage', 'weighed'],
      usage.map((each) => [
        each.orderId === order.id ? 'this order' : `order ${each.orderId.toString()}`,
        grouped(each.usedEnergy),
        grouped(each.limitEnergy),
        grouped(each.takenEnergy),
        each.readBlock.toString(),
        each.leftEnergy === null ? null : grouped(each.leftEnergy),
        each.weighedAt,
      ]),
    ),
  ];
}

function transactionTable({ transactions, legs }: OrderDetails): string {
  const legNo = new Map(legs.map((leg) => [leg.id, leg.legNo]));
  return table(
    ['leg', 'purpose', 'try', 'status', 'txid', 'block', 'sends', 'expires (chain)'],
    transactions.map((transaction) => [
      legNo.get(transaction.legId)?.toString(),
      transaction.purpose,
      transaction.attempt.toString(),
      transaction.status,
      transaction.txid.toString('hex'),
      transaction.blockNumber?.toString(),
      transaction.sends,
      transaction.expiresAt,
    ]),
    'None yet.',
  );
}

interface Happening {
  readonly at: Date;
  readonly text: string;
}

function timeline(history: OrderDetails): string {
  const nameOf = namesIn(history);
  const names = new Map(history.transactions.map((transaction) => [transaction.id, nameOf(transaction)]));
  const happenings: Happening[] = [
    { at: history.order.createdAt, text: `accepted as ${history.order.kind} for ${history.order.receiveAddress}` },
    ...history.credits.map((entry) => ({
      at: entry.createdAt,
      text: `${entry.kind} of ${grouped(entry.credits)} credits`,
    })),
    ...history.extensions.map((extension) => ({
      at: extension.createdAt,
      text: `extended by ${durationText(extension.durationSec)} under key ${extension.key}`,
    })),
    ...history.transactions.map((transaction) => ({ at: transaction.createdAt, text: `built ${nameOf(transaction)}` })),
    ...history.broadcasts.map((sent) => ({
      at: sent.sentAt,
      text: `sent ${names.get(sent.chainTxId) ?? 'a transaction'} to ${sent.node}: ${sent.answer}${sent.message === null ? '' : ` (${sent.message})`}`,
    })),
    ...history.events.filter(isShown).map((event) => ({
      at: event.at,
      text: `${momentText(event)}${event.chainAt === null ? '' : ` (chain: ${timeText(event.chainAt)})`}`,
    })),
  ];
  return happenings
    .sort((left, right) => left.at.getTime() - right.at.getTime())
    .map(({ at: moment, text }) => paragraph(`${moment.toISOString().slice(0, 23).replace('T', ' ')}  `, text))
    .join('\n');
}

/** Acceptance, extensions and compensations are shown by their own records. */
function isShown({ type }: OrderMoment): boolean {
  return type !== 'order.created' && type !== 'order.compensated' && type !== 'order.extended';
}

function momentText({ type, fromStatus, toStatus }: OrderMoment): string {
  return fromStatus === null || toStatus === null ? (type ?? '') : `${fromStatus} → ${toStatus}`;
}

/** Returns the name of a transaction; in an order of energy and bandwidth, with its resource. */
function namesIn({ order, legs }: OrderDetails): (transaction: ChainTx) => string {
  const parts = new Map(legs.map((leg) => [leg.id, partOf(leg.kind)]));
  return ({ purpose, txid, attempt, legId }) => {
    const isNamed = order.bandwidth !== null && purpose !== 'activate';
    const what = isNamed ? `${purpose} of ${parts.get(legId) ?? 'a leg'}` : purpose;
    return `${what} ${txid.toString('hex').slice(0, 12)}… (attempt ${attempt.toString()})`;
  };
}

/** Returns the history for programs. Omits signatures: together with the bytes, a node would accept them. */
export function detailsJson(history: OrderDetails, outlook: Outlook | undefined): Record<string, unknown> {
  const { order, legs, transactions, broadcasts, events, extensions, credits, wallets } = history;
  return {
    standing: describeStanding(history),
    ...(outlook !== undefined && { use: useJson(order, outlook) }),
    order: Object.assign({}, order, { metadata: new ForeignJson(order.metadata) }),
    legs: legs.map((leg) => Object.assign({}, leg, { wallet: wallets.get(leg.walletId) })),
    transactions: transactions.map(({ signature: _signature, ...transaction }) => transaction),
    broadcasts,
    events,
    extensions: extensions.map(({ requestHash: _hash, ...extension }) => extension),
    used: history.use,
    credits: credits.map(({ kind, credits: moved, createdAt }) => ({ kind, credits: moved, createdAt })),
  };
}
