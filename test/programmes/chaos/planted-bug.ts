// The shape of a planted bug, and the source files that most of them change.
import type { FaultName } from './plan.js';

export interface Change {
  /** Path below src, or a path that begins with `packages/`: a named test must catch a bug in a package. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

/** A test of the ordinary suite: its file below test/ and words of its title. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

export interface PlantedBug {
  readonly name: string;
  readonly changes: readonly Change[];
  /** The test that must fail with the bug. Without one, the chaos rounds must catch it. */
  readonly test?: NamedTest;
  /** Faults dealt first, if the bug shows only with them. By default the first round uses the plain deck. */
  readonly first?: readonly FaultName[];
  readonly conditions?: Conditions;
}

/**
 * Conditions of a hunt. `alone`: only the faults dealt first occur, in every round and for most of it. `still pool`:
 * also alone, with long rentals, and with chain reads of wallets so rare that they cannot hide wrong capacity records.
 */
export type Conditions = 'plain' | 'alone' | 'still pool';

export const SENDER = 'modules/fulfilment/send/transaction-sender.ts';
export const LOG = 'modules/fulfilment/send/transaction-log.ts';
export const WORK = 'modules/fulfilment/loop/order-claims.ts';
export const PROOF = 'modules/fulfilment/send/proof.ts';
export const SENT = 'modules/fulfilment/advance/sent-transactions.ts';
export const FOLLOWER = 'modules/fulfilment/follow/follower.ts';
export const NEW_BLOCKS = 'modules/fulfilment/follow/new-blocks.ts';
export const SETTLEMENT = 'modules/fulfilment/follow/settlement.ts';
export const INCLUSION = 'modules/fulfilment/follow/inclusion.ts';
export const ENDING = 'modules/fulfilment/plan/order-termination.ts';
/** The statements that change orders, legs and chain transactions. */
export const ORDERS = 'modules/order-records/order-transitions.ts';
export const LEASES = 'modules/order-records/order-leases.ts';
export const SCHEDULE = 'modules/order-records/order-schedule.ts';
export const TRANSACTIONS = 'modules/order-records/transaction-transitions.ts';
export const BLOCKS = 'modules/order-records/block-transitions.ts';
export const POOL_SYNC = 'modules/pool/pool-sync.ts';
export const SQL = 'modules/billing/ledger-sql.ts';
/** Every SQL file of the store: the current texts and the migrations that hold copies of them. */
export const SCHEMA = 'platform/database/sql and platform/database/migrations';

/** Removes an index from the list of required ones: a developer who forgets an index would forget it there too. */
export const unguarded = (index: string): Change => ({
  file: 'platform/database/expected-schema.ts',
  find: `\n  ${index}: `,
  put: `\n  //${index}: `,
});

/** Lets held capacity be sold by a node's report. The removed bound would hide other wrong counts. */
export const SELLS_HELD: Change = {
  file: POOL_SYNC,
  find: `wallet.role === 'pool' ? stakedSun - delegated.heldSun - open.heldSun : left`,
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
