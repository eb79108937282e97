/** Assembles the page of an order from its records: sentence, timeline, money, proof, request, deliveries. Pure. */
import { requestIdIn } from '../../platform/support/purchase-reference.js';
import { burnPrice, rateText, trxOf } from '../../domain/conversion.js';
import { energy, toJsonInteger, type RateE8 } from '../../domain/units.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { energyPriceSun, savedSun } from '../orders/measured-use.js';
import { orderBody, orderItems } from '../orders/orders.dto.js';
import { entryBody } from '../statements/entries.dto.js';
import type { EntryRow } from '../statements/entry-rows.js';
import { money, timeOf, withoutNull } from './answers.js';
import type { LedgerLine, OperatorOrder, OrderDelivery, OrderStory } from './data-shapes.js';
import { itemShape } from './item-shape.js';
import { orderLine } from './order-list.js';
import { curlOf, proofOf, receiverEnergyOf, requestBodyOf, type Public } from './order-proof.js';
import type { DeliveryRecord, OrderRecord, OrderRecords } from './order-records.js';
import { refundOf, sentenceOf, timelineOf } from './order-texts.js';

/** Prefixes of keys that the service chose for orders without an Idempotency-Key. */
const OWN_KEY = /^(?:direct|quote|nonce|auto)_/;

export function ledgerLine(row: EntryRow): LedgerLine {
  const { credits: _, amount, ...body } = entryBody(row);
  return withoutNull<LedgerLine>({
    ...body,
    amount: money(row.credits),
    asset_amount: amount,
    order_key: body.order_key,
    deposit: body.deposit,
    asset: body.asset,
    usd_rate: body.usd_rate,
    txids: body.txids,
    reference: body.reference,
  });
}

export function orderPageOf(records: OrderRecords, places: Public, operator?: OperatorOrder): OrderStory {
  const { order, events } = records;
  return withoutNull<OrderStory>({
    sentence: sentenceOf(order),
    read_at: order.read_at.toISOString(),
    order: orderLine(order),
    actions: actionsOf(records),
    timeline: timelineOf(records),
    blocks_to_final: blocksToFinal(records),
    money: moneyOf(records),
    proof: proofOf(records, places),
    receiver_energy: receiverEnergyOf(order),
    request: requestOf(records),
    events: events
      .filter((event) => event.position !== null)
      .map((event) =>
        withoutNull<OrderStory['events'][number]>({
          id: event.name ?? '',
          type: event.type,
          position: toJsonInteger(event.position ?? 0n),
          timestamp: event.at.toISOString(),
          chain_timestamp: timeOf(event.chain_at),
        }),
      ),
    deliveries: records.deliveries.map(deliveryLine),
    raw: { ...orderBody({ ...order, extensions: records.extensions }) },
    curl: curlOf(order),
    why_refunded: refundOf(records),
    operator,
  });
}

/** True for a final rental with an end that can still be moved. */
export const isRunning = ({ status, kind, settled, reclaimed_at: reclaimedAt }: OrderRecord): boolean =>
  status === 'delivered' && kind === 'rental' && settled && reclaimedAt === null;

function actionsOf({ order, deliveries }: OrderRecords): OrderStory['actions'] {
  return [
    ...(isRunning(order) ? (['extend'] as const) : []),
    ...(deliveries.length > 0 ? (['resend'] as const) : []),
    ...(order.status === 'refunded' ? (['top_up'] as const) : []),
    ...(order.status === 'delivered' ? (['receipt'] as const) : []),
  ];
}

/** Counts from the newest of the order's blocks. Undefined before there is one, and if final blocks are not read. */
function blocksToFinal({ order, transactions }: OrderRecords): number | undefined {
  const blocks = transactions
    .filter(({ purpose, status }) => purpose !== 'reclaim' && (status === 'included' || status === 'solid'))
    .flatMap(({ block_number: block }) => (block === null ? [] : [block]));
  if (blocks.length === 0) return undefined;
  if (order.settled) return 0;
  if (order.final_block === null) return undefined;
  const newest = blocks.reduce((most, block) => (block > most ? block : most));
  return newest > order.final_block ? toJsonInteger(newest - order.final_block) : 0;
}

