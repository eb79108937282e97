// Plants one bug at a time in a copy of the build and plays rounds until records or customers show it, or runs the test
// that must show it. The unpatched build is hunted too and must show nothing: a hunt that flags a correct build is
// worthless.
import { rm } from 'node:fs/promises';
import { startServices, stopServices } from '../../setup/services.js';
import { ChaosCluster } from './cluster.js';
import { planRound, type FaultName, type PlannedFault } from './plan.js';
import { failureWith } from './named-test.js';
import type { Conditions, NamedTest, PlantedBug } from './planted-bug.js';
import { plant, PLANTED } from './planted.js';
import { commitNow, keepResults } from './results.js';
import { playRound } from './round.js';
import { bindBuild, copyOfBuild, logFor, type Settings } from './workspace.js';

/**
 * An order still unfinished by then is stuck. Healthy orders take some ten seconds, and a minute on a machine so busy
 * that transactions expire before they are sent.
 */
const HEAL_LIMIT_MS = 120_000;
/** With a still pool, wallets are read once, before the first purchase. */
const STILL_POOL = { POOL_SYNC_SEC: '600' };
/** On a still pool no rental may return capacity before the judgement: rentals outlast the round, which is longer. */
const LONG_SEC = [400];
const STILL_LENGTH_MS = 22_000;

interface Hunt {
  readonly bug: string;
  /** `round 1`, `test`; undefined = not caught. */
  readonly caught: string | undefined;
  readonly seconds: number;
  readonly by: string;
  /** The service did not start, so the hunt shows nothing. */
  readonly isUnplayed?: boolean;
}

interface Task {
  readonly name: string;
  readonly isControl: boolean;
  readonly hunt: () => Promise<Hunt>;
}

/** Selects the hunts to run. */
export interface Choice {
  readonly only: readonly string[] | undefined;
  /** The first hunt, from 1, and the number of hunts. */
  readonly from: number;
  readonly count: number;
}

/** Hunts the selected bugs and stores the results. Returns 0 if all are caught and the unpatched build is not. */
export async function huntAll(settings: Settings, choice: Choice): Promise<number> {
  const all = allTasks(settings);
  const todo = chosen(all, choice);
  const { length } = todo;
  const commit = await commitNow();
  const hunts: Hunt[] = [];
  const huntInTurn = async (): Promise<void> => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      // If the machine was too busy to start the service, tries once more.
      let found = await next.hunt();
      if (found.isUnplayed === true) found = await next.hunt();
      hunts.push(found);
      const { bug, caught = 'not caught', seconds, by } = found;
      console.log(`${bug.padEnd(52)} ${caught.padEnd(10)} ${seconds.toFixed(0).padStart(4)} s  ${by.slice(0, 160)}`);
      if (found.isUnplayed === true) continue;
      await keepResults(
        [{ name: bug, caught, by: by.slice(0, 160), seconds: Math.round(seconds), commit }],
        all.map(({ name }) => name),
      );
    }
  };
  await startServices();
  try {
    await Promise.all(Array.from({ length: settings.atOnce }, huntInTurn));
  } finally {
    await stopServices();
  }
  const isControl = (bug: string): boolean => all.some(({ name, isControl }) => isControl && name === bug);
  const caught = hunts.filter(({ bug, caught }) => !isControl(bug) && caught !== undefined).length;
  const bugs = hunts.filter(({ bug }) => !isControl(bug)).length;
  const wrong = hunts.filter(
    ({ bug, caught, isUnplayed }) => isControl(bug) && (caught !== undefined || isUnplayed === true),
  );
  console.log(`\ncaught ${caught.toString()} of ${bugs.toString()}`);
  if (wrong.length > 0) console.log('the build without a planted bug was caught too: the hunt proves nothing');
  return hunts.length === length && caught === bugs && wrong.length === 0 ? 0 : 1;
}

function allTasks(settings: Settings): readonly Task[] {
  return [
    ...CONDITIONS.map((conditions) => ({
      name: `${CONTROL}, ${conditions}`,
      isControl: true,
      hunt: () => huntNothing(settings, conditions),
    })),
    ...PLANTED.map((bug) => ({ name: bug.name, isControl: false, hunt: () => huntBug(settings, bug) })),
  ];
}

/** Throws for an unknown name. */
function chosen(all: readonly Task[], { only, from, count }: Choice): Task[] {
  const isNamed = (task: Task, name: string): boolean => task.name === name || (task.isControl && name === CONTROL);
  const unknown = only?.filter((name) => !all.some((task) => isNamed(task, name))) ?? [];
  if (unknown.length > 0) throw new Error(`no planted bug is named ${unknown.join(', ')}`);
  const named = all.filter((task) => only === undefined || only.some((name) => isNamed(task, name)));
  return named.slice(from - 1, from - 1 + count);
}

