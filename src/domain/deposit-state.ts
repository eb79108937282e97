/** The transitions of a deposit. The code's types and the database's trigger come from this table. */
export const DEPOSIT_TRANSITIONS = {
  /** Not credited yet: waits for a rate, or for further deposits to pass the minimum together. */
  pending: ['credited', 'held', 'ignored', 'dropped'],
  /** Waits for the operator's decision. */
  held: ['credited', 'ignored'],
  /** In the ledger; final. */
  credited: [],
  /** Not ours to credit, by decision; final. */
  ignored: [],
  /** Seen at the head, but its block was reverted. The transaction may enter another block. */
  dropped: ['pending', 'credited', 'held'],
} as const satisfies Record<string, readonly string[]>;

export type DepositStatus = keyof typeof DEPOSIT_TRANSITIONS;

/** The assets that can be paid in. Both have six decimals. */
export const DEPOSIT_ASSETS = ['TRX', 'USDT'] as const;
export type DepositAsset = (typeof DEPOSIT_ASSETS)[number];
