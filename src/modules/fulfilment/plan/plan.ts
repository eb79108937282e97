/**
 * Decides an order's next steps from its recorded state alone. Pure: the same state gives the same plan, so a worker
 * that takes over after a crash continues exactly where the last one stopped.
 */
import type { OrderStatus } from '../../../domain/order-state.js';
import {
  attemptsOf,
  deathsOf,
  deliveryPurpose,
  liveTx,
  type ClaimedLeg,
  type ClaimedOrder,
  type ClaimedTx,
} from '../loop/claimed-order.js';
import type { ChainTxPurpose } from '../../../domain/order-state.js';

/** A transaction to build for a leg. */
export interface BuildStep {
  readonly leg: ClaimedLeg;
  readonly purpose: ChainTxPurpose;
  readonly attempt: number;
}

/** A recorded transaction to continue with. */
export interface TxStep {
  readonly leg: ClaimedLeg;
  readonly tx: ClaimedTx;
}

export interface Plan {
  readonly build: readonly BuildStep[];
  /** Recorded but not sent: to be signed and sent, or dropped if too old. */
  readonly send: readonly TxStep[];
  /** Possibly in a block: to be looked up, sent again, or proven dead. */
  readonly find: readonly TxStep[];
  /** Legs without a live sent transaction whose wallet cannot deliver: other wallets take them over. */
  readonly move: readonly ClaimedLeg[];
  /** Legs that can no longer deliver. Their capacity is returned. */
  readonly release: readonly ClaimedLeg[];
  /** Legs that must not be delivered any more. */
  readonly unwanted: ReadonlySet<ClaimedLeg>;
  /** True if all legs are active but hold less energy or bandwidth than was sold. */
  readonly topUp: boolean;
  /** True if the order cannot be delivered completely: reclaim the delivered part, then refund. */
  readonly undo: boolean;
  /** True if every leg has ended, so that the charge can be refunded. */
  readonly refund: boolean;
}

/** Deaths of a delivery before the order is refunded. Each takes about two minutes on chain. */
export const DELIVERY_DEATHS_MAX = 2;
/**
 * The same limit over all legs of an order that were moved. Without it, failing wallets could delay the order for
 * hours.
 */
const MOVED_DEATHS_MAX = 4;

const REFUNDABLE: ReadonlySet<OrderStatus> = new Set(['reserved', 'placed', 'delivered', 'unresolved']);

interface Draft {
  build: BuildStep[];
  send: TxStep[];
  find: TxStep[];
  move: ClaimedLeg[];
  release: ClaimedLeg[];
  unwanted: Set<ClaimedLeg>;
}

/** Plans a leg of an order that is to be delivered. */
function planDelivery(order: ClaimedOrder, leg: ClaimedLeg, draft: Draft): void {
  if (!isUndelivered(leg)) return;
  const purpose = deliveryPurpose(leg);
  const tx = liveTx(leg, purpose);
  // Until other wallets have capacity, the leg waits for its own wallet.
  if (!leg.canDeliver && isUnsent(tx)) draft.move.push(leg);
  else if (tx === undefined && awaitsActivation(order, leg)) return;
  else if (tx === undefined) draft.build.push({ leg, purpose, attempt: attemptsOf(leg, purpose) + 1 });
  else planTx(leg, tx, draft);
}

/** Returns true if the order's activation is in no block yet. TRON: nothing is delegated to an account before. */
function awaitsActivation(order: ClaimedOrder, leg: ClaimedLeg): boolean {
  return leg.kind !== 'activation' && order.legs.some((other) => isActivation(other) && isUndelivered(other));
}

const isActivation = ({ kind }: ClaimedLeg): boolean => kind === 'activation';
const isUndelivered = ({ status }: ClaimedLeg): boolean => status === 'reserved' || status === 'placed';

/** Returns true if no bytes of the attempt were sent. */
function isUnsent(tx: ClaimedTx | undefined): boolean {
  return tx === undefined || tx.status === 'built' || tx.status === 'signed';
}

function planTx(leg: ClaimedLeg, tx: ClaimedTx, draft: Draft): void {
  if (tx.status === 'built' || tx.status === 'signed') draft.send.push({ leg, tx });
  else if (tx.status === 'sending') draft.find.push({ leg, tx });
}

/** Plans a leg that is to be reclaimed: at the rental's end, or because the order is being undone. */
function planReturn(leg: ClaimedLeg, draft: Draft): void {
  const delivery = liveTx(leg, deliveryPurpose(leg));
  switch (leg.status) {
    case 'reserved':
    case 'placed':
      draft.unwanted.add(leg);
      // Sent bytes may still arrive, so first find their outcome. `send` drops those never sent.
      if (delivery === undefined) draft.release.push(leg);
      else planTx(leg, delivery, draft);
      return;
    case 'active':
      // Reclaim only a solid delegation: undelegating one that may still be reverted could take a sibling's stake.
      if (delivery?.status === 'solid' && !isActivation(leg)) planReclaim(leg, draft);
      return;
    case 'reclaiming':
      planReclaim(leg, draft);
      return;
    case 'reclaimed':
    case 'released':
      return;
  }
}

/** A leg becomes `reclaiming` only once a reclaim may have been sent, so continue an earlier record too. */
function planReclaim(leg: ClaimedLeg, draft: Draft): void {
  const tx = liveTx(leg, 'reclaim');
  if (tx === undefined) draft.build.push({ leg, purpose: 'reclaim', attempt: attemptsOf(leg, 'reclaim') + 1 });
  else planTx(leg, tx, draft);
}

