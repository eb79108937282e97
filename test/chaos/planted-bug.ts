// What a planted bug is, and the source files that most of them change.
import type { FaultName } from './plan.js';

export interface Change {
  /** Below src; of a package `../packages/…`, where a named test alone can catch it. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

/** A test of the ordinary suite, by its file below test/ and by words of its title. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

export interface PlantedBug {
  readonly name: string;
  readonly changes: readonly Change[];
  /** The test that must fail with it; without one, the rounds of chaos must catch it. */
  readonly test?: NamedTest;
  /** Dealt first, where the bug shows only when these go wrong; without it the first round is of the plain deck. */
  readonly first?: readonly FaultName[];
  readonly conditions?: Conditions;
}

/**
 * What surrounds a bug while it is hunted. `alone`: nothing goes wrong but what is dealt first, in every round and for
 * most of it. `still pool`: alone too, rentals are long, and wallets are read from the chain so rarely that nothing
 * covers up for the records of capacity.
 */
export type Conditions = 'plain' | 'alone' | 'still pool';

export const SENDER = 'fulfilment/send/transaction-sender.ts';
export const LOG = 'fulfilment/send/transaction-log.ts';
export const WORK = 'fulfilment/loop/order-claims.ts';
export const PROOF = 'fulfilment/send/proof.ts';
export const ADVANCER = 'fulfilment/loop/order-advancer.ts';
export const FOLLOWER = 'fulfilment/follow/follower.ts';
export const SETTLEMENT = 'fulfilment/follow/settlement.ts';
export const INCLUSION = 'fulfilment/follow/inclusion.ts';
export const ENDING = 'fulfilment/plan/order-termination.ts';
export const ACCEPTANCE = 'orders/acceptance.ts';
export const TURNS = 'orders/purchase-turns.ts';
export const POOL_SYNC = 'pool/pool-sync.ts';
export const SQL = 'billing/ledger-sql.ts';
/** Every migration, and the functions that the code compares the database with, wherever the text lies. */
export const SCHEMA = 'store/migrations and store/functions';

/** Takes an index off the list of those that must be there: whoever forgets it forgets it there too. */
export const unguarded = (index: string): Change => ({
  file: 'store/functions/wanted.ts',
  find: `\n  ${index}: `,
  put: `\n  //${index}: `,
});

/** What legs hold may be sold by a node's word: a bound that would cover up for what else is counted wrong. */
export const SELLS_HELD: Change = {
  file: POOL_SYNC,
  find: `turn.role === 'pool' ? stakedSun - delegated.heldSun - open.heldSun : left`,
  put: 'left',
};

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
