// Faults of processes and servers, one function for each. Each returns how often it took effect.
import { sleep } from '../../src/base/clock.js';
import { seededRandom } from '../../packages/devnet/src/faults-spec.js';
import type { CrashPoint, SenderPoint } from '../../src/base/crash-point.js';
import type { Arena } from './arena.js';
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

type Inject = (arena: Arena, fault: PlannedFault, lastsMs: number, over: AbortSignal) => Promise<number>;

type Role = keyof Arena['actors'];

/** A crash point that every process of the role passes regularly. */
const EVERYDAY: Readonly<Record<Role, CrashPoint | SenderPoint>> = {
  api: 'accept.after',
  worker: 'claim.after',
  sender: 'webhook-fresh.after',
};

async function dieAtPoint(arena: Arena, role: Role, fault: PlannedFault, over: AbortSignal): Promise<number> {
  const actor = arena.actors[role][fault.which];
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

async function freeze(arena: Arena, role: Role, fault: PlannedFault, over: AbortSignal): Promise<number> {
  const actor = arena.actors[role][fault.which];
  if (actor === undefined || !(await actor.comesUp(START_LIMIT_MS)) || !actor.signal('SIGSTOP')) return 0;
  await sleep(fault.stopMs, over);
  actor.signal('SIGCONT');
  return 1;
}

const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** Stops a worker in the middle of its work for longer than its lease, then resumes it; three times. */
async function stopAtPoints(arena: Arena, fault: PlannedFault, over: AbortSignal): Promise<number> {
  const actor = arena.actors.worker[fault.which];
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
  arena: Arena,
  role: 'api' | 'worker',
  fault: PlannedFault,
  lastsMs: number,
  over: AbortSignal,
): Promise<number> {
  const actor = arena.actors[role][fault.which];
  if (actor === undefined) return 0;
  actor.restart(arena.shifted(fault.shiftMs));
  if (!(await actor.comesUp(START_LIMIT_MS))) return 0;
  await sleep(Math.max(lastsMs, 4_000), over);
  return 1;
}

export const FAULTS: Readonly<Record<OtherFault, Inject>> = {
  ...OUTSIDERS,
  'worker killed at a point': (arena, fault, _ms, over) => dieAtPoint(arena, 'worker', fault, over),
  'API killed at a point': (arena, fault, _ms, over) => dieAtPoint(arena, 'api', fault, over),
  'worker killed': async (arena, fault) => {
    const actor = arena.actors.worker[fault.which];
    if (actor === undefined || !(await actor.comesUp(START_LIMIT_MS))) return 0;
    return actor.signal('SIGKILL') ? 1 : 0;
  },
  'worker stopped (SIGSTOP)': (arena, fault, _ms, over) => freeze(arena, 'worker', fault, over),
  'worker stopped at a point': (arena, fault, _ms, over) => stopAtPoints(arena, fault, over),
  'API stopped (SIGSTOP)': (arena, fault, _ms, over) => freeze(arena, 'api', fault, over),
  'worker clock shifted': (arena, fault, lastsMs, over) => shift(arena, 'worker', fault, lastsMs, over),
  'API clock shifted': (arena, fault, lastsMs, over) => shift(arena, 'api', fault, lastsMs, over),
  'sender killed at a point': (arena, fault, _ms, over) => dieAtPoint(arena, 'sender', fault, over),
  'sender stopped (SIGSTOP)': (arena, fault, _ms, over) => freeze(arena, 'sender', fault, over),
  'receivers away': (arena, _fault, lastsMs, over) => arena.receivers.misbehave('away', lastsMs, over),
  'receivers slow': (arena, _fault, lastsMs, over) => arena.receivers.misbehave('slow', lastsMs, over),
  'receivers that lie': (arena, _fault, lastsMs, over) => arena.receivers.misbehave('lying', lastsMs, over),
  'Redis flushed': async (arena, _fault, _ms, over) => {
    // Redis may be down at the moment.
    for (let waitedMs = 0; waitedMs < QUIET_MS && !over.aborted; waitedMs += 500) {
      const isDone = await arena.flushRedis().then(
        () => true,
        () => false,
      );
      if (isDone) return 1;
      await sleep(500, over);
    }
    return 0;
  },
  'Redis down': async (arena, _fault, lastsMs, over) => {
    await arena.redisDown(lastsMs, over);
    return 1;
  },
  'Postgres restarted': async (arena) => {
    await arena.restartPostgres();
    return 1;
  },
  'standby promoted with lost commits': (arena, _fault, _ms, over) => arena.failOver(over),
  'Postgres connections killed': async (arena, _fault, _ms, over) => {
    // A server that is just restarting has no connections.
    for (let waitedMs = 0; waitedMs < QUIET_MS && !over.aborted; waitedMs += 500) {
      const ended = await arena.killConnections().catch(() => 0);
      if (ended > 0) return ended;
      await sleep(500, over);
    }
    return 0;
  },
  'database clock stepped': async (arena, fault, lastsMs, over) => {
    const random = seededRandom(fault.seed);
    const by = CLOCK_STEPS[Math.floor(random() * CLOCK_STEPS.length)] ?? '1 hour';
    if (!(await arena.stepClock(by, over))) return 0;
    await sleep(lastsMs, over);
    // The clock must be correct when the round is judged.
    await arena.stepClock('0');
    await sleep(CLOCK_SEEN_MS);
    await arena.keepRates().catch(() => undefined);
    return 1;
  },
  'cut after COMMIT': async (arena, fault, lastsMs, over) => {
    const before = arena.proxy.cuts;
    arena.proxy.arm(CUT_RATE, seededRandom(fault.seed));
    await sleep(lastsMs, over);
    for (let waitedMs = 0; waitedMs < QUIET_MS && arena.proxy.cuts === before && !over.aborted; waitedMs += 500) {
      await sleep(500, over);
    }
    arena.proxy.arm(0, () => 1);
    return arena.proxy.cuts - before;
  },
};
