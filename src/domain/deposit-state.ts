/** The life of a deposit as data: the code's types and the database's trigger come from this table. */
export const DEPOSIT_TRANSITIONS = {
  /** Not credited yet: it waits for a rate, or for others to pass the minimum with it. */
  pending: ['credited', 'held', 'ignored', 'dropped'],
  /** Waits for the operator's decision. */
  held: ['credited', 'ignored'],
  /** In the ledger; final. */
  credited: [],
  /** Decided to be nothing of ours to credit; final. */
  ignored: [],
  /** Seen at the head, and its block was reverted; the transaction may come in another block. */
  dropped: ['pending', 'credited', 'held'],
} as const satisfies Record<string, readonly string[]>;

export type DepositStatus = keyof typeof DEPOSIT_TRANSITIONS;

/** What can be paid in. Both have six digits. */
export const DEPOSIT_ASSETS = ['TRX', 'USDT'] as const;
export type DepositAsset = (typeof DEPOSIT_ASSETS)[number];
