// Kills a worker at every point of reading deposits, while payments arrive, blocks are reverted and rates are missing.
// Afterwards the ledger must contain everything on chain exactly once.
import { DEPOSIT_POINTS, type DepositPoint } from '../../../src/platform/support/crash-point.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { DepositsOnChain } from './deposits-on-chain.js';
import { CrashCluster, type Death } from './cluster.js';
import { killAtEach, noteMissing, type TaskOptions, type TaskOutcome, type TaskProgramme } from './task-programme.js';

const DEATH_LIMIT_MS = 15_000;

export async function depositProgramme(options: TaskOptions<DepositPoint>): Promise<TaskOutcome<DepositPoint>> {
  const cluster = await CrashCluster.open({ ...options, walletsTrx: [90_000], env: DepositsOnChain.settings });
  try {
    const deposits = await DepositsOnChain.begin(cluster);
    const paying = new AbortController();
    const payers = deposits.keepPaying(paying.signal);
    let hits: ReadonlyMap<DepositPoint, number>;
    try {
      const kill = async (point: DepositPoint, n: number): Promise<Death> => killAt(cluster, deposits, point, n);
      hits = await killAtEach(options, kill, (when) => deposits.check(when));
    } finally {
      paying.abort();
      await payers;
    }
    await deposits.finish(options.finishLimitMs);
    noteMissing(cluster, options, hits);
    return { hits, violations: cluster.violations, made: deposits.payments };
  } finally {
    await cluster.close();
  }
}

/**
 * Frees the turn of the previous dead worker first. Deposits that wait for a rate get one only once they are seen
 * waiting.
 */
async function killAt(
  cluster: CrashCluster,
  deposits: DepositsOnChain,
  point: DepositPoint,
  n: number,
): Promise<Death> {
  await deposits.freeTurn();
  if (!point.startsWith('deposit-decide')) return cluster.killWorkerAt(point, n, DEATH_LIMIT_MS);
  await deposits.withoutRates();
  const over = new AbortController();
  const dying = cluster.killWorkerAt(point, n, DEATH_LIMIT_MS).finally(() => over.abort());
  while (!over.signal.aborted && !(await deposits.isWaiting())) await sleep(200, over.signal);
  await deposits.withRates();
  return dying;
}

export const DEPOSIT_TASK: TaskProgramme<DepositPoint> = {
  ...{ name: 'deposits', points: DEPOSIT_POINTS, made: 'payments', run: depositProgramme },
};
