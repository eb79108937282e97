// Kills a worker at every point of reading deposits while payments come in, blocks are reverted and rates are missing;
// at the end everything that is on chain is in the ledger, once.
import { DEPOSIT_POINTS, type DepositPoint } from '../../src/base/crash-point.js';
import { sleep } from '../../src/base/clock.js';
import { DepositsOnChain } from './deposits-on-chain.js';
import { Stage, type Death, type StageOptions } from './stage.js';

export interface DepositProgrammeOptions extends StageOptions {
  readonly points: readonly DepositPoint[];
  readonly times: number;
  readonly finishLimitMs: number;
  readonly onDeath?: (point: DepositPoint, n: number, death: Death) => void;
}

export interface DepositOutcome {
  readonly hits: ReadonlyMap<DepositPoint, number>;
  readonly violations: readonly string[];
  readonly payments: number;
}

const PASSINGS = [1, 2, 1, 3, 5];
const TRIES_MAX = 4;
const DEATH_LIMIT_MS = 15_000;

export async function depositProgramme(options: DepositProgrammeOptions): Promise<DepositOutcome> {
  const stage = await Stage.open({ ...options, walletsTrx: [90_000], env: DepositsOnChain.settings });
  try {
    const deposits = await DepositsOnChain.begin(stage);
    const hits = new Map<DepositPoint, number>();
    const paying = new AbortController();
    const payers = deposits.keepPaying(paying.signal);
    try {
      for (let round = 0; round < options.times; round += 1) {
        for (const point of options.points) {
          for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
            const n = attempt === 0 ? (PASSINGS[round % PASSINGS.length] ?? 1) : 1;
            const death = await killAt(stage, deposits, point, n);
            options.onDeath?.(point, n, death);
            await deposits.check(`after ${point}:${n.toString()}`);
            if (death !== 'killed') continue;
            hits.set(point, (hits.get(point) ?? 0) + 1);
            break;
          }
        }
      }
    } finally {
      paying.abort();
      await payers;
    }
    await deposits.finish(options.finishLimitMs);
    for (const point of options.points) {
      const count = hits.get(point) ?? 0;
      if (count < options.times) stage.violations.push(`${point} was hit ${count.toString()} times`);
    }
    return { hits, violations: stage.violations, payments: deposits.payments };
  } finally {
    await stage.close();
  }
}

/** The turn of whoever died before is over; what waits for a rate gets one only while that is to be seen. */
async function killAt(stage: Stage, deposits: DepositsOnChain, point: DepositPoint, n: number): Promise<Death> {
  await deposits.freeTurn();
  if (!point.startsWith('deposit-decide')) return stage.killWorkerAt(point, n, DEATH_LIMIT_MS);
  await deposits.withoutRates();
  const over = new AbortController();
  const dying = stage.killWorkerAt(point, n, DEATH_LIMIT_MS).finally(() => over.abort());
  while (!over.signal.aborted && !(await deposits.isWaiting())) await sleep(200, over.signal);
  await deposits.withRates();
  return dying;
}

/** The points of this list that are ours, or all of them. */
export function depositPointsNamed(list: string | undefined): readonly DepositPoint[] {
  if (list === undefined) return DEPOSIT_POINTS;
  const names = list.split(',');
  return DEPOSIT_POINTS.filter((point) => names.includes(point));
}

const FINISH_LIMIT_MS = 300_000;

/** Runs it from the command line, with a table of the deaths. False when anything was wrong. */
export async function runDepositProgramme(
  { points, times }: Pick<DepositProgrammeOptions, 'points' | 'times'>,
  isVerbose: boolean,
): Promise<boolean> {
  const { hits, violations, payments } = await depositProgramme({
    points,
    times,
    finishLimitMs: FINISH_LIMIT_MS,
    onDeath: (point, n, death) => {
      if (isVerbose) console.log(`${point}:${n.toString()}  ${death}`);
    },
  });
  console.log('\npoint of deposits         deaths');
  for (const point of points) console.log(`${point.padEnd(24)} ${String(hits.get(point) ?? 0).padStart(8)}`);
  for (const violation of violations) console.log(`VIOLATION ${violation}`);
  console.log(`${payments.toString()} payments, ${violations.length.toString()} violations`);
  return violations.length === 0;
}
