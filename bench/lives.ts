// What an order costs: the CPU of everything that a service is made of, while orders are bought of two services at once, so
// that whatever the machine does meanwhile meets both. What the same processes take while nothing is asked of them is not an
// order's and taken off.
import { readdir, readFile } from 'node:fs/promises';
import { freePort } from '../packages/local/src/ports.js';
import type { NodeProcess } from '../packages/local/src/processes.js';
import { median, type Row } from './measure.js';
import type { Stage } from './stage.js';

const RENTAL_SEC = 60;
/** Three times too fast, so that a life is over within half a minute; what each block costs weighs as much more. */
export const CHAIN = { blockMs: 1000, solidLag: 4, env: { DURATION_MIN_SEC: RENTAL_SEC.toString() } };
const TICK_MS = 10;
const IDLE_MS = 30_000;
/** Of each of the two services. */
const CALLERS = 4;
const LIVES_PER_SEC = 20;
/** From a purchase until its rental is reclaimed and that is solid, with time to spare: then as many end as begin. */
const STEADY_MS = 60_000;
const LIMIT_MS = 120_000;
const OVER_EVERY_MS = 1000;
const ASK_LIMIT_MS = 10_000;

/** Rounds of whole lives, while as many end as are bought, and the seconds of each. */
export interface LifePace {
  readonly lifeRounds: number;
  readonly seconds: number;
}

/** CPU of one order, in ms, by who spends it. */
export interface Spent {
  readonly api: number;
  readonly worker: number;
  readonly postgres: number;
}

/** Measured at once: the second is what the first is held against. */
type Meters = readonly [ours: Meter, limit: Meter];

export interface Rounds {
  readonly ours: readonly Spent[];
  readonly limit: readonly Spent[];
}

export async function atOnce(
  rounds: number,
  meters: Meters,
  measure: (meter: Meter) => Promise<Spent>,
): Promise<Rounds> {
  const spent: { ours: Spent[]; limit: Spent[] } = { ours: [], limit: [] };
  await Promise.all(meters.map((meter) => meter.rest()));
  // The first round finds both cold and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const [ours, limit] = await Promise.all([measure(meters[0]), measure(meters[1])]);
    if (round === 0) continue;
    spent.ours.push(ours);
    spent.limit.push(limit);
  }
  return spent;
}

/** Both are bought from at one rate all the time; rounds begin once as many orders end as are bought. */
export async function lives(pace: LifePace, meters: Meters): Promise<Rounds> {
  const over = new AbortController();
  const spent = await atOnce(pace.lifeRounds, meters, async (meter) => {
    if (meter.buying === undefined) {
      meter.buying = meter.buyOn(over.signal);
      await Promise.race([meter.buying, pause(STEADY_MS)]);
    }
    return meter.window(pace.seconds * 1000);
  });
  over.abort();
  await Promise.all(meters.map(async (meter) => meter.buying));
  await Promise.all(meters.map((meter) => meter.end()));
  return spent;
}

const sumOf = ({ api, worker, postgres }: Spent): number => api + worker + postgres;

export function spentRow(
  { what, against, goal }: Pick<Row, 'what' | 'against' | 'goal'>,
  { ours, limit }: Rounds,
): Row {
  const ratios = ours.map((spent, index) => sumOf(spent) / sumOf(limit[index] ?? { api: 0, worker: 0, postgres: 0 }));
  const share = (of: keyof Spent): string =>
    `${of} ${median(ours.map((each) => each[of])).toFixed(3)} beside ${median(limit.map((each) => each[of])).toFixed(3)}`;
  return {
    what,
    against,
    unit: 'ms',
    ours: median(ours.map(sumOf)),
    limit: median(limit.map(sumOf)),
    ratio: median(ratios),
    goal,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    note: (['api', 'worker', 'postgres'] as const).map(share).join(', '),
  };
}

/** CPU since some moment, and the time that passed. */
interface Reading extends Spent {
  readonly atMs: number;
}

const difference = (from: Reading, to: Reading): Reading => ({
  atMs: to.atMs - from.atMs,
  api: to.api - from.api,
  worker: to.worker - from.worker,
  postgres: to.postgres - from.postgres,
});

/** One service and the processes whose CPU is its: as many APIs as workers. */
export class Meter {
  private workers: readonly { process: NodeProcess<true>; adminPort: number }[] = [];
  private bought = 0;
  private idle: Reading | undefined;
  /** Purchases under way, once they have begun. */
  buying: Promise<void> | undefined;

  private constructor(
    private readonly stage: Stage,
    private readonly postmaster: number,
    private readonly apis: readonly { pid: number; url: string }[],
  ) {}

  static async of(stage: Stage, processes = 1): Promise<Meter> {
    const [row] = await stage.database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const { ppid } = (await statOf(row?.pid ?? 0)) ?? { ppid: 0 };
    if (ppid === 0) throw new Error('Postgres must run on this machine');
    const apis = [{ pid: stage.apiPid, url: stage.apiUrl }];
    while (apis.length < processes) {
      const { process, baseUrl } = await stage.world.startApi(await freePort(), { LOG_LEVEL: 'info' });
      apis.push({ pid: process.pid, url: baseUrl });
    }
    return new Meter(stage, ppid, apis);
  }

  async startWorkers(): Promise<void> {
    this.workers = await Promise.all(
      this.apis.map(async () => {
        const adminPort = await freePort();
        const env = { LOG_LEVEL: 'info', ADMIN_PORT: adminPort.toString() };
        return { process: await this.stage.world.startWorker(env), adminPort };
      }),
    );
  }

