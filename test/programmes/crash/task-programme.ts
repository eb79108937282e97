// The common parts of programmes that kill a worker in tasks other than fulfilment: options, report and loop.
import type { WorkerTaskPoint } from '../../../src/platform/support/crash-point.js';
import type { Death, CrashCluster, CrashClusterOptions } from './cluster.js';

export interface TaskOptions<Point extends WorkerTaskPoint> extends CrashClusterOptions {
  readonly points: readonly Point[];
  /** Deaths at each point. */
  readonly times: number;
  readonly finishLimitMs: number;
  readonly onDeath?: (point: Point, n: number, death: Death) => void;
}

export interface TaskOutcome<Point extends WorkerTaskPoint> {
  readonly hits: ReadonlyMap<Point, number>;
  readonly violations: readonly string[];
  /** Completed units of the task. */
  readonly made: number;
}

export interface TaskProgramme<Point extends WorkerTaskPoint> {
  /** In the plural. */
  readonly name: string;
  readonly points: readonly Point[];
  /** Name of the counted units, in the plural. */
  readonly made: string;
  readonly run: (options: TaskOptions<Point>) => Promise<TaskOutcome<Point>>;
}

export interface Asked {
  /** Point names of any programme; undefined: all. */
  readonly named: readonly string[] | undefined;
  readonly times: number;
  readonly isVerbose: boolean;
}

const FINISH_LIMIT_MS = 300_000;

/** Runs a programme at the requested points and prints the table of deaths. Returns false after any violation. */
export async function runTask<Point extends WorkerTaskPoint>(
  { name, points: all, made: counted, run }: TaskProgramme<Point>,
  { named, times, isVerbose }: Asked,
): Promise<boolean> {
  const points = all.filter((point) => named?.includes(point) ?? true);
  if (points.length === 0) return true;
  const { hits, violations, made } = await run({
    points,
    times,
    finishLimitMs: FINISH_LIMIT_MS,
    onDeath: (point, n, death) => {
      if (isVerbose) console.log(`${point}:${n.toString()}  ${death}`);
    },
  });
  console.log(`\n${`point of ${name}`.padEnd(24)}   deaths`);
  for (const point of points) console.log(`${point.padEnd(24)} ${String(hits.get(point) ?? 0).padStart(8)}`);
  for (const violation of violations) console.log(`VIOLATION ${violation}`);
  console.log(`${made.toString()} ${counted}, ${violations.length.toString()} violations`);
  return violations.length === 0;
}

/** Pass of a point that kills: not always the first. */
const PASSINGS = [1, 2, 1, 3, 2];
/** A worker reaches its point only if suitable work is due. */
const TRIES_MAX = 4;

/**
 * Kills at each point as often as requested, and has the records checked after each death. Returns the deaths by point.
 */
export async function killAtEach<Point extends WorkerTaskPoint>(
  { points, times, onDeath }: TaskOptions<Point>,
  kill: (point: Point, n: number) => Promise<Death>,
  check: (when: string) => Promise<void>,
): Promise<Map<Point, number>> {
  const hits = new Map<Point, number>();
  for (let round = 0; round < times; round += 1) {
    for (const point of points) {
      let death: Death = 'lived';
      for (let attempt = 0; attempt < TRIES_MAX && death === 'lived'; attempt += 1) {
        const n = attempt === 0 ? (PASSINGS[round % PASSINGS.length] ?? 1) : 1;
        death = await kill(point, n);
        onDeath?.(point, n, death);
        await check(`after ${point}:${n.toString()}`);
      }
      if (death === 'killed') hits.set(point, (hits.get(point) ?? 0) + 1);
    }
  }
  return hits;
}

/** A point without deaths is a violation too: it was not tested. */
export function noteMissing<Point extends WorkerTaskPoint>(
  { violations }: CrashCluster,
  { points, times }: TaskOptions<Point>,
  hits: ReadonlyMap<Point, number>,
): void {
  for (const point of points) {
    const count = hits.get(point) ?? 0;
    if (count < times) violations.push(`${point} was hit ${count.toString()} times`);
  }
}
