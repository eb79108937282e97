// Kills a process at every named point and checks the records' rules after each death. Afterwards every order must be
// finished and agree with the chain.
import {
  CRASH_POINTS,
  DEPOSIT_POINTS,
  REFILL_POINTS,
  SENDER_POINTS,
  STATEMENT_POINTS,
  TEST_ORDER_POINTS,
} from '../../../src/platform/support/crash-point.js';
import { forEachConcurrently } from '../../../src/platform/support/concurrency.js';
import { isApiPoint, isEveryday, isRare, isSenderPoint, SCENARIOS, type Point, type Scenario } from './scenarios.js';
import { CrashCluster, type Death, type CrashClusterOptions } from './cluster.js';

export interface ProgrammeOptions extends CrashClusterOptions {
  readonly points: readonly Point[];
  readonly times: number;
  readonly finishLimitMs: number;
  readonly onDeath?: (point: Point, n: number, death: Death) => void;
}

export interface Outcome {
  /** Deaths at each point. */
  readonly hits: ReadonlyMap<Point, number>;
  readonly violations: readonly string[];
  readonly orders: readonly {
    readonly status: string;
    readonly kind: string;
    readonly orders: number;
    readonly legs: number;
  }[];
}

/** Workers that run, and die, concurrently. */
const WORKERS_AT_ONCE = 3;
/** Pass of an everyday point that kills: not always the first. */
const PASSINGS = [1, 2, 1, 3, 5];
const TRIES_MAX = 3;
/** In a scenario workers die one after another, each after the previous leases expired. */
const SCENARIO_LIMIT_MS = 25_000;

export async function crashProgramme(options: ProgrammeOptions): Promise<Outcome> {
  const cluster = await CrashCluster.open(options);
  try {
    return await new Programme(cluster, options).run();
  } finally {
    await cluster.close();
  }
}

class Programme {
  private readonly hits = new Map<Point, number>();

  constructor(
    private readonly cluster: CrashCluster,
    private readonly options: ProgrammeOptions,
  ) {}

  async run(): Promise<Outcome> {
    const { cluster, options } = this;
    const rounds = Array.from({ length: options.times }, (_, round) =>
      options.points.map((point) => ({ point, round })),
    ).flat();
    const selling = new AbortController();
    const customers = cluster.keepBuying(selling.signal);
    try {
      const everyday = rounds.flatMap(({ point, round }) => (isEveryday(point) ? [{ point, round }] : []));
      // Runs next to dying workers: they produce the events and deliveries to send.
      const sending = this.killSenders(rounds);
      sending.catch(() => undefined);
      await forEachConcurrently([...everyday.entries()], WORKERS_AT_ONCE, async ([index, { point, round }]) => {
        if (index === Math.floor(everyday.length / 2)) await cluster.flushRedis();
        await this.insist(point, round, (n) => cluster.killWorkerAt(point, n));
      });
      // Without a worker that reads the wallets, nothing is sold.
      const worker = await cluster.service.startWorker();
      for (const { point, round } of rounds) {
        if (isApiPoint(point)) await this.insist(point, round, (n) => cluster.killApiAt(point, n === 1 ? 1 : 2));
      }
      await sending;
      await cluster.stopAndForget(worker);
      for (let round = 0; round < options.times; round += 1)
        for (const scenario of SCENARIOS) await this.play(scenario);
    } finally {
      selling.abort();
      await customers;
    }
    await cluster.finish(options.finishLimitMs);
    for (const point of options.points) {
      const count = this.hits.get(point) ?? 0;
      if (count < options.times) cluster.violations.push(`${point} was hit ${count.toString()} times`);
    }
    return { hits: this.hits, violations: cluster.violations, orders: await this.orders() };
  }

  /** Kills senders sequentially; each continues with the leftovers of the previous one. */
  private async killSenders(rounds: readonly { readonly point: Point; readonly round: number }[]): Promise<void> {
    for (const { point, round } of rounds) {
      if (isSenderPoint(point)) {
        await this.insist(point, round, (n) => this.cluster.killSenderAt(point, isRare(point) ? 1 : n));
      }
    }
    await this.cluster.startSending();
  }

  /** Starts one worker for each point of the scenario, concurrently: later ones find the leftovers of the first to die. */
  private async play(scenario: Scenario): Promise<void> {
    let missing = scenario.points.filter((point) => this.options.points.includes(point));
    for (let attempt = 0; attempt < TRIES_MAX && missing.length > 0; attempt += 1) {
      const over = new AbortController();
      await scenario.prepare?.(this.cluster);
      const provoking = scenario.provoke?.(this.cluster, over.signal);
      provoking?.catch(() => undefined);
      const deaths = await Promise.all(
        missing.map(async (point) => {
          const death = await this.cluster.killWorkerAt(point, 1, SCENARIO_LIMIT_MS, scenario.env);
          await this.note(point, 1, death);
          return death;
        }),
      );
      over.abort();
      await provoking;
      await scenario.restore?.(this.cluster);
      missing = missing.filter((_, index) => deaths[index] === 'lived');
    }
  }

  /** Retries until a process has died at the point: a process reaches it only if suitable work is due. */
  private async insist(point: Point, round: number, kill: (n: number) => Promise<Death>): Promise<void> {
    for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
      const n = attempt === 0 ? (PASSINGS[round % PASSINGS.length] ?? 1) : 1;
      const death = await kill(n);
      await this.note(point, n, death);
      if (death === 'killed') return;
    }
  }

  private async note(point: Point, n: number, death: Death): Promise<void> {
    if (death === 'killed') this.hits.set(point, (this.hits.get(point) ?? 0) + 1);
    this.options.onDeath?.(point, n, death);
    await this.cluster.check(`after ${point}:${n.toString()}`);
  }

  private async orders(): Promise<Outcome['orders']> {
    return this.cluster.database.query(
      `SELECT o.status, o.kind, count(DISTINCT o.id)::int AS orders, count(l.id)::int AS legs
         FROM orders o JOIN leg l ON l.order_id = o.id GROUP BY 1, 2 ORDER BY 1, 2`,
    );
  }
}

/** Returns the points of this list, or all of them. Throws for an unknown name. */
export function pointsNamed(list: string | undefined): readonly Point[] {
  const all: readonly Point[] = [...CRASH_POINTS, ...SENDER_POINTS];
  if (list === undefined) return all;
  const others: readonly string[] = [
    ...[...DEPOSIT_POINTS, ...STATEMENT_POINTS],
    ...[...REFILL_POINTS, ...TEST_ORDER_POINTS],
  ];
  const names = list.split(',').filter((name) => !others.includes(name));
  return names.map((name) => {
    const point = all.find((known) => known === name);
    if (point === undefined) throw new Error(`${name} is no crash point`);
    return point;
  });
}
