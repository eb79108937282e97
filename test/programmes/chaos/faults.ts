// Faults of processes and servers, one function for each. Each returns how often it took effect.
import { sleep } from '../../../src/platform/support/clock.js';
import { seededRandom } from '../../../packages/devnet/src/faults-spec.js';
import type { CrashPoint, SenderPoint } from '../../../src/platform/support/crash-point.js';
import type { ChaosCluster } from './cluster.js';
import { OUTSIDERS } from './outsiders.js';
import { HOLDING_POINTS, type OtherFault, type PlannedFault } from './plan.js';

const CUT_RATE = 0.2;
/** Longer than the lease of two seconds. */
const HELD_MS = 3_500;
const STOP_LIMIT_MS = 15_000;
/** Additional duration of a fault that has had no effect. */
export const QUIET_MS = 12_000;
/** A process starts within seconds; on a busy machine it takes tens of seconds. */
export const START_LIMIT_MS = 30_000;

/** Temporary offsets of the database clock. */
const CLOCK_STEPS = ['1 hour', '-1 hour', '1 day', '-1 day', '31 days', '-31 days'] as const;

/** Time within which every worker detects that the clock was set back. */
const CLOCK_SEEN_MS = 15_000;

type Inject = (cluster: ChaosCluster, fault: PlannedFault, lastsMs: number, over: AbortSignal) => Promise<number>;

type Role = keyof ChaosCluster['actors'];

/** A crash point that every process of the role passes regularly. */
const EVERYDAY: Readonly<Record<Role, CrashPoint | SenderPoint>> = {
  api: 'accept.after',
  worker: 'claim.after',
  sender: 'webhook-fresh.after',
};

async function dieAtPoint(cluster: ChaosCluster, role: Role, fault: PlannedFault, over: AbortSignal): Promise<number> {
  const actor = cluster.actors[role][fault.which];
  if (actor === undefined) return 0;
  const before = actor.deathsAtPoint;
  const own = role === 'sender' ? fault.senderPoint : fault.point;
  // If the process does not reach its point, it falls back to one that all processes pass.
  for (const [point, limitMs] of [
    [`${own}:${fault.passing.toString()}`, 12_000],
    [`${EVERYDAY[role]}:1`, 30_000],
  ] as const) {
    actor.restart({ CRASH_AT: point });
    for (let waitedMs = 0; waitedMs < limitMs && actor.deathsAtPoint === before; waitedMs += 100)
      await sleep(100, over.aborted ? undefined : over);
    if (actor.deathsAtPoint > before || over.aborted) break;
  }
  return actor.deathsAtPoint - before;
}

async function freeze(cluster: ChaosCluster, role: Role, fault: PlannedFault, over: AbortSignal): Promise<number> {
  const actor = cluster.actors[role][fault.which];
  if (actor === undefined || !(await actor.comesUp(START_LIMIT_MS)) || !actor.signal('SIGSTOP')) return 0;
  await sleep(fault.stopMs, over);
  actor.signal('SIGCONT');
  return 1;
}

const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** Stops a worker in the middle of its work for longer than its lease, then resumes it; three times. */
async function stopAtPoints(cluster: ChaosCluster, fault: PlannedFault, over: AbortSignal): Promise<number> {
  const actor = cluster.actors.worker[fault.which];
  if (actor === undefined) return 0;
  const random = seededRandom(fault.seed);
  let times = 0;
  for (let turn = 0; turn < 3 && !over.aborted; turn += 1) {
    const point = HOLDING_POINTS[Math.floor(random() * HOLDING_POINTS.length)] ?? 'load.after';
    actor.restart({ CRASH_AT: `${point}:2:stop` });
    let isStopped = false;
    for (let waitedMs = 0; waitedMs < STOP_LIMIT_MS && !isStopped; waitedMs += 200) {
      await sleep(200, over);
      isStopped = await actor.isStopped();
      if (isOver(over)) break;
    }
    if (!isStopped) continue;
    await sleep(HELD_MS, over);
    actor.signal('SIGCONT');
    times += 1;
    // Long enough to complete the interrupted step.
    await sleep(500, over);
  }
  return times;
}

