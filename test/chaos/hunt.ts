// Plants bugs, one at a time, in a copy of the build, and plays rounds until the books or the customers show it.
import { rm } from 'node:fs/promises';
import { Arena } from './arena.js';
import { planRound } from './plan.js';
import { plant, PLANTED, type PlantedBug } from './planted.js';
import { playRound } from './round.js';
import { copyOfBuild, logFor, type Settings } from './workshop.js';

/** An order that is not over by then is stuck: healthy ones take some ten seconds. */
const HEAL_LIMIT_MS = 60_000;

interface Hunt {
  readonly bug: string;
  /** From 1; 0 = before a round, because the service could not even start; undefined = not caught. */
  readonly round: number | undefined;
  readonly seconds: number;
  readonly by: string;
}

/** Hunts every bug, or those named; 0 when all are caught. */
export async function huntAll(settings: Settings, only: readonly string[] | undefined): Promise<number> {
  const bugs = PLANTED.filter(({ name }) => only === undefined || only.includes(name));
  const unknown = only?.filter((name) => !PLANTED.some((bug) => bug.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no planted bug is named ${unknown.join(', ')}`);
  const hunts: Hunt[] = [];
  for (const bug of bugs) {
    const found = await hunt(settings, bug);
    hunts.push(found);
    const round = found.round === undefined ? 'NOT CAUGHT' : `round ${found.round.toString()}`;
    console.log(
      `${bug.name.padEnd(48)} ${round.padEnd(10)} ${found.seconds.toFixed(0).padStart(4)} s  ${found.by.slice(0, 160)}`,
    );
  }
  const caught = hunts.filter(({ round }) => round !== undefined).length;
  console.log(`\ncaught ${caught.toString()} of ${bugs.length.toString()}`);
  return caught === bugs.length ? 0 : 1;
}

async function hunt(settings: Settings, bug: PlantedBug): Promise<Hunt> {
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
  try {
    await plant(build.dist, bug);
    arena = await Arena.open({ dist: build.dist, blockMs: settings.blockMs, log: log.write });
    for (let round = 1; round <= settings.rounds; round += 1) {
      const { violations } = await playRound(arena, {
        name: `p${round.toString()}`,
        plan: planRound(settings.seed, round, bug.first),
        lengthMs: settings.lengthMs,
        healLimitMs: HEAL_LIMIT_MS,
        isHunt: true,
        log: log.write,
      });
      for (const violation of violations) log.write('VIOLATION', violation);
      if (violations[0] !== undefined) return ends(round, violations[0]);
    }
    return ends(undefined, '');
  } finally {
    await arena?.close();
    await build.remove();
    await log.close();
    if (!settings.keepLogs) await rm(log.path, { force: true });
  }
}