function activeLegs(order: ClaimedOrder): readonly ClaimedLeg[] {
  return order.legs.filter((leg) => leg.status === 'active');
}

function fallsShort(order: ClaimedOrder): boolean {
  if (order.kind !== 'rental' || (order.status !== 'placed' && order.status !== 'unresolved')) return false;
  if (activeLegs(order).length !== order.legs.filter((leg) => leg.status !== 'released').length) return false;
  return energyOf(order) < (order.energy ?? 0n) || bandwidthOf(order) < (order.bandwidth ?? 0n);
}

/** Returns the energy that the active legs of an order deliver together. */
export function energyOf(order: ClaimedOrder): bigint {
  return activeLegs(order).reduce((sum, leg) => sum + (leg.energy ?? 0n), 0n);
}

/** Returns the units of bandwidth that the active legs of an order deliver together. */
export function bandwidthOf(order: ClaimedOrder): bigint {
  return activeLegs(order).reduce((sum, leg) => sum + (leg.bandwidth ?? 0n), 0n);
}

/** Returns true if a running rental is to be reclaimed: it has ended by the chain's clock, or reclaiming has begun. */
export function isEnding(order: ClaimedOrder, clockMs: number): boolean {
  if (!order.isSettled || order.kind !== 'rental') return false;
  if (order.legs.some((leg) => leg.status === 'reclaiming' || (leg.status === 'reclaimed' && !leg.isClosed)))
    return true;
  return order.endsAtMs !== undefined && order.endsAtMs <= clockMs;
}

/** Returns true if a leg's delivery stayed unsent for too long: no signer or no node is available. */
function isUnsendable(order: ClaimedOrder, leg: ClaimedLeg, unsentMaxSec: number): boolean {
  if (!isUndelivered(leg) || awaitsActivation(order, leg)) return false;
  const tx = liveTx(leg, deliveryPurpose(leg));
  // A delivery recorded as sent that reached no node is still searched for until it is dead.
  return isUnsent(tx) && leg.ageSec > unsentMaxSec;
}

/** Returns true if a top-up of a running rental has failed for good. Another one is decided separately. */
function isGivenUp(order: ClaimedOrder, leg: ClaimedLeg, unsentMaxSec: number): boolean {
  if (!order.isSettled || !isUndelivered(leg)) return false;
  return deliveryDeathsOf(leg) >= DELIVERY_DEATHS_MAX || isUnsendable(order, leg, unsentMaxSec);
}

const deliveryDeathsOf = (leg: ClaimedLeg): number => deathsOf(leg, deliveryPurpose(leg));

/** Returns true if the order can no longer be delivered completely. A delivered one only if a block is reverted. */
function isLost(order: ClaimedOrder, unsentMaxSec: number): boolean {
  if (order.status === 'delivered') return false;
  const movedDeaths = order.legs.reduce((sum, leg) => sum + (leg.status === 'released' ? deliveryDeathsOf(leg) : 0), 0);
  return order.legs.some(
    (leg) =>
      deliveryDeathsOf(leg) >= DELIVERY_DEATHS_MAX ||
      // Legs that died side by side were moved once each. The order is lost when a replacement dies too.
      (movedDeaths >= MOVED_DEATHS_MAX && leg.status !== 'released' && deliveryDeathsOf(leg) > 0) ||
      // An unresolved order makes no new attempt: its state only allows delivered or refunded.
      (order.status === 'unresolved' && leg.status === 'placed' && liveTx(leg, deliveryPurpose(leg)) === undefined) ||
      // Another party undelegated this leg before the order was complete. No other leg makes up for it.
      ((order.status === 'placed' || order.status === 'unresolved') && leg.status === 'reclaimed') ||
      isUnsendable(order, leg, unsentMaxSec),
  );
}

/** Returns true if nothing of a leg is left to decide or reclaim. An activation is kept once its block is solid. */
function hasEnded(leg: ClaimedLeg): boolean {
  if (leg.status === 'released' || leg.status === 'reclaimed') return true;
  return isActivation(leg) && leg.status === 'active' && liveTx(leg, 'activate')?.status === 'solid';
}

/**
 * Returns the steps an order needs now. `clockMs`: the chain's clock. `unsentMaxSec`: how long a leg may wait without
 * any sent bytes.
 */
export function planFor(order: ClaimedOrder, clockMs: number, unsentMaxSec: number): Plan {
  const isRefundable = !order.isSettled && REFUNDABLE.has(order.status);
  const undoing = isRefundable && (order.isUndoing || isLost(order, unsentMaxSec));
  const draft: Draft = { build: [], send: [], find: [], move: [], release: [], unwanted: new Set() };
  const returning = undoing || isEnding(order, clockMs);
  for (const leg of order.legs) {
    if (returning || isGivenUp(order, leg, unsentMaxSec)) planReturn(leg, draft);
    else planDelivery(order, leg, draft);
  }
  return {
    ...draft,
    topUp: !returning && fallsShort(order),
    undo: undoing && !order.isUndoing,
    refund: undoing && order.legs.every(hasEnded),
  };
}

/**
 * Returns true for deliveries of an order that is being undone, or of an ended rental. Those possibly on their way are
 * awaited, but not sent again.
 */
export function isUnwanted(order: ClaimedOrder, plan: Plan, step: TxStep): boolean {
  return (order.isUndoing || plan.undo || plan.unwanted.has(step.leg)) && step.tx.purpose !== 'reclaim';
}
