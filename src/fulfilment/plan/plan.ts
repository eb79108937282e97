/**
 * What an order needs next, decided from its recorded state alone. Pure: the same state gives the same plan, so a
 * worker that takes over after a crash goes on exactly where the last one was.
 */
import type { OrderStatus } from '../../domain/order-state.js';
import {
  attemptsOf,
  deathsOf,
  deliveryPurpose,
  liveTx,
  type ClaimedLeg,
  type ClaimedOrder,
  type ClaimedTx,
} from '../loop/claimed-order.js';
import type { ChainTxPurpose } from '../../domain/order-state.js';

/** A transaction to make for a leg. */
export interface BuildStep {
  readonly leg: ClaimedLeg;
  readonly purpose: ChainTxPurpose;
  readonly attempt: number;
}

/** A recorded transaction to go on with. */
export interface TxStep {
  readonly leg: ClaimedLeg;
  readonly tx: ClaimedTx;
}

export interface Plan {
  readonly build: readonly BuildStep[];
  /** Recorded, not yet sent: to be signed and sent, or dropped when too old. */
  readonly send: readonly TxStep[];
  /** May be anywhere: to be looked up, sent again, or proven dead. */
  readonly find: readonly TxStep[];
  /** Nothing of it was sent, or what was is dead, and its wallet cannot deliver: to be taken by other wallets. */
  readonly move: readonly ClaimedLeg[];
  /** Nothing of it can happen any more; its capacity goes back. */
  readonly release: readonly ClaimedLeg[];
  /** Legs of which no delivery is to be sent any more. */
  readonly unwanted: ReadonlySet<ClaimedLeg>;
  /** All legs active but less energy than was sold. */
  readonly topUp: boolean;
  /** The order cannot be delivered whole: reclaim what was, then refund. */
  readonly undo: boolean;
  /** Every leg has ended undelivered. */
  readonly refund: boolean;
}

/** Attempts of a delivery that may die before the order is given back. Each takes the chain about two minutes. */
export const DELIVERY_DEATHS_MAX = 2;
/** The same over all legs that an order was moved to: wallets that die one after another must not keep it for hours. */
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

/** What a leg needs while the order is to be delivered. */
function planDelivery(order: ClaimedOrder, leg: ClaimedLeg, draft: Draft): void {
  if (leg.status !== 'reserved' && leg.status !== 'placed') return;
  const purpose = deliveryPurpose(order);
  const tx = liveTx(leg, purpose);
  // Until other wallets have room for it, it waits for its own.
  if (!leg.canDeliver && isUnsent(tx)) draft.move.push(leg);
  else if (tx === undefined) draft.build.push({ leg, purpose, attempt: attemptsOf(leg, purpose) + 1 });
  else planTx(leg, tx, draft);
}

/** Whether nothing of an attempt is on its way. */
function isUnsent(tx: ClaimedTx | undefined): boolean {
  return tx === undefined || tx.status === 'built' || tx.status === 'signed';
}

function planTx(leg: ClaimedLeg, tx: ClaimedTx, draft: Draft): void {
  if (tx.status === 'built' || tx.status === 'signed') draft.send.push({ leg, tx });
  else if (tx.status === 'sending') draft.find.push({ leg, tx });
}

/** What a leg needs when it is to be reclaimed: at the rental's end, or because the order is undone. */
function planReturn(order: ClaimedOrder, leg: ClaimedLeg, draft: Draft): void {
  const delivery = liveTx(leg, deliveryPurpose(order));
  switch (leg.status) {
    case 'reserved':
    case 'placed':
      draft.unwanted.add(leg);
      // Something of it may be on its way: first learn what became of it. What was never sent is dropped by `send`.
      if (delivery === undefined) draft.release.push(leg);
      else planTx(leg, delivery, draft);
      return;
    case 'active':
      // Only what is solid is reclaimed: an undelegation of what may still be reverted could take a sibling's.
      if (delivery?.status === 'solid') planReclaim(leg, draft);
      return;
    case 'reclaiming':
      planReclaim(leg, draft);
      return;
    case 'reclaimed':
    case 'released':
      return;
  }
}