  /** What is bought from now on is accepted, and nothing else happens to it. */
  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.map(({ process }) => process.stop()));
    this.workers = [];
    await this.stage.sellWithoutWorker();
  }

  /** What the processes take while nothing is asked of them; all that is measured later is beyond it. */
  async rest(): Promise<void> {
    const from = await this.read();
    await pause(IDLE_MS);
    this.idle = difference(from, await this.read());
  }

  /** Orders that nobody advances. */
  async accept(count: number): Promise<Spent> {
    const from = await this.read();
    let left = count;
    const buySome = async (): Promise<void> => {
      for (; left > 0;) {
        left -= 1;
        await this.buy(3600);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, buySome));
    return this.beyondIdle(difference(from, await this.read()), count);
  }

  /** Buys at a rate until told to stop; rejects with what went wrong. */
  async buyOn(stop: AbortSignal): Promise<void> {
    const orders = new Set<Promise<void>>();
    const from = performance.now();
    for (let n = 1; !stop.aborted; n += 1) {
      const order = this.buy(RENTAL_SEC).finally(() => orders.delete(order));
      orders.add(order);
      if (orders.size >= CALLERS * LIVES_PER_SEC) await Promise.race(orders);
      await pause(Math.max(1, from + (n * 1000) / LIVES_PER_SEC - performance.now()));
    }
    await Promise.all(orders);
  }

  /** A stretch of time while orders are bought. */
  async window(ms: number): Promise<Spent> {
    const from = await this.read();
    const { bought } = this;
    await Promise.race([this.buying, pause(ms)]);
    return this.beyondIdle(difference(from, await this.read()), this.bought - bought);
  }

  /** Waits until each order is reclaimed, and its events, if there are any, have their positions. */
  async end(): Promise<void> {
    const endsAt = performance.now() + LIMIT_MS;
    while (!(await this.areOver())) {
      if (performance.now() > endsAt) throw new Error('the orders are not over');
      await pause(OVER_EVERY_MS);
    }
  }

  /** Of each worker, the orders it has moved on to `placed`: their transactions are on their way. */
  async placedByWorker(): Promise<number[]> {
    return Promise.all(
      this.workers.map(async ({ adminPort }) => {
        const answer = await fetch(`http://127.0.0.1:${adminPort.toString()}/metrics`, {
          signal: AbortSignal.timeout(ASK_LIMIT_MS),
        });
        const [, placed] = /^order_changes_total\{to="placed"\} (\d+)$/m.exec(await answer.text()) ?? [];
        if (placed === undefined) throw new Error('a worker says of no order that it placed it');
        return Number(placed);
      }),
    );
  }

  /** Milliseconds of CPU in a second while nothing is asked. */
  get idlePerSec(): Spent {
    const { idle } = this;
    if (idle === undefined) throw new Error('what idle processes take is measured first');
    const of = (name: keyof Spent): number => (idle[name] * 1000) / idle.atMs;
    return { api: of('api'), worker: of('worker'), postgres: of('postgres') };
  }

  private async areOver(): Promise<boolean> {
    const [row] = await this.stage.database.query<{ open: bigint }>(
      `SELECT (SELECT count(*) FROM leg WHERE status <> 'reclaimed')
        + (SELECT count(*) FROM event WHERE position IS NULL AND type IS NOT NULL) AS open`,
    );
    return row?.open === 0n;
  }

  private async buy(durationSec: number): Promise<void> {
    this.bought += 1;
    const body = { receive_address: this.stage.sender, energy: 65_000, duration_sec: durationSec };
    const { status, text } = await this.stage.send(
      this.stage.request(this.stage.tenant(this.bought), 'POST', '/v1/orders', body),
      this.apis[this.bought % this.apis.length]?.url,
    );
    if (status !== 202 && status !== 200) throw new Error(`an order was answered ${status.toString()}: ${text}`);
  }

  private beyondIdle(spent: Reading, count: number): Spent {
    const { idlePerSec: idle } = this;
    const of = (name: keyof Spent): number => (spent[name] - (idle[name] * spent.atMs) / 1000) / count;
    return { api: of('api'), worker: of('worker'), postgres: of('postgres') };
  }

  private async read(): Promise<Reading> {
    const [api, worker, postgres] = await Promise.all([
      ownMs(this.apis.map(({ pid }) => pid)),
      ownMs(this.workers.map(({ process }) => process.pid)),
      serverMs(this.postmaster),
    ]);
    return { atMs: performance.now(), api, worker, postgres };
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface ProcessStat {
  readonly ppid: number;
  readonly ownMs: number;
  /** Of children that have ended. */
  readonly endedMs: number;
}

/** From /proc; undefined where the process is no more. */
async function statOf(pid: number): Promise<ProcessStat | undefined> {
  const stat = await readFile(`/proc/${pid.toString()}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // Counted behind the command's name, which may hold spaces: state, parent, …, user, system, and those of ended children.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const at = (index: number): number => fields[index] ?? 0;
  return { ppid: at(1), ownMs: (at(11) + at(12)) * TICK_MS, endedMs: (at(13) + at(14)) * TICK_MS };
}

async function ownMs(pids: readonly number[]): Promise<number> {
  const stats = await Promise.all(pids.map(statOf));
  return stats.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), 0);
}

/** Of a server with every process it ever began. */
async function serverMs(postmaster: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(statOf));
  const children = stats.filter((stat) => stat?.ppid === postmaster);
  const own = await statOf(postmaster);
  return children.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), (own?.ownMs ?? 0) + (own?.endedMs ?? 0));
}
