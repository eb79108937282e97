/** The use of a rental's energy and the obstacles to it, for `orders explain`. Pure. */
import { grouped, trxText } from '../../domain/text.js';
import type { OrderDetails } from '../orders/order-history.js';
import type { Outlook } from '../simulation/transfer-outlook.js';
import type { Order } from '../../platform/database/entities/order.entity.js';
import { paragraph } from './format.js';

/** True while the receiver has the energy of this order or is about to get it. */
export function isInUse({ order }: OrderDetails): boolean {
  return order.kind === 'rental' && !order.isTest && order.reclaimedAt === null && order.status !== 'refunded';
}

/** TRON: `fee_limit` divided by the energy price caps what a transaction may use, also of rented energy. */
export function useText(order: Order, outlook: Outlook | undefined): string[] {
  const energy = energyOf(order);
  if (outlook === undefined || energy === undefined) return [];
  const { energyFeeSun, failure } = outlook;
  const bandwidth = order.bandwidth === null ? 'rented energy pays no bandwidth' : 'its bandwidth is rented too';
  const limit =
    energyFeeSun === undefined
      ? 'The energy price is unknown at present.'
      : `A transaction that uses all ${grouped(energy)} energy needs a fee_limit of ${trxText(energy * energyFeeSun)} ` +
        `(${grouped(energy)} × ${energyFeeSun.toString()} sun).`;
  return [
    '',
    paragraph('', `The transaction's fee_limit also caps rented energy, and ${bandwidth}. ${limit}`),
    ...(failure === undefined ? [] : [paragraph('', `A token transfer from the receiver would fail now: ${failure}`)]),
  ];
}

/** Returns the same for programs. */
export function useJson(order: Order, { energyFeeSun, failure }: Outlook): Record<string, unknown> {
  const energy = energyOf(order);
  const isPriced = energy !== undefined && energyFeeSun !== undefined;
  return {
    energyFeeSun: energyFeeSun ?? null,
    feeLimitSun: isPriced ? energy * energyFeeSun : null,
    transferFailure: failure ?? null,
  };
}

function energyOf({ energy, deliveredEnergy }: Order): bigint | undefined {
  return deliveredEnergy ?? energy ?? undefined;
}
