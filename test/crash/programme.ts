// Kills a process at every named point and checks the records' rules after each death. Afterwards every order must be
// finished and agree with the chain.
import {
  CRASH_POINTS,
  DEPOSIT_POINTS,
  REFILL_POINTS,
  SENDER_POINTS,
  STATEMENT_POINTS,
  TEST_ORDER_POINTS,
} from '../../src/base/crash-point.js';
import { forEachConcurrently } from '../../src/base/concurrency.js';
import { isApiPoint, isEveryday, isRare, isSenderPoint, SCENES, type Point, type Scene } from './scenes.js';
import { Stage, type Death, type StageOptions } from './stage.js';

export interface ProgrammeOptions extends StageOptions {
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
/** In a scene workers die one after another, each after the previous leases expired. */
const SCENE_LIMIT_MS = 25_000;

export async function crashProgramme(options: ProgrammeOptions): Promise<Outcome> {
  const stage = await Stage.open(options);
  try {
    return await new Programme(stage, options).run();
  } finally {
    await stage.close();
  }
}

class Programme {
  private readonly hits = new Map<Point, number>();

  constructor(
    private readonly stage: Stage,
    private readonly options: ProgrammeOptions,
  ) {}

  async run(): Promise<Outcome> {
    const { stage, options } = this;
    const rounds = Array.from({ length: options.times }, (_, round) =>
      options.points.map((point) => ({ point, round })),
    ).flat();
    const selling = new AbortController();
    const customers = stage.keepBuying(selling.signal);
    try {
      const everyday = rounds.flatMap(({ point, round }) => (isEveryday(point) ? [{ point, round }] : []));
      // Runs next to dying workers: they produce the events and deliveries to send.
      const sending = this.killSenders(rounds);
      sending.catch(() => undefined);
      await forEachConcurrently([...everyday.entries()], WORKERS_AT_ONCE, async ([index, { point, round }]) => {
        if (index === Math.floor(everyday.length / 2)) await stage.flushRedis();
        await this.insist(point, round, (n) => stage.killWorkerAt(point, n));
      });
      // Without a worker that reads the wallets, nothing is sold.
      const worker = await stage.world.startWorker();
      for (const { point, round } of rounds) {
        if (isApiPoint(point)) await this.insist(point, round, (n) => stage.killApiAt(point, n === 1 ? 1 : 2));
      }
      await sending;
      await stage.stopAndForget(worker);
      for (let round = 0; round < options.times; round += 1) for (const scene of SCENES) await this.play(scene);
    } finally {
      selling.abort();
      await customers;
    }
    await stage.finish(options.finishLimitMs);
    for (const point of options.points) {
      const count = this.hits.get(point) ?? 0;
      if (count < options.times) stage.violations.push(`${point} was hit ${count.toString()} times`);
    }
    return { hits: this.hits, violations: stage.violations, orders: await this.orders() };
  }

  /** Kills senders sequentially; each continues with the leftovers of the previous one. */
  private async killSenders(rounds: readonly { readonly point: Point; readonly round: number }[]): Promise<void> {
    for (const { point, round } of rounds) {
      if (isSenderPoint(point)) {
        await this.insist(point, round, (n) => this.stage.killSenderAt(point, isRare(point) ? 1 : n));
      }
    }
    await this.stage.startSending();
  }

  /** Starts one worker for each point of the scene, concurrently: later ones find the leftovers of the first to die. */
  private async play(scene: Scene): Promise<void> {
    let missing = scene.points.filter((point) => this.options.points.includes(point));
    for (let attempt = 0; attempt < TRIES_MAX && missing.length > 0; attempt += 1) {
      const over = new AbortController();
      await scene.prepare?.(this.stage);
      const provoking = scene.provoke?.(this.stage, over.signal);
      provoking?.catch(() => undefined);
      const deaths = await Promise.all(
        missing.map(async (point) => {
          const death = await this.stage.killWorkerAt(point, 1, SCENE_LIMIT_MS, scene.env);
          await this.note(point, 1, death);
          return death;
        }),
      );
      over.abort();
      await provoking;
      await scene.restore?.(this.stage);
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
    await this.stage.check(`after ${point}:${n.toString()}`);
  }

  private async orders(): Promise<Outcome['orders']> {
    return this.stage.database.query(
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
