/** Builds commands with which a customer can verify an order without us, or repeat it. Pure. */
import type { LegRow } from '../orders/order-rows.js';
import { resourceOf } from '../../domain/resource.js';
import { toJsonInteger } from '../../domain/units.js';
import { withoutNull } from './answers.js';
import type { EnergyReading, OrderProof, OrderStory } from './data-shapes.js';
import type { OrderRecord, OrderRecords } from './order-records.js';
import { curlOfRequest } from './signed-snippets.js';

const IN_BLOCK = new Set(['included', 'solid']);

/** Public sources for independent verification. */
export interface Public {
  readonly explorerUrl: string | undefined;
  readonly checkNodeUrl: string;
}

/** Returns each transaction of the order that is in a block, with a link if an explorer is set. */
export function proofOf({ order, transactions }: OrderRecords, { explorerUrl, checkNodeUrl }: Public): OrderProof[] {
  const legs = order.legs ?? [];
  return transactions
    .filter(({ status, block_number: block }) => IN_BLOCK.has(status) && block !== null)
    .map((transaction) =>
      withoutNull<OrderProof>({
        purpose: transaction.purpose,
        txid: transaction.txid,
        owner_address: ownerOf(legs, transaction.txid),
        receive_address: order.receive_address,
        resource: transaction.purpose === 'activate' ? undefined : resourceOf(transaction.kind),
        energy: transaction.energy === null ? undefined : Number(transaction.energy),
        bandwidth: transaction.bandwidth === null ? undefined : Number(transaction.bandwidth),
        amount_sun: transaction.purpose === 'activate' ? undefined : Number(transaction.amount_sun),
        block_number: Number(transaction.block_number),
        block_id: transaction.block_id,
        block_timestamp: transaction.block_at?.toISOString(),
        explorer_url: explorerUrl?.replaceAll('{txid}', transaction.txid),
        check: checkOf(transaction.txid, checkNodeUrl),
      }),
    );
}

/** Undefined if nothing was read, or if the order was not delivered. */
export function receiverEnergyOf(order: OrderRecord): OrderStory['receiver_energy'] {
  const before = readingOf(order.before_energy, order.before_block);
  const after = readingOf(order.after_energy, order.after_block);
  if (order.status !== 'delivered' || (before ?? after) === undefined) return undefined;
  return withoutNull<NonNullable<OrderStory['receiver_energy']>>({ before, after });
}

function readingOf(energy: bigint | null, block: bigint | null): EnergyReading | undefined {
  return energy === null || block === null
    ? undefined
    : { energy: toJsonInteger(energy), block_number: toJsonInteger(block) };
}

function ownerOf(legs: readonly LegRow[], txid: string): string | undefined {
  return legs.find((leg) => leg.txid === txid || leg.reclaim_txid === txid)?.owner;
}

/** Queries a node of the reader's choice for the transaction and its result, with addresses in base58 as shown here. */
function checkOf(txid: string, nodeUrl: string): string {
  const ask = (call: string): string =>
    `curl -s "$NODE/walletsolidity/${call}" -H 'Content-Type: application/json' -d '{"value":"${txid}","visible":true}'`;
  return `NODE=${nodeUrl}; ${ask('gettransactionbyid')}; ${ask('gettransactioninfobyid')}`;
}

/** The request after parsing. */
export function requestBodyOf(order: OrderRecord): Record<string, unknown> {
  return {
    receive_address: order.receive_address,
    ...(order.energy !== null && { energy: Number(order.energy) }),
    ...(order.bandwidth !== null && { bandwidth: Number(order.bandwidth) }),
    ...(order.kind === 'rental' && order.activation_credits !== null && { activate: true }),
    ...(order.duration_sec !== null && { duration_sec: order.duration_sec }),
    ...(order.expected_uses !== null && { expected_uses: order.expected_uses }),
    ...(order.quote_id !== null && { quote_id: order.quote_id }),
  };
}

/**
 * Returns a command for the same purchase, signed by HMAC with the key from the environment. A redeemed quote cannot be
 * used again, so the command names the energy directly.
 */
export function curlOf(order: OrderRecord): string {
  const { quote_id: _, ...body } = requestBodyOf(order);
  return curlOfRequest({ path: order.kind === 'activation' ? '/v1/activate' : '/v1/orders', body, isOrder: true });
}
