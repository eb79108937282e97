/**
 * The transitions of orders, legs and chain transactions. The code's types, the database's triggers
 * (src/platform/database/sql/functions/orders_guard.sql) and the documentation all come from these tables. No other place lists a transition.
 */

/** The maximum number of wallets for one order. A larger need is refused as beyond capacity. */
export const LEGS_MAX = 20;

/**
 * Maximum number of top-ups of one rental, which bounds our cost of it. Two cases reach it: the ratio drifts to several
 * times its value, or twenty rentals end beside this one, each with more leftover usage than before.
 */
export const TOP_UP_LEGS_MAX = 20;

/** Maximum number of extensions of one rental. */
export const EXTENSIONS_MAX = 100;

/** The earliest time before a rental's end at which an auto-delegation buys energy for the time after it. */
export const REFILL_LEAD_SEC = 60;

/** Order states (docs/interface.md §11) and their successors. A settled order never leaves `delivered`. */
export const ORDER_TRANSITIONS = {
  /** Charged, capacity reserved, nothing sent. */
  reserved: ['placed', 'refunded'],
  /** A signed transaction may be on its way. */
  placed: ['delivered', 'unresolved', 'refunded'],
  /** In a block and read from it. Returns to `placed` if that block is reverted. */
  delivered: ['placed', 'refunded'],
  /** No proof either way for ten minutes by default. Resolves itself as soon as a node answers. */
  unresolved: ['delivered', 'refunded'],
  /** Proven never to happen, or undone. The charge is returned. */
  refunded: [],
} as const satisfies Record<string, readonly string[]>;

/** One delegation from one pool wallet, or the one action of an activation. */
export const LEG_TRANSITIONS = {
  /** Capacity reserved, nothing sent. */
  reserved: ['placed', 'released'],
  /** A transaction may be on its way. */
  placed: ['active', 'released'],
  /**
   * In a block. Returns to `placed` if the block is reverted. Becomes `reclaimed` directly if a foreign act ended it,
   * or if there is nothing to reclaim: a final activation.
   */
  active: ['placed', 'reclaiming', 'reclaimed'],
  /** The undelegation is on its way. Never given up: only a solid undelegation ends it, ours or a foreign one. */
  reclaiming: ['reclaimed'],
  /** No delegation is left, or there is nothing to reclaim; final. */
  reclaimed: [],
  /** Proven never to happen; capacity returned; final. */
  released: [],
} as const satisfies Record<string, readonly string[]>;

/** One signed transaction. Per leg and purpose at most one is not `dead` or `dropped`. */
export const CHAIN_TX_TRANSITIONS = {
  /** Bytes and id recorded, unsigned. */
  built: ['signed', 'dropped'],
  /** Signed and recorded, never sent. */
  signed: ['sending', 'dropped'],
  /** Possibly in any block. Only a block or a proof of death ends this. */
  sending: ['included', 'dead'],
  /** Found in a block with our own bytes. Returns to `sending` if that block is reverted. */
  included: ['sending', 'solid'],
  /** In a solid block; final. */
  solid: [],
  /** Proven never to be included (evidence stored); final, unless it is found in a solid block after all. */
  dead: ['solid'],
  /** Given up before it was ever sent; final, unless it is found in a solid block after all. */
  dropped: ['solid'],
} as const satisfies Record<string, readonly string[]>;

export type OrderStatus = keyof typeof ORDER_TRANSITIONS;
export type LegStatus = keyof typeof LEG_TRANSITIONS;
export type ChainTxStatus = keyof typeof CHAIN_TX_TRANSITIONS;
export type OrderKind = 'rental' | 'activation';
/** The part of an order that a leg delivers. `rental` is its energy. */
export type LegKind = OrderKind | 'bandwidth';
/** The cause of a rental's top-up: the network's stake grew, or a rental that ended beside it left usage behind. */
export type TopUpCause = 'stake' | 'usage';
export type ChainTxPurpose = 'delegate' | 'reclaim' | 'activate';

export const ORDER_STATUSES = Object.keys(ORDER_TRANSITIONS) as readonly OrderStatus[];

/** Returns true for statuses answered with 202; the others get 200 (docs/interface.md §9). */
export function isPending(status: OrderStatus): boolean {
  return status === 'reserved' || status === 'placed' || status === 'unresolved';
}
