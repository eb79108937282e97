// Paired measurements: alternating rounds (A B A B), medians and spread, results as ratios within the same run.
import autocannon from 'autocannon';

/** A load: requests and their target. */
export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly requests: readonly autocannon.Request[];
  /** Statuses of a correct answer. */
  readonly expect: readonly number[];
}

/** Work of a round: a load of requests, or a function that returns a sample over the given seconds. */
export type Work = Load | ((seconds: number) => Promise<Sample>);

export interface Sample {
  readonly perSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly wrong: number;
}

export interface Row {
  readonly what: string;
  readonly against: string;
  readonly unit: string;
  readonly ours: number;
  readonly limit: number | undefined;
  readonly ratio: number | undefined;
  readonly goal: string;
  /** Lowest and highest ratio (or figure) among the rounds. */
  readonly spread: readonly [number, number];
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly limitP99Ms?: number;
  readonly note?: string;
}

export async function drive(load: Work, seconds: number): Promise<Sample> {
  if (typeof load === 'function') return load(seconds);
  const result = await autocannon({
    url: load.url,
    connections: load.connections,
    duration: seconds,
    timeout: 20,
    requests: [...load.requests],
  });
  const byStatus = result.statusCodeStats ?? {};
  const right = load.expect.reduce((sum, status) => sum + (byStatus[status.toString()]?.count ?? 0), 0);
  const answered = Object.values(byStatus).reduce((sum, entry) => sum + (entry.count ?? 0), 0);
  return {
    perSec: right / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    wrong: answered - right + result.errors + result.timeouts,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export interface Comparison {
  readonly what: string;
  readonly against: string;
  readonly goal: string;
  readonly rounds: number;
  readonly seconds: number;
  /** Called before each round, since a load may consume its input (quotes, keys). */
  readonly ours: () => Promise<Work>;
  readonly limit: () => Promise<Work>;
}

/** Alternates between ours and the limit. A wrong answer fails the bench. */
export async function compare(comparison: Comparison): Promise<Row> {
  const ours: Sample[] = [];
  const limits: Sample[] = [];
  await drive(await comparison.ours(), 1);
  await drive(await comparison.limit(), 1);
  for (let round = 0; round < comparison.rounds; round += 1) {
    // Prepares both first, so that the rounds follow each other directly.
    const [work, limit] = [await comparison.ours(), await comparison.limit()];
    ours.push(await drive(work, comparison.seconds));
    limits.push(await drive(limit, comparison.seconds));
  }
  const wrong = [...ours, ...limits].reduce((sum, sample) => sum + sample.wrong, 0);
  if (wrong > 0) throw new Error(`${comparison.what}: ${wrong.toString()} answers were not what they must be`);
  const ratios = ours.map((sample, index) => sample.perSec / (limits[index]?.perSec ?? Number.NaN));
  return {
    what: comparison.what,
    against: comparison.against,
    unit: '/s',
    ours: median(ours.map((sample) => sample.perSec)),
    limit: median(limits.map((sample) => sample.perSec)),
    ratio: median(ratios),
    goal: comparison.goal,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    p50Ms: median(ours.map((sample) => sample.p50Ms)),
    p99Ms: median(ours.map((sample) => sample.p99Ms)),
    limitP99Ms: median(limits.map((sample) => sample.p99Ms)),
  };
}

/** Returns a figure without a reference: median and range. */
export function figure(what: string, against: string, unit: string, goal: string, values: readonly number[]): Row {
  return {
    what,
    against,
    unit,
    ours: median(values),
    limit: undefined,
    ratio: undefined,
    goal,
    spread: [Math.min(...values), Math.max(...values)],
  };
}

/** Returns the p-th percentile (0–100) of values. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))] ?? Number.NaN;
}