async function shift(
  cluster: ChaosCluster,
  role: 'api' | 'worker',
  fault: PlannedFault,
  lastsMs: number,
  over: AbortSignal,
): Promise<number> {
  const actor = cluster.actors[role][fault.which];
  if (actor === undefined) return 0;
  actor.restart(cluster.shifted(fault.shiftMs));
  if (!(await actor.comesUp(START_LIMIT_MS))) return 0;
  await sleep(Math.max(lastsMs, 4_000), over);
  return 1;
}

export const FAULTS: Readonly<Record<OtherFault, Inject>> = {
  ...OUTSIDERS,
  'worker killed at a point': (cluster, fault, _ms, over) => dieAtPoint(cluster, 'worker', fault, over),
  'API killed at a point': (cluster, fault, _ms, over) => dieAtPoint(cluster, 'api', fault, over),
  'worker killed': async (cluster, fault) => {
    const actor = cluster.actors.worker[fault.which];
    if (actor === undefined || !(await actor.comesUp(START_LIMIT_MS))) return 0;
    return actor.signal('SIGKILL') ? 1 : 0;
  },
  'worker stopped (SIGSTOP)': (cluster, fault, _ms, over) => freeze(cluster, 'worker', fault, over),
  'worker stopped at a point': (cluster, fault, _ms, over) => stopAtPoints(cluster, fault, over),
  'API stopped (SIGSTOP)': (cluster, fault, _ms, over) => freeze(cluster, 'api', fault, over),
  'worker clock shifted': (cluster, fault, lastsMs, over) => shift(cluster, 'worker', fault, lastsMs, over),
  'API clock shifted': (cluster, fault, lastsMs, over) => shift(cluster, 'api', fault, lastsMs, over),
  'sender killed at a point': (cluster, fault, _ms, over) => dieAtPoint(cluster, 'sender', fault, over),
  'sender stopped (SIGSTOP)': (cluster, fault, _ms, over) => freeze(cluster, 'sender', fault, over),
  'receivers away': (cluster, _fault, lastsMs, over) => cluster.receivers.misbehave('away', lastsMs, over),
  'receivers slow': (cluster, _fault, lastsMs, over) => cluster.receivers.misbehave('slow', lastsMs, over),
  'receivers that lie': (cluster, _fault, lastsMs, over) => cluster.receivers.misbehave('lying', lastsMs, over),
  'Redis flushed': async (cluster, _fault, _ms, over) => {
    // Redis may be down at the moment.
    for (let waitedMs = 0; waitedMs < QUIET_MS && !over.aborted; waitedMs += 500) {
      const isDone = await cluster.flushRedis().then(
        () => true,
        () => false,
      );
      if (isDone) return 1;
      await sleep(500, over);
    }
    return 0;
  },
  'Redis down': async (cluster, _fault, lastsMs, over) => {
    await cluster.redisDown(lastsMs, over);
    return 1;
  },
  'Postgres restarted': async (cluster) => {
    await cluster.restartPostgres();
    return 1;
  },
  'standby promoted with lost commits': (cluster, _fault, _ms, over) => cluster.failOver(over),
  'Postgres connections killed': async (cluster, _fault, _ms, over) => {
    // A server that is just restarting has no connections.
    for (let waitedMs = 0; waitedMs < QUIET_MS && !over.aborted; waitedMs += 500) {
      const ended = await cluster.killConnections().catch(() => 0);
      if (ended > 0) return ended;
      await sleep(500, over);
    }
    return 0;
  },
  'database clock stepped': async (cluster, fault, lastsMs, over) => {
    const random = seededRandom(fault.seed);
    const by = CLOCK_STEPS[Math.floor(random() * CLOCK_STEPS.length)] ?? '1 hour';
    if (!(await cluster.stepClock(by, over))) return 0;
    await sleep(lastsMs, over);
    // The clock must be correct when the round is judged.
    await cluster.stepClock('0');
    await sleep(CLOCK_SEEN_MS);
    await cluster.keepRates().catch(() => undefined);
    return 1;
  },
  'cut after COMMIT': async (cluster, fault, lastsMs, over) => {
    const before = cluster.proxy.cuts;
    cluster.proxy.arm(CUT_RATE, seededRandom(fault.seed));
    await sleep(lastsMs, over);
    for (let waitedMs = 0; waitedMs < QUIET_MS && cluster.proxy.cuts === before && !over.aborted; waitedMs += 500) {
      await sleep(500, over);
    }
    cluster.proxy.arm(0, () => 1);
    return cluster.proxy.cuts - before;
  },
};
