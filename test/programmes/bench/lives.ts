// The CPU cost of an order, over all parts of a service. Two services sell concurrently, so that other load on the
// machine affects both. The idle consumption of the same processes is subtracted.
import { readdir, readFile } from 'node:fs/promises';
import { freePort } from '../../../packages/local/src/ports.js';
import type { NodeProcess } from '../../../packages/local/src/processes.js';
import { median, type Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

const RENTAL_SEC = 60;
/**
 * Three times the normal speed, so that an order's life ends within half a minute. The costs per block weigh three
 * times as much.
 */
export const CHAIN = { blockMs: 1000, solidLag: 4, env: { DURATION_MIN_SEC: RENTAL_SEC.toString() } };
const TICK_MS = 10;
const IDLE_MS = 30_000;
/** Callers of each service. */
const CALLERS = 4;
const LIVES_PER_SEC = 20;
/** Time from a purchase until the reclaim is solid, with a margin. After it, as many orders end as begin. */
export const STEADY_MS = 60_000;
const LIMIT_MS = 120_000;
const OVER_EVERY_MS = 1000;
const ASK_LIMIT_MS = 10_000;

/** Rounds of whole order lives in steady state, and seconds per round. */
export interface LifePace {
  readonly lifeRounds: number;
  readonly seconds: number;
}

/** CPU of one order by consumer, ms. */
export interface Spent {
  readonly api: number;
  readonly worker: number;
  /** Zero without a sender. */
  readonly sender: number;
  readonly postgres: number;
}

const PARTS = ['api', 'worker', 'sender', 'postgres'] as const;
const NOTHING: Spent = byPart(() => 0);

/** Measured concurrently: the second is the reference for the first. */
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
  // The first round runs on cold processes and is discarded.
  for (let round = 0; round <= rounds; round += 1) {
    const [ours, limit] = await Promise.all([measure(meters[0]), measure(meters[1])]);
    if (round === 0) continue;
    spent.ours.push(ours);
    spent.limit.push(limit);
  }
  return spent;
}

/** Called at the start and at the end of all rounds, with the orders that each service has sold between. */
export interface Watch {
  readonly begin: () => Promise<unknown>;
  readonly end: (bought: readonly number[]) => Promise<unknown>;
}

/** Buys from both services at one constant rate. Rounds begin once as many orders end as are bought. */
export async function lives(pace: LifePace, meters: Meters, watch?: Watch): Promise<Rounds> {
  const over = new AbortController();
  let begun: Promise<unknown> | undefined;
  let before: readonly number[] = [];
  const spent = await atOnce(pace.lifeRounds, meters, async (meter) => {
    if (meter.buying === undefined) {
      meter.buying = meter.buyOn(over.signal);
      await Promise.race([meter.buying, pause(STEADY_MS)]);
    }
    begun ??= watch?.begin().then(() => {
      before = meters.map(({ orders }) => orders);
    });
    await begun;
    return meter.window(pace.seconds * 1000);
  });
  await watch?.end(meters.map(({ orders }, index) => orders - (before[index] ?? 0)));
  over.abort();
  await Promise.all(meters.map(async (meter) => meter.buying));
  await Promise.all(meters.map((meter) => meter.end()));
  return spent;
}

const sumOf = (spent: Spent): number => PARTS.reduce((sum, part) => sum + spent[part], 0);

export function spentRow(
  { what, against, goal }: Pick<Row, 'what' | 'against' | 'goal'>,
  { ours, limit }: Rounds,
): Row {
  const ratios = ours.map((spent, index) => sumOf(spent) / sumOf(limit[index] ?? NOTHING));
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
    note: PARTS.filter((part) => ours.some((spent) => spent[part] > 0))
      .map(share)
      .join(', '),
  };
}

/** CPU since a reference moment, with the elapsed time. */
interface Reading extends Spent {
  readonly atMs: number;
}

const difference = (from: Reading, to: Reading): Reading => ({
  atMs: to.atMs - from.atMs,
  ...byPart((part) => to[part] - from[part]),
});

function byPart(of: (part: (typeof PARTS)[number]) => number): Spent {
  return { api: of('api'), worker: of('worker'), sender: of('sender'), postgres: of('postgres') };
}

/** One service with its processes: equal numbers of APIs and workers. */
export class Meter {
  private workers: readonly { process: NodeProcess<true>; adminPort: number }[] = [];
  private senders: readonly number[] = [];
  private bought = 0;
  private idle: Reading | undefined;
  /** Running purchases, once they have begun. */
  buying: Promise<void> | undefined;

  private constructor(
    private readonly cluster: BenchCluster,
    private readonly postmaster: number,
    private readonly apis: readonly { pid: number; url: string }[],
  ) {}

  static async of(cluster: BenchCluster, processes = 1): Promise<Meter> {
    const [row] = await cluster.database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const { ppid } = (await statOf(row?.pid ?? 0)) ?? { ppid: 0 };
    if (ppid === 0) throw new Error('Postgres must run on this machine');
    const apis = [{ pid: cluster.apiPid, url: cluster.apiUrl }];
    while (apis.length < processes) {
      const { process, baseUrl } = await cluster.service.startApi(await freePort(), { LOG_LEVEL: 'info' });
      apis.push({ pid: process.pid, url: baseUrl });
    }
    return new Meter(cluster, ppid, apis);
  }

