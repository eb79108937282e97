/**
 * The life of an order, of its legs and of their chain transactions, as data. The code's types, the database's
 * triggers (store/functions/row-guards.ts) and the documentation all come from these tables; nothing else names a transition.
 */

/** The most wallets one order is spread over; a larger need is refused as beyond capacity. */
export const LEGS_MAX = 20;

/** How often one rental may be extended. */
export const EXTENSIONS_MAX = 100;

/** How long before the end of a rental an auto-delegation sees to it that energy stands after it, at most. */
export const REFILL_LEAD_SEC = 60;

/** Order states (docs/interface.md §11) and where each may go. A settled order leaves `delivered` no more. */
export const ORDER_TRANSITIONS = {
  /** Charged, capacity held, nothing sent. */
  reserved: ['placed', 'refunded'],
  /** A signed transaction may be on its way. */
  placed: ['delivered', 'unresolved', 'refunded'],
  /** In a block and re-read from it; back to `placed` while that block can still be reverted. */
  delivered: ['placed', 'refunded'],
  /** No proof either way for ten minutes; resolves itself as soon as a node answers. */
  unresolved: ['delivered', 'refunded'],
  /** Proven never to happen, or undone; the charge is back. */
  refunded: [],
} as const satisfies Record<string, readonly string[]>;

/** One delegation from one pool wallet, or the one action of an activation. */
export const LEG_TRANSITIONS = {
  /** Capacity held, nothing sent. */
  reserved: ['placed', 'released'],
  /** A transaction may be on its way. */
  placed: ['active', 'released'],
  /**
   * In a block; `placed` again when the block is reverted. `reclaimed` at once when a foreign act ended it, or when
   * nothing is to be reclaimed: an activation that is final.
   */
  active: ['placed', 'reclaiming', 'reclaimed'],
  /** The undelegation is on its way. Never given up: only a solid one ends it, ours or a foreign one. */
  reclaiming: ['reclaimed'],
  /** Nothing of it stands any more, or nothing is to be reclaimed; final. */
  reclaimed: [],
  /** Proven never to happen; its capacity is returned; final. */
  released: [],
} as const satisfies Record<string, readonly string[]>;

/** One signed transaction. Per leg and purpose at most one is not `dead` or `dropped`. */
export const CHAIN_TX_TRANSITIONS = {
  /** Bytes and id recorded, unsigned. */
  built: ['signed', 'dropped'],
  /** Signed and recorded, never sent. */
  signed: ['sending', 'dropped'],
  /** May be anywhere. Only a block or a proof of death ends this. */
  sending: ['included', 'dead'],
  /** Found in a block with our own bytes; `sending` again when that block is reverted. */
  included: ['sending', 'solid'],
  /** In a solid block; final. */
  solid: [],
  /** Proven never to be included (evidence stored); final, unless it is found in a solid block all the same. */
  dead: ['solid'],
  /** Given up before it was ever sent; final, unless it is found in a solid block all the same. */
  dropped: ['solid'],
} as const satisfies Record<string, readonly string[]>;

export type OrderStatus = keyof typeof ORDER_TRANSITIONS;
export type LegStatus = keyof typeof LEG_TRANSITIONS;
export type ChainTxStatus = keyof typeof CHAIN_TX_TRANSITIONS;
export type OrderKind = 'rental' | 'activation';
/** Why a running rental was topped up: the network's stake grew, or a rental that ended beside it left usage behind. */
export type TopUpCause = 'stake' | 'usage';
export type ChainTxPurpose = 'delegate' | 'reclaim' | 'activate';

export const ORDER_STATUSES = Object.keys(ORDER_TRANSITIONS) as readonly OrderStatus[];

/** Statuses answered with 202; the others with 200 (docs/interface.md §9). */
export function isPending(status: OrderStatus): boolean {
  return status === 'reserved' || status === 'placed' || status === 'unresolved';
}
