// What a planted bug is, and the files of the build that most of them change.
import type { FaultName } from './plan.js';

interface Change {
  /** Below the build. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

export interface PlantedBug {
  readonly name: string;
  readonly changes: readonly Change[];
  /** Dealt first, where the bug shows only when these go wrong; without it the first round is of the plain deck. */
  readonly first?: readonly FaultName[];
  readonly ground?: Ground;
}

/**
 * Where a bug is hunted. `alone`: nothing goes wrong but what is dealt first, in every round and for most of it.
 * `still pool`: alone too, rentals are long, and wallets are read from the chain so rarely that nothing covers up for
 * the books of capacity.
 */
export type Ground = 'plain' | 'alone' | 'still pool';

export const OUTBOUND = 'fulfilment/outbound.js';
export const LOG = 'fulfilment/transaction-log.js';
export const WORK = 'fulfilment/work.js';
export const PROOF = 'fulfilment/proof.js';
export const FULFILLER = 'fulfilment/fulfiller.js';
export const FOLLOWER = 'fulfilment/follower.js';
export const SETTLEMENT = 'fulfilment/settlement.js';
export const INCLUSION = 'fulfilment/inclusion.js';
export const ENDING = 'fulfilment/ending.js';
export const ACCEPTANCE = 'orders/acceptance.js';
export const SQL = 'billing/ledger-sql.js';
/** Every migration, and the functions that the code compares the database with, wherever the text lies. */
export const SCHEMA = 'store/migrations and store/functions';

/** Takes an index off the list of those that must be there: whoever forgets it forgets it there too. */
export const unguarded = (index: string): Change => ({
  file: 'store/functions/wanted.js',
  find: `    ${index}: `,
  put: `    //${index}: `,
});

export const one = (file: string, find: string, put: string): readonly Change[] => [{ file, find, put }];

export const LIES: readonly FaultName[] = [
  'accepted, called refused',
  'refused, called accepted',
  'worker killed',
  'receipt unknown',
];
export const SILENCE: readonly FaultName[] = [
  'refused, called accepted',
  'accepted, then dropped',
  'accept, then time out',
  'head stuck',
];
export const FORKS: readonly FaultName[] = ['fork', 'fork after a broadcast', 'nodes on two forks'];
export const DEATHS: readonly FaultName[] = ['worker killed', 'worker killed at a point', 'API killed at a point'];