  async startWorkers(): Promise<void> {
    this.workers = await Promise.all(
      this.apis.map(async () => {
        const adminPort = await freePort();
        const env = { LOG_LEVEL: 'info', ADMIN_PORT: adminPort.toString() };
        return { process: await this.cluster.service.startWorker(env), adminPort };
      }),
    );
  }

  async startSender(): Promise<void> {
    this.senders = [(await this.cluster.service.startSender({ LOG_LEVEL: 'info' })).pid];
  }

  /** The number of orders sent so far. */
  get orders(): number {
    return this.bought;
  }

  /** Stops the workers: later orders are only accepted. */
  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.map(({ process }) => process.stop()));
    this.workers = [];
    await this.cluster.sellWithoutWorker();
  }

  /** Measures the idle consumption, which later measurements subtract. */
  async rest(): Promise<void> {
    const from = await this.read();
    await pause(IDLE_MS);
    this.idle = difference(from, await this.read());
  }

  /** Measures orders that no worker advances. */
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

  /** Buys for `projects` in turn at a constant rate until the signal aborts; rejects with the first error. */
  async buyOn(stop: AbortSignal, perSec = LIVES_PER_SEC, projects = Number.POSITIVE_INFINITY): Promise<void> {
    const orders = new Set<Promise<void>>();
    const from = performance.now();
    for (let n = 1; !stop.aborted; n += 1) {
      const order = this.buy(RENTAL_SEC, n % projects).finally(() => orders.delete(order));
      orders.add(order);
      if (orders.size >= CALLERS * perSec) await Promise.race(orders);
      await pause(Math.max(1, from + (n * 1000) / perSec - performance.now()));
    }
    await Promise.all(orders);
  }

  /** Measures a period during purchases. */
  async window(ms: number): Promise<Spent> {
    const { spent, count } = await this.period(ms);
    return this.beyondIdle(spent, count);
  }

  /** Measures a period during purchases, with the processes' idle consumption. */
  async wholeWindow(ms: number): Promise<Spent> {
    const { spent, count } = await this.period(ms);
    return byPart((part) => spent[part] / count);
  }

  private async period(ms: number): Promise<{ readonly spent: Reading; readonly count: number }> {
    const from = await this.read();
    const { bought } = this;
    await Promise.race([this.buying, pause(ms)]);
    return { spent: difference(from, await this.read()), count: this.bought - bought };
  }

  /** Waits until every order is reclaimed and all events have positions. */
  async end(): Promise<void> {
    const endsAt = performance.now() + LIMIT_MS;
    while (!(await this.areOver())) {
      if (performance.now() > endsAt) throw new Error('the orders are not over');
      await pause(OVER_EVERY_MS);
    }
  }

  /** Returns, for each worker, the number of orders it moved to `placed`: their transactions are sent. */
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

  /** CPU in ms per second while idle. */
  get idlePerSec(): Spent {
    const { idle } = this;
    if (idle === undefined) throw new Error('what idle processes take is measured first');
    const of = (name: keyof Spent): number => (idle[name] * 1000) / idle.atMs;
    return byPart(of);
  }

  private async areOver(): Promise<boolean> {
    const [row] = await this.cluster.database.query<{ open: bigint }>(
      `SELECT (SELECT count(*) FROM leg WHERE status <> 'reclaimed')
        + (SELECT count(*) FROM event WHERE position IS NULL AND type IS NOT NULL) AS open`,
    );
    return row?.open === 0n;
  }

  private async buy(durationSec: number, project = this.bought): Promise<void> {
    this.bought += 1;
    const receiver = this.cluster.receiver(this.bought);
    const body = { receive_address: receiver, energy: 65_000, duration_sec: durationSec };
    const { status, text } = await this.cluster.send(
      this.cluster.request(this.cluster.tenant(project), 'POST', '/v1/orders', body),
      this.apis[this.bought % this.apis.length]?.url,
    );
    if (status !== 202 && status !== 200) throw new Error(`an order was answered ${status.toString()}: ${text}`);
  }

  private beyondIdle(spent: Reading, count: number): Spent {
    const { idlePerSec: idle } = this;
    const of = (name: keyof Spent): number => (spent[name] - (idle[name] * spent.atMs) / 1000) / count;
    return byPart(of);
  }

  private async read(): Promise<Reading> {
    const [api, worker, sender, postgres] = await Promise.all([
      ownMs(this.apis.map(({ pid }) => pid)),
      ownMs(this.workers.map(({ process }) => process.pid)),
      ownMs(this.senders),
      serverMs(this.postmaster),
    ]);
    return { atMs: performance.now(), api, worker, sender, postgres };
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface ProcessStat {
  readonly ppid: number;
  readonly ownMs: number;
  /** Of ended children. */
  readonly endedMs: number;
}

/** Reads /proc; returns undefined if the process has ended. */
async function statOf(pid: number): Promise<ProcessStat | undefined> {
  const stat = await readFile(`/proc/${pid.toString()}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // Counted after the command's name, which may contain spaces: state, parent, …, user, system, and those of ended
  // children.
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

/** Returns the CPU of a server with all its past and present processes. */
async function serverMs(postmaster: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(statOf));
  const children = stats.filter((stat) => stat?.ppid === postmaster);
  const own = await statOf(postmaster);
  return children.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), (own?.ownMs ?? 0) + (own?.endedMs ?? 0));
}
