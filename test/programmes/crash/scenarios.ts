// Ways to bring a worker to each point: everyday work passes most of them, some are passed only after a failure.
import { sleep } from '../../../src/platform/support/clock.js';
import { SENDER_POINTS, type CrashPoint, type SenderPoint } from '../../../src/platform/support/crash-point.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import type { CrashCluster } from './cluster.js';

/** Preparation or concurrent provocation that a worker needs to reach these points. */
export interface Scenario {
  readonly points: readonly CrashPoint[];
  readonly prepare?: (cluster: CrashCluster) => Promise<void>;
  /** Runs until `over` aborts. */
  readonly provoke?: (cluster: CrashCluster, over: AbortSignal) => Promise<void>;
  readonly env?: NodeJS.ProcessEnv;
  readonly restore?: (cluster: CrashCluster) => Promise<void>;
}

const API_POINTS: readonly CrashPoint[] = [
  'accept.before',
  'accept.after',
  'wake.before',
  'wake.after',
  'answer.before',
];
const PREPARE_LIMIT_MS = 12_000;
const IMPATIENT = { UNRESOLVED_AFTER_SEC: '1' };
const ENERGY_LIMIT = 180_000_000_000;
/** Blocks that move the chain past a transaction's validity (60 s of chain time), and on to later solid blocks. */
const BLOCKS_PAST_VALIDITY = 30;

/** Reverts the newest blocks whenever they include a transaction that is not solid. */
async function keepForking(cluster: CrashCluster, over: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(100, over);
    if (over.aborted) return;
    const found = await cluster.database.query(`SELECT 1 FROM chain_tx WHERE status = 'included' LIMIT 1`);
    if (found.length === 0) continue;
    await cluster.control('fork', { depth: 3 });
    await sleep(600, over);
  }
}

/** A dead worker keeps the turn to read blocks until its lease expires, which takes longer than a scenario. */
async function keepFreeingTheTurn(cluster: CrashCluster, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await cluster.database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
    await sleep(1000, over);
  }
}

const UNSENT_DELIVERIES = `SELECT 1 FROM chain_tx t JOIN orders o ON o.id = t.order_id
  WHERE t.status = 'sending' AND t.purpose <> 'reclaim' AND o.status = 'placed' LIMIT 1`;
const PREPARATIONS_MAX = 4;

/**
 * Lets a worker die with deliveries marked as sent that no node has seen. Retries, because the first one may have sent
 * reclaims only.
 */
async function leaveUnsent(cluster: CrashCluster, env: NodeJS.ProcessEnv = {}): Promise<void> {
  for (let attempt = 0; attempt < PREPARATIONS_MAX; attempt += 1) {
    await cluster.volley();
    await cluster.killWorkerAt('broadcast.before', 1, PREPARE_LIMIT_MS, env);
    if ((await cluster.database.query(UNSENT_DELIVERIES)).length > 0) return;
  }
}

/** An activation for which another party is faster. */
async function loseActivation(cluster: CrashCluster): Promise<void> {
  const { address } = newChainAccount();
  await cluster.buy(cluster.merchant, '/v1/activate', { address });
  const { wallet, bank } = cluster.service;
  const txid = await wallet.send('createaccount', { owner_address: bank.address, account_address: address }, bank);
  await wallet.receipt(txid);
}

/** A worker that immediately gives up orders that could not be sent while no worker ran. */
function impatient(point: CrashPoint): Scenario {
  return {
    points: [point],
    prepare: async (cluster) => {
      await cluster.volley();
      await sleep(1100);
    },
    env: IMPATIENT,
  };
}

function unresolved(point: CrashPoint): Scenario {
  return {
    points: [point],
    // Long validity: nothing can be proven dead before the order has waited too long.
    prepare: async (cluster) => {
      await leaveUnsent(cluster, { TRON_EXPIRATION_SEC: '3600' });
      await sleep(1100);
    },
    env: IMPATIENT,
  };
}

export const SCENARIOS: readonly Scenario[] = [
  {
    points: ['lookup.before', 'lookup.after'],
    // A transaction that no node has seen is always looked up; one in a block may be read there first.
    prepare: async (cluster) => {
      await leaveUnsent(cluster);
      await cluster.volley();
      await cluster.killWorkerAt('record-broadcast.before', 1);
    },
  },
  { points: ['fall-away.before', 'fall-away.after'], provoke: keepForking },
  {
    points: ['record-cost.before', 'record-cost.after'],
    prepare: (cluster) => cluster.volley(),
    provoke: keepFreeingTheTurn,
  },
  {
    points: ['drop.before', 'drop.after'],
    prepare: async (cluster) => {
      await cluster.volley();
      await cluster.killWorkerAt('record-built.after', 1);
      await cluster.control('mine', { count: 15 });
    },
  },
  {
    points: ['proof-head.after', 'proof-absence.after', 'record-dead.before', 'record-dead.after'],
    prepare: async (cluster) => {
      await leaveUnsent(cluster);
      await loseActivation(cluster);
      await cluster.control('mine', { count: BLOCKS_PAST_VALIDITY });
    },
  },
  {
    points: [
      ...(['usage-read.before', 'usage-read.after', 'record-usage.before', 'record-usage.after'] as const),
      ...(['weigh.before', 'weigh.after'] as const),
    ],
    // Used rentals end while another rental of their receiver continues.
    prepare: async (cluster) => {
      await cluster.rentLong();
      await cluster.volley();
    },
  },
  {
    points: ['top-up.before', 'top-up.after'],
    // The energy per stake falls below its value at purchase.
    prepare: async (cluster) => {
      await cluster.volley();
      await cluster.control('parameters', { getTotalEnergyCurrentLimit: ENERGY_LIMIT * 0.9 });
    },
    restore: async (cluster) => {
      await cluster.control('parameters', { getTotalEnergyCurrentLimit: ENERGY_LIMIT });
      await sleep(1500);
    },
  },
  // Separate scenarios: the worker that undoes an order continues to its refund, and leaves nothing for the others.
  ...(['undo.before', 'undo.after', 'give-up.before', 'give-up.after', 'refund.before', 'refund.after'] as const).map(
    impatient,
  ),
  // Separate scenarios: the first worker's second broadcast ends the wait of the other.
  unresolved('unresolved.before'),
  unresolved('unresolved.after'),
];

const IN_SCENARIOS = new Set<CrashPoint>(SCENARIOS.flatMap((scenario) => scenario.points));

export type Point = CrashPoint | SenderPoint;

export const isSenderPoint = (point: Point): point is SenderPoint => SENDER_POINTS.some((each) => each === point);
/** Passed once by a busy sender: it holds its endpoint while there are deliveries, and sees many new ones together. */
export const isRare = (point: SenderPoint): boolean => /^webhook-(?:release|fresh)\./.test(point);
export const isApiPoint = (point: Point): point is CrashPoint => API_POINTS.some((each) => each === point);
/** Passed by any worker that has orders to process. */
export const isEveryday = (point: Point): point is CrashPoint =>
  !isSenderPoint(point) && !isApiPoint(point) && !IN_SCENARIOS.has(point);
