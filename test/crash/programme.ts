// Kills a process at every named point and holds the records to their rules after each death; at the end every order
// is over and the chain agrees.
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
  /** How often a process died at each point. */
  readonly hits: ReadonlyMap<Point, number>;
  readonly violations: readonly string[];
  readonly orders: readonly {
    readonly status: string;
    readonly kind: string;
    readonly orders: number;
    readonly legs: number;
  }[];
}

/** Workers that live, and die, at the same time. */
const WORKERS_AT_ONCE = 3;
/** Which passing of an everyday point kills: not always the first. */
const PASSINGS = [1, 2, 1, 3, 5];
const TRIES_MAX = 3;
/** In a scene one worker dies after the other, each when the leases of the one before have run out. */
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
      // Beside workers that die: what is numbered meanwhile, and what waited, is there to be sent.
      const sending = this.killSenders(rounds);
      sending.catch(() => undefined);
      await forEachConcurrently([...everyday.entries()], WORKERS_AT_ONCE, async ([index, { point, round }]) => {
        if (index === Math.floor(everyday.length / 2)) await stage.flushRedis();
        await this.insist(point, round, (n) => stage.killWorkerAt(point, n));
      });
      // Nothing is sold while no worker reads the wallets.
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

  /** One after the other, each with what the one before left. */
  private async killSenders(rounds: readonly { readonly point: Point; readonly round: number }[]): Promise<void> {
    for (const { point, round } of rounds) {
      if (isSenderPoint(point)) {
        await this.insist(point, round, (n) => this.stage.killSenderAt(point, isRare(point) ? 1 : n));
      }
    }
    await this.stage.startSending();
  }

  /** One worker for each point of the scene, all at once: what the first to die leaves behind the next ones find. */
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

  /** Tries until a process has died there; what is due at the moment decides whether the first one does. */
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

/** The points of this list, or all of them. Throws for a name that is none. */
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