/** Late orders are the least specific violation: reported only without other ones. */
const isLate = (violation: string): boolean => violation.startsWith('I5');

/** The name of hunts on the unpatched build. */
const CONTROL = 'nothing planted';
const CONDITIONS: readonly Conditions[] = ['plain', 'alone', 'still pool'];

async function huntBug(settings: Settings, bug: PlantedBug): Promise<Hunt> {
  if (bug.test !== undefined) return huntByTest(bug, bug.test);
  const conditions = bug.conditions ?? 'plain';
  const plans = Array.from({ length: settings.rounds }, (_, index) =>
    planOn(conditions, settings, index + 1, bug.first),
  );
  return hunt(settings, bug, conditions, plans);
}

async function huntByTest(bug: PlantedBug, test: NamedTest): Promise<Hunt> {
  const startedAt = performance.now();
  const outcome = await failureWith(bug, test).then(
    (failure) => ({ caught: failure === undefined ? undefined : 'test', by: failure ?? '' }),
    (error: unknown) => ({ caught: undefined, by: `the test could not be run: ${String(error)}`, isUnplayed: true }),
  );
  return { bug: bug.name, seconds: (performance.now() - startedAt) / 1000, ...outcome };
}

/** Hunts the unpatched build once with each combination of faults used under these conditions. */
async function huntNothing(settings: Settings, conditions: Conditions): Promise<Hunt> {
  const firsts = new Map<string, readonly FaultName[] | undefined>();
  const inRounds = PLANTED.filter(({ test }) => test === undefined);
  for (const bug of inRounds)
    if ((bug.conditions ?? 'plain') === conditions) firsts.set(JSON.stringify(bug.first), bug.first);
  const plans = [...firsts.values()].map((first) => planOn(conditions, settings, 1, first));
  return hunt(settings, { name: `${CONTROL}, ${conditions}`, changes: [] }, conditions, plans);
}

function planOn(
  conditions: Conditions,
  settings: Settings,
  round: number,
  first: readonly FaultName[] | undefined,
): readonly PlannedFault[] {
  return planRound(settings.seed, round, first, conditions !== 'plain');
}

async function hunt(
  settings: Settings,
  bug: PlantedBug,
  conditions: Conditions,
  plans: readonly (readonly PlannedFault[])[],
): Promise<Hunt> {
  const startedAt = performance.now();
  const log = await logFor(`planted-${bug.name.replaceAll(/[^a-zA-Z]+/g, '-')}`);
  const build = await copyOfBuild();
  let cluster: ChaosCluster | undefined;
  // The log of a violation without a planted bug is the only trace of its cause.
  let isKept = false;
  const ends = (round: number | undefined, by: string): Hunt => ({
    bug: bug.name,
    caught: round === undefined ? undefined : `round ${round.toString()}`,
    by,
    seconds: (performance.now() - startedAt) / 1000,
  });
  const isStill = conditions === 'still pool';
  try {
    await plant(build.dist, bug);
    await bindBuild(build.dist);
    const { blockMs } = settings;
    cluster = await ChaosCluster.open({
      build: build.root,
      blockMs,
      log: log.write,
      ...(isStill ? { env: STILL_POOL } : {}),
    });
    for (const [index, plan] of plans.entries()) {
      const { violations } = await playRound(cluster, {
        name: `p${(index + 1).toString()}`,
        plan,
        lengthMs: isStill ? STILL_LENGTH_MS : settings.lengthMs,
        healLimitMs: HEAL_LIMIT_MS,
        hunt: { judgesCapacity: isStill },
        hasOverlaps: !isStill,
        ...(isStill ? { durationsSec: LONG_SEC } : {}),
        log: log.write,
      });
      for (const violation of violations) log.write('VIOLATION', violation);
      const [sign] = [...violations].sort((a, b) => Number(isLate(a)) - Number(isLate(b)));
      if (sign === undefined) continue;
      isKept = bug.changes.length === 0;
      return ends(index + 1, sign);
    }
    return ends(undefined, '');
  } catch (error) {
    return { ...ends(undefined, `the round could not be played: ${String(error)}`), isUnplayed: true };
  } finally {
    await cluster?.close();
    await build.remove();
    await log.close();
    if (!settings.keepLogs && !isKept) await rm(log.path, { force: true });
  }
}
