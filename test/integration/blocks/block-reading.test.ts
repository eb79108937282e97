// Deposits and the search share one reading of solid blocks. Each node is asked once per block, and neither consumer
// waits for data that only the other needs.
import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import {
  BLOCK,
  INFOS,
  START_LIMIT_MS,
  calm,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  freeTurn,
  mine,
  openFixture,
  openWorker,
  payTrx,
  settle,
  newDepositProject,
  spies,
  worker,
} from '../../support/worker/deposit-fixture.js';

/** Requests per node about a height, by path. */
let asked: Map<string, number>[];

beforeAll(async () => {
  await openFixture();
  await follow();
}, START_LIMIT_MS);

beforeEach(async () => {
  await calm();
  await follow();
  await search();
  watch();
});

afterAll(closeFixture, START_LIMIT_MS);

/** Counts the nodes' requests about heights. A node for which `isAway` returns true does not answer. */
function watch(isAway: (node: number) => boolean = () => false): void {
  asked = spies.map(() => new Map<string, number>());
  for (const [index, spy] of spies.entries()) {
    spy.before = (path, body) => {
      if (path === BLOCK || path === INFOS) {
        const question = `${path} ${(JSON.parse(body) as { num: number }).num.toString()}`;
        asked[index]!.set(question, (asked[index]!.get(question) ?? 0) + 1);
      }
      return isAway(index) ? 'break' : undefined;
    };
  }
}

async function search(app: INestApplicationContext = worker): Promise<void> {
  while (await app.get(BlockFollower).runSearch());
}

async function cursors(): Promise<{ readonly taken: bigint; readonly searched: bigint }> {
  const [row] = await database.query<{ taken: bigint; searched: bigint }>(
    `SELECT block_number AS taken, scanned_to AS searched FROM deposit_cursor, reconcile_state`,
  );
  return row!;
}

it('asks each node once for a block and its receipts, for consumers and search together', async () => {
  const before = await cursors();
  const to = await newDepositProject();
  // More blocks than are read concurrently.
  for (let payment = 0; payment < 12; payment += 1) {
    await payTrx(to, 10_000_000);
    await mine(1);
  }
  await settle();
  await Promise.all([follow(), search()]);
  const after = await cursors();
  expect(after.taken - before.taken).toBeGreaterThan(12n);
  expect(after.searched).toBe(after.taken);
  const numbers = Array.from(
    { length: Number(after.taken - before.taken) },
    (_, index) => Number(before.taken) + 1 + index,
  );
  for (const node of asked) {
    expect([...node.values()].filter((times) => times > 1)).toEqual([]);
    expect([...node.keys()].filter((question) => question.startsWith(BLOCK)).sort()).toEqual(
      numbers.map((number) => `${BLOCK} ${number.toString()}`).sort(),
    );
    expect([...node.keys()].filter((question) => question.startsWith(INFOS))).toHaveLength(12);
  }
  expect(await creditedTo(to)).toBe(360_000_000n);
});

it('with one of two nodes away the search continues while deposits wait, and reads no block twice', async () => {
  const before = await cursors();
  const to = await newDepositProject();
  await payTrx(to, 10_000_000);
  await settle();
  watch((node) => node === 1);
  await expect(follow()).rejects.toThrow(/No TRON node could answer/);
  await search();
  const apart = await cursors();
  expect(apart.taken).toBe(before.taken);
  expect(apart.searched).toBeGreaterThan(before.searched);
  expect(await depositsOf(to)).toEqual([]);
  const read = new Map(asked[0]);
  expect(read.size).toBeGreaterThan(0);
  watch();
  await follow();
  expect(await creditedTo(to)).toBe(30_000_000n);
  for (const question of read.keys()) expect(asked[0]!.has(question)).toBe(false);
  expect([...asked[1]!.values()].every((times) => times === 1)).toBe(true);
});

it('a worker that does not read blocks leaves the search to the reader, and takes it over from a dead one', async () => {
  const second = await openWorker();
  const reading = second.get(BlockFollower);
  await freeTurn();
  await follow();
  expect(await reading.runPass()).toBe(false);
  await reading.runSearch();
  // The second worker will see that another worker moved the search.
  await mine(3);
  await search();
  await mine(3);
  watch();
  const before = await cursors();
  await search(second);
  expect((await cursors()).searched).toBe(before.searched);
  expect(asked.map((node) => node.size)).toEqual([0, 0]);
  // A worker that has not yet seen the search move starts searching itself.
  const third = await openWorker();
  await search(third);
  expect((await cursors()).searched).toBeGreaterThan(before.searched);
});

it('a search that was set back meanwhile skips nothing, and restarts from there', async () => {
  await mine(3);
  const before = await cursors();
  let isSetBack = false;
  spies[0].before = async (path) => {
    if (path === BLOCK && !isSetBack) {
      isSetBack = true;
      await database.query(`UPDATE reconcile_state SET scanned_to = scanned_to - 2`);
    }
    return undefined;
  };
  expect(await worker.get(BlockFollower).runSearch()).toBe(false);
  expect(isSetBack).toBe(true);
  expect((await cursors()).searched).toBe(before.searched - 2n);
  await search();
  expect((await cursors()).searched).toBeGreaterThan(before.searched);
});
