// The parts of the chaos programme that need no world: the deck, and that every planted bug fits the build. The rounds
// themselves are `npm run chaos`.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FAULT_NAMES, planRound } from './plan.js';
import { PLANTED, plant } from './planted.js';

const ROUNDS = [1, 2, 3, 4];

it('a seed and a round give the same plan, another seed another', () => {
  for (const round of ROUNDS) expect(planRound('7', round)).toEqual(planRound('7', round));
  expect(planRound('7', 1)).not.toEqual(planRound('8', 1));
});

it.each(['1', '2', 'monday'])('four rounds of any seed plan every fault there is: %s', (seed) => {
  const names = ROUNDS.flatMap((round) => planRound(seed, round).map(({ name }) => name));
  expect(new Set(names)).toEqual(new Set(FAULT_NAMES));
});

it('there are enough planted bugs, and none twice', () => {
  expect(PLANTED.length).toBeGreaterThanOrEqual(25);
  expect(new Set(PLANTED.map(({ name }) => name)).size).toBe(PLANTED.length);
});

it('every planted bug fits the build exactly once', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'energy-planted-'));
  try {
    for (const [index, bug] of PLANTED.entries()) {
      const dist = join(dir, index.toString());
      for (const { file } of bug.changes) await cp(join('dist', file), join(dist, file));
      await expect(plant(dist, bug)).resolves.toBeUndefined();
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}, 60_000);
