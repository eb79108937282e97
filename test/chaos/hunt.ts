// Plants bugs, one at a time, in a copy of the build, and plays rounds until the books or the customers show it. What is
// not patched is hunted as well, and must show nothing: a hunt that catches a correct build is worth nothing.
import { rm } from 'node:fs/promises';
import { Arena } from './arena.js';
import { planRound, type FaultName, type PlannedFault } from './plan.js';
import type { Ground, PlantedBug } from './planted-bug.js';
import { plant, PLANTED } from './planted.js';
import { playRound } from './round.js';
import { bindBuild, copyOfBuild, logFor, type Settings } from './workshop.js';

/**
 * An order that is not over by then is stuck: healthy ones take some ten seconds, on a machine so busy that transactions
 * expire before they are sent a minute.
 */
const HEAL_LIMIT_MS = 120_000;
/** Wallets of a still pool are read once, before anybody buys. */
const STILL_POOL = { POOL_SYNC_SEC: '600' };
/** On a still pool nothing comes back from rentals while it is looked at: they outlast the round, which is longer. */
const LONG_SEC = [400];
const STILL_LENGTH_MS = 22_000;

interface Hunt {
  readonly bug: string;
  /** From 1; undefined = not caught. */
  readonly round: number | undefined;
  readonly seconds: number;
  readonly by: string;
  /** The service did not even start: nothing is shown. */
  readonly isUnplayed?: boolean;
}

/** Hunts every bug, or those named; 0 when all are caught and the build without one is not. */
export async function huntAll(settings: Settings, only: readonly string[] | undefined): Promise<number> {
  const bugs = PLANTED.filter(({ name }) => only === undefined || only.includes(name));
  const unknown = only?.filter((name) => name !== CONTROL && !PLANTED.some((bug) => bug.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no planted bug is named ${unknown.join(', ')}`);
  const hunts: Hunt[] = [];
  const todo: (() => Promise<Hunt>)[] = bugs.map((bug) => () => huntBug(settings, bug));
  if (only === undefined || only.includes(CONTROL)) {
    todo.unshift(...GROUNDS.map((ground) => () => huntNothing(settings, ground)));
  }
  const lane = async (): Promise<void> => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      // A machine that is too busy to start the service is asked once more.
      let found = await next();
      if (found.isUnplayed === true) found = await next();
      hunts.push(found);
      const round = found.round === undefined ? 'not caught' : `round ${found.round.toString()}`;
      console.log(
        `${found.bug.padEnd(52)} ${round.padEnd(10)} ${found.seconds.toFixed(0).padStart(4)} s  ${found.by.slice(0, 160)}`,
      );
    }
  };
  await Promise.all(Array.from({ length: settings.atOnce }, lane));
  const caught = hunts.filter(({ bug, round }) => !bug.startsWith(CONTROL) && round !== undefined).length;
  const falsely = hunts.filter(({ bug, round }) => bug.startsWith(CONTROL) && round !== undefined).length;
  console.log(`\ncaught ${caught.toString()} of ${bugs.length.toString()}`);
  if (falsely > 0) console.log('the build without a planted bug was caught too: the hunt proves nothing');
  return caught === bugs.length && falsely === 0 ? 0 : 1;
}

/** Orders that are not over in time say the least of what is wrong: told when nothing else is. */
const isLate = (violation: string): boolean => violation.startsWith('I5');

/** The name under which the build is hunted as it is. */
const CONTROL = 'nothing planted';
const GROUNDS: readonly Ground[] = ['plain', 'alone', 'still pool'];

async function huntBug(settings: Settings, bug: PlantedBug): Promise<Hunt> {
  const ground = bug.ground ?? 'plain';
  const plans = Array.from({ length: settings.rounds }, (_, index) => planOn(ground, settings, index + 1, bug.first));
  return hunt(settings, bug, ground, plans);
}

/** Every way in which a bug is hunted on this ground, once. */
async function huntNothing(settings: Settings, ground: Ground): Promise<Hunt> {
  const firsts = new Map<string, readonly FaultName[] | undefined>();
  for (const bug of PLANTED) if ((bug.ground ?? 'plain') === ground) firsts.set(JSON.stringify(bug.first), bug.first);
  const plans = [...firsts.values()].map((first) => planOn(ground, settings, 1, first));
  return hunt(settings, { name: `${CONTROL}, ${ground}`, changes: [] }, ground, plans);
}

function planOn(
  ground: Ground,
  settings: Settings,
  round: number,
  first: readonly FaultName[] | undefined,
): readonly PlannedFault[] {
  return planRound(settings.seed, round, first, ground !== 'plain');
}

async function hunt(
  settings: Settings,
  bug: PlantedBug,
  ground: Ground,
  plans: readonly (readonly PlannedFault[])[],
): Promise<Hunt> {
  const startedAt = performance.now();
  const log = await logFor(`planted-${bug.name.replaceAll(/[^a-zA-Z]+/g, '-')}`);
  const build = await copyOfBuild();
  let arena: Arena | undefined;
  const ends = (round: number | undefined, by: string): Hunt => ({
    bug: bug.name,
    round,
    by,
    seconds: (performance.now() - startedAt) / 1000,
  });
  const isStill = ground === 'still pool';
  try {
    await plant(build.dist, bug);
    await bindBuild(build.dist);
    const { blockMs } = settings;
    arena = await Arena.open({ dist: build.dist, blockMs, log: log.write, ...(isStill ? { env: STILL_POOL } : {}) });
    for (const [index, plan] of plans.entries()) {
      const { violations } = await playRound(arena, {
        name: `p${(index + 1).toString()}`,
        plan,
        lengthMs: isStill ? STILL_LENGTH_MS : settings.lengthMs,
        healLimitMs: HEAL_LIMIT_MS,
        hunt: { judgesCapacity: isStill },
        ...(isStill ? { durationsSec: LONG_SEC } : {}),
        log: log.write,
      });
      for (const violation of violations) log.write('VIOLATION', violation);
      const [sign] = [...violations].sort((a, b) => Number(isLate(a)) - Number(isLate(b)));
      if (sign !== undefined) return ends(index + 1, sign);
    }
    return ends(undefined, '');
  } catch (error) {
    return { ...ends(undefined, `the round could not be played: ${String(error)}`), isUnplayed: true };
  } finally {
    await arena?.close();
    await build.remove();
    await log.close();
    if (!settings.keepLogs) await rm(log.path, { force: true });
  }
}
