// What events cost: CPU of the same service, with them and without, both at once, so that whatever the machine does
// meanwhile meets both. The service without them is a copy of the build in which orders keep the history of their moves,
// but no event is written and nobody numbers; what `verify` expects of the database is changed with it, in the copy alone.
import { readdir, readFile } from 'node:fs/promises';
import { plant } from '../test/chaos/planted.js';
import { SCHEMA, type PlantedBug } from '../test/chaos/planted-bug.js';
import { bindBuild, copyOfBuild } from '../test/chaos/workshop.js';
import type { World } from '../packages/local/src/world.js';
import { median, type Row } from './measure.js';
import { Stage } from './stage.js';

const WITHOUT_EVENTS: PlantedBug = {
  name: 'without events',
  changes: [
    {
      file: SCHEMA,
      find: `  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');\n`,
      put: '',
    },
    {
      file: SCHEMA,
      find: '     v_type text := CASE\n       WHEN NEW.project_id',
      put: '     v_type text := CASE\n       WHEN true THEN NULL\n       WHEN NEW.project_id',
    },
    {
      file: 'events/numberer.ts',
      find: '  start(): void {\n    void this.repeater.start();\n  }',
      put: '  start(): void {}',
    },
  ],
};

const RENTAL_SEC = 60;
/** Three times too fast, so that a life is over within half a minute; what each block costs weighs as much more. */
const CHAIN = { blockMs: 1000, solidLag: 4, env: { DURATION_MIN_SEC: RENTAL_SEC.toString() } };
const TICK_MS = 10;
const IDLE_MS = 30_000;
/** Of each of the two services. */
const CALLERS = 4;
const LIVES_PER_SEC = 20;
/** From a purchase until its rental is reclaimed and that is solid, with time to spare: then as many end as begin. */
const STEADY_MS = 60_000;
const LIMIT_MS = 120_000;
const OVER_EVERY_MS = 1000;

export interface EventPace {
  /** Rounds of orders that are only accepted, and how many in each. */
  readonly acceptRounds: number;
  readonly accepted: number;
  /** Rounds of whole lives, while as many end as are bought, and the seconds of each. */
  readonly lifeRounds: number;
  readonly seconds: number;
}

/** CPU of one order, in ms, by who spends it. */
interface Spent {
  readonly api: number;
  readonly worker: number;
  readonly postgres: number;
}

export async function eventRows(pace: EventPace): Promise<Row[]> {
  const copy = await copyOfBuild();
  const stages: Stage[] = [];
  try {
    await plant(copy.dist, WITHOUT_EVENTS);
    await bindBuild(copy.dist);
    for (const build of [undefined, copy.root]) {
      stages.push(await Stage.open({ ...CHAIN, ...(build === undefined ? {} : { build }) }));
    }
    const [ours, bare] = await Promise.all(stages.map((stage) => Meter.of(stage)));
    if (ours === undefined || bare === undefined) throw new Error('two services are measured');
    await Promise.all([ours.startWorker(), bare.startWorker()]);
    const living = await lives(pace, [ours, bare]);
    await Promise.all([ours.stopWorker(), bare.stopWorker()]);
    const accepting = await atOnce(pace.acceptRounds, [ours, bare], (meter) => meter.accept(pace.accepted));
    return [
      rowOf('CPU of accepting an order, API and Postgres', 'ratio ≤ 1.05', accepting),
      rowOf('CPU of an order’s whole life, numberer included', 'ratio ≤ 1.10', living),
    ];
  } finally {
    for (const stage of stages) await stage.close();
    await copy.remove();
  }
}

type Meters = readonly [ours: Meter, bare: Meter];

interface Rounds {
  readonly ours: readonly Spent[];
  readonly bare: readonly Spent[];
}

async function atOnce(rounds: number, meters: Meters, measure: (meter: Meter) => Promise<Spent>): Promise<Rounds> {
  const spent: { ours: Spent[]; bare: Spent[] } = { ours: [], bare: [] };
  await Promise.all(meters.map((meter) => meter.rest()));
  // The first round finds both cold and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const [ours, bare] = await Promise.all([measure(meters[0]), measure(meters[1])]);
    if (round === 0) continue;
    spent.ours.push(ours);
    spent.bare.push(bare);
  }
  return spent;
}

/** Both are bought from at one rate all the time; rounds begin once as many orders end as are bought. */
async function lives(pace: EventPace, meters: Meters): Promise<Rounds> {
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

function rowOf(what: string, goal: string, { ours, bare }: Rounds): Row {
  const ratios = ours.map((spent, index) => sumOf(spent) / sumOf(bare[index] ?? { api: 0, worker: 0, postgres: 0 }));
  const share = (of: keyof Spent): string =>
    `${of} ${median(ours.map((each) => each[of])).toFixed(3)} beside ${median(bare.map((each) => each[of])).toFixed(3)}`;
  return {
    what,
    against: 'the same without events, moves of orders kept',
    unit: 'ms',
    ours: median(ours.map(sumOf)),
    limit: median(bare.map(sumOf)),
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

/** One service and the processes whose CPU is its. */
class Meter {
  private worker: Awaited<ReturnType<World['startWorker']>> | undefined;
  private bought = 0;
  private idle: Reading | undefined;
  /** Purchases under way, once they have begun. */
  buying: Promise<void> | undefined;

  private constructor(
    private readonly stage: Stage,
    private readonly postmaster: number,
  ) {}

  static async of(stage: Stage): Promise<Meter> {
    const [row] = await stage.database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const { ppid } = (await statOf(row?.pid ?? 0)) ?? { ppid: 0 };
    if (ppid === 0) throw new Error('Postgres must run on this machine');
    return new Meter(stage, ppid);
  }

  async startWorker(): Promise<void> {
    this.worker = await this.stage.world.startWorker({ LOG_LEVEL: 'info' });
  }

  /** What is bought from now on is accepted, and nothing else happens to it. */
  async stopWorker(): Promise<void> {
    await this.worker?.stop();
    this.worker = undefined;
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
    );
    if (status !== 202 && status !== 200) throw new Error(`an order was answered ${status.toString()}: ${text}`);
  }

  private beyondIdle(spent: Reading, count: number): Spent {
    const { idle } = this;
    if (idle === undefined) throw new Error('what idle processes take is measured first');
    const of = (name: keyof Spent): number => (spent[name] - (idle[name] * spent.atMs) / idle.atMs) / count;
    return { api: of('api'), worker: of('worker'), postgres: of('postgres') };
  }

  private async read(): Promise<Reading> {
    const [api, worker, postgres] = await Promise.all([
      ownMs(this.stage.apiPid),
      this.worker === undefined ? 0 : ownMs(this.worker.pid),
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

async function ownMs(pid: number): Promise<number> {
  return (await statOf(pid))?.ownMs ?? 0;
}

/** Of a server with every process it ever began. */
async function serverMs(postmaster: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(statOf));
  const children = stats.filter((stat) => stat?.ppid === postmaster);
  const own = await statOf(postmaster);
  return children.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), (own?.ownMs ?? 0) + (own?.endedMs ?? 0));
}