/** A leg is `reclaiming` only once something may be on its way: what was recorded before that is gone on with too. */
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
  return energyOf(order) < (order.energy ?? 0n);
}

/** What the active legs of an order deliver together. */
export function energyOf(order: ClaimedOrder): bigint {
  return activeLegs(order).reduce((sum, leg) => sum + (leg.energy ?? 0n), 0n);
}

/** Whether a running rental is to be reclaimed: its end has come by the chain's clock, or reclaiming has begun. */
export function isEnding(order: ClaimedOrder, clockMs: number): boolean {
  if (!order.isSettled || order.kind !== 'rental') return false;
  if (order.legs.some((leg) => leg.status === 'reclaiming' || (leg.status === 'reclaimed' && !leg.isClosed)))
    return true;
  return order.endsAtMs !== undefined && order.endsAtMs <= clockMs;
}

/** Whether nothing of a leg's delivery is on its way although there was time enough: nobody signs, or nobody is asked. */
function isUnsendable(leg: ClaimedLeg, purpose: ChainTxPurpose, unsentMaxSec: number): boolean {
  if (leg.status !== 'reserved' && leg.status !== 'placed') return false;
  const tx = liveTx(leg, purpose);
  // One that is on its way by the records, but reached no node, is searched for until it is dead all the same.
  return isUnsent(tx) && leg.ageSec > unsentMaxSec;
}

/** Whether a top-up of a running rental has failed for good; whether there is to be another is decided anew. */
function isGivenUp(order: ClaimedOrder, leg: ClaimedLeg, unsentMaxSec: number): boolean {
  if (!order.isSettled || (leg.status !== 'reserved' && leg.status !== 'placed')) return false;
  const purpose = deliveryPurpose(order);
  return deathsOf(leg, purpose) >= DELIVERY_DEATHS_MAX || isUnsendable(leg, purpose, unsentMaxSec);
}

/** Whether the order can no longer be delivered whole. */
function isLost(order: ClaimedOrder, purpose: ChainTxPurpose, unsentMaxSec: number): boolean {
  const movedDeaths = order.legs.reduce(
    (sum, leg) => sum + (leg.status === 'released' ? deathsOf(leg, purpose) : 0),
    0,
  );
  return order.legs.some(
    (leg) =>
      deathsOf(leg, purpose) >= DELIVERY_DEATHS_MAX ||
      // Legs that died side by side were moved once each: the order is lost when what took their place dies too.
      (movedDeaths >= MOVED_DEATHS_MAX && leg.status !== 'released' && deathsOf(leg, purpose) > 0) ||
      // An unresolved order makes no new attempt: its state only allows delivered or refunded.
      (order.status === 'unresolved' && leg.status === 'placed' && liveTx(leg, purpose) === undefined) ||
      // What another party undelegated before the whole was there: no other leg makes up for it.
      ((order.status === 'placed' || order.status === 'unresolved') && leg.status === 'reclaimed') ||
      isUnsendable(leg, purpose, unsentMaxSec),
  );
}

/**
 * The steps an order needs now. `clockMs`: the chain's clock. `unsentMaxSec`: how long a leg may wait
 * without anything of it being on its way.
 */
export function planFor(order: ClaimedOrder, clockMs: number, unsentMaxSec: number): Plan {
  const purpose = deliveryPurpose(order);
  const isRefundable = !order.isSettled && REFUNDABLE.has(order.status);
  const undoing = isRefundable && (order.isUndoing || isLost(order, purpose, unsentMaxSec));
  const draft: Draft = { build: [], send: [], find: [], move: [], release: [], unwanted: new Set() };
  const returning = undoing || isEnding(order, clockMs);
  for (const leg of order.legs) {
    if (returning || isGivenUp(order, leg, unsentMaxSec)) planReturn(order, leg, draft);
    else planDelivery(order, leg, draft);
  }
  return {
    ...draft,
    topUp: !returning && fallsShort(order),
    undo: undoing && !order.isUndoing,
    refund: undoing && order.legs.every((leg) => leg.status === 'released' || leg.status === 'reclaimed'),
  };
}