function moneyOf({ order, extensions, entries, energyFeeSun }: OrderRecords): OrderStory['money'] {
  const sum = (kind: EntryRow['kind']): bigint =>
    entries.filter((entry) => entry.kind === kind).reduce((total, entry) => total + entry.credits, 0n);
  const fee = order.energy_fee_sun ?? energyFeeSun;
  const burning =
    fee === undefined || order.energy === null
      ? undefined
      : burnPrice(energy(order.energy), fee, order.expected_uses ?? 1);
  return withoutNull<OrderStory['money']>({
    quoted: order.quote_id === null ? undefined : money(order.credits),
    charged: money(order.credits),
    price_sun: toJsonInteger(order.price_sun),
    price_trx: trxOf(order.price_sun),
    trx_usd: rateText(order.trx_usd_e8 as RateE8),
    ...itemsOf(order),
    burning_sun: burning === undefined ? undefined : toJsonInteger(burning),
    burning_trx: burning === undefined ? undefined : trxOf(burning),
    burning_as_of: burning === undefined ? undefined : order.energy_fee_sun === null ? 'now' : 'order',
    measured: measuredOf(order, extensions, fee),
    extensions: extensions.map(({ key, duration_sec, credits, at }) => ({
      key,
      duration_sec,
      charged: money(BigInt(credits)),
      at: new Date(at).toISOString(),
    })),
    refunded: sum('refund') === 0n ? undefined : money(sum('refund')),
    kept: order.kept_credits === null ? undefined : money(order.kept_credits),
    compensated: sum('compensation') === 0n ? undefined : money(sum('compensation')),
    entries: entries.map(ledgerLine),
  });
}

/** Returns the parts of an order of several, and the price of its energy, which alone compares with burning. */
function itemsOf(order: OrderRecord): Pick<OrderStory['money'], 'items' | 'energy_sun'> {
  const items = orderItems(order);
  if (items.length < 2) return {};
  return {
    items: items.map(itemShape),
    energy_sun: toJsonInteger(energyPriceSun(order)),
  };
}

/** Returns the use of a delivered rental as far as its solid blocks were read. Test orders use none. */
function measuredOf(
  order: OrderRecord,
  extensions: OrderRecords['extensions'],
  feeSun: bigint | undefined,
): OrderStory['money']['measured'] {
  if (order.kind !== 'rental' || order.status !== 'delivered' || order.test || feeSun === undefined) return undefined;
  const used = order.used_energy ?? 0n;
  const saved = savedSun(used, feeSun, { ...order, extensions });
  return withoutNull<NonNullable<OrderStory['money']['measured']>>({
    used_energy: toJsonInteger(used),
    calls: order.used_calls ?? 0,
    last_block: order.used_block === null ? undefined : toJsonInteger(order.used_block),
    saved_sun: toJsonInteger(saved),
    saved_trx: trxOf(saved),
  });
}

function requestOf({ order, key }: OrderRecords): OrderStory['request'] {
  return withoutNull<OrderStory['request']>({
    key_name: key?.name,
    key_id: key?.id,
    idempotency_key: order.key,
    is_own_key: isOwnKey(order),
    replays: toJsonInteger(order.replays ?? 0n),
    last_replayed_at: timeOf(order.replayed_at),
    request_id: requestIdIn(order.request_id),
    body: requestBodyOf(order),
  });
}

const isOwnKey = ({ key }: OrderRecord): boolean => OWN_KEY.test(key);

function deliveryLine(row: DeliveryRecord): OrderDelivery {
  return withoutNull<OrderDelivery>({
    id: toJsonInteger(row.id),
    webhook_id: row.webhook_id,
    url: maskedUrl(row.url),
    event_id: row.event_key,
    type: row.type,
    status: row.status,
    attempts: row.attempts,
    last_status: row.answer_status,
    last_error: row.fault,
    last_attempt_at: timeOf(row.attempted_at),
    next_attempt_at: timeOf(row.next_at),
  });
}
