// A payment in a block that is not solid yet is shown immediately. Its solid block decides if it is credited or
// dropped.
import 'reflect-metadata';
import { addressBytes } from '../../../src/domain/base58-address.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import {
  INFOS,
  START_LIMIT_MS,
  type DepositProject,
  calm,
  chain,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  meddle,
  mine,
  openFixture,
  payToken,
  payTrx,
  settle,
  newDepositProject,
  spies,
  worker,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

/** Reads the solid blocks, then those above. */
async function look(): Promise<void> {
  await follow();
  await worker.get(BlockFollower).workBetweenBlocks();
}

async function eventsOf({ id }: DepositProject): Promise<string[]> {
  while ((await worker.get(Numberer).numberBatch()) > 0);
  const rows = await database.query<{ type: string; payload: string }>(
    `SELECT type, payload FROM event WHERE project_id = $1 AND type LIKE 'deposit.%' ORDER BY position`,
    [id],
  );
  return rows.map(({ type, payload }) => {
    const { deposit } = (JSON.parse(payload) as { data: { deposit: { id: string; status: string } } }).data;
    expect(type).toBe(`deposit.${deposit.status}`);
    return `${type} ${deposit.id}`;
  });
}

const idOf = async ({ id }: DepositProject): Promise<string> => {
  const [row, ...more] = await database.query<{ id: bigint }>(`SELECT id FROM deposit WHERE project_id = $1`, [id]);
  expect(more).toEqual([]);
  return `dep_${row!.id.toString()}`;
};

it('a deposit is pending from the block on that two nodes have, and credited under the same id', async () => {
  const to = await newDepositProject();
  await payTrx(to, 12_000_000);
  await chain.control('node', { index: 1, behind: 1 });
  await mine(1);
  await look();
  expect(await depositsOf(to)).toEqual([]);
  await chain.control('node', { index: 1, behind: 0 });
  await look();
  await look();
  expect(await depositsOf(to)).toMatchObject([{ status: 'pending', reason: 'not_solid', amount: '12000000' }]);
  expect(await creditedTo(to)).toBe(0n);
  const id = await idOf(to);
  await settle();
  await look();
  expect(await depositsOf(to)).toMatchObject([{ status: 'credited', reason: null, credits: 36_000_000n }]);
  expect(await creditedTo(to)).toBe(36_000_000n);
  expect(await eventsOf(to)).toEqual([`deposit.pending ${id}`, `deposit.credited ${id}`]);
});

it('a deposit that would only be held until more arrives is shown when it is solid', async () => {
  const to = await newDepositProject();
  await payTrx(to, 9_999_999);
  await mine(1);
  await look();
  expect(await depositsOf(to)).toEqual([]);
  await settle();
  await look();
  expect(await depositsOf(to)).toMatchObject([{ status: 'pending', reason: 'below_minimum' }]);
  expect(await eventsOf(to)).toEqual([]);
});

it('a deposit whose block is reverted for good is dropped, and never credited', async () => {
  const to = await newDepositProject();
  await mine(3);
  await payTrx(to, 12_000_000);
  await mine(1);
  await look();
  const id = await idOf(to);
  await chain.control('fork', { depth: 1, drop: true });
  await look();
  // The transaction may still return in another block.
  expect(await depositsOf(to)).toMatchObject([{ status: 'pending' }]);
  await settle();
  await mine(2);
  await look();
  expect(await depositsOf(to)).toMatchObject([{ status: 'dropped', reason: null, credits: null }]);
  expect(await creditedTo(to)).toBe(0n);
  expect(await eventsOf(to)).toEqual([`deposit.pending ${id}`, `deposit.dropped ${id}`]);
});

it('a deposit whose block is reverted, and which comes again in another, stays pending and is credited once', async () => {
  const to = await newDepositProject();
  await mine(3);
  await payTrx(to, 12_000_000);
  await mine(1);
  await look();
  const id = await idOf(to);
  await chain.control('fork', { depth: 1 });
  await mine(1);
  await look();
  await look();
  expect(await depositsOf(to)).toMatchObject([{ status: 'pending', reason: 'not_solid' }]);
  await settle();
  await look();
  expect(await creditedTo(to)).toBe(36_000_000n);
  expect(await eventsOf(to)).toEqual([`deposit.pending ${id}`, `deposit.credited ${id}`]);
});

it('a deposit that was dropped but is in a solid block after all is credited', async () => {
  const to = await newDepositProject();
  await payTrx(to, 12_000_000);
  await mine(1);
  await look();
  await database.query(`UPDATE deposit SET status = 'dropped', reason = NULL WHERE project_id = $1`, [to.id]);
  await settle();
  await look();
  const id = await idOf(to);
  expect(await creditedTo(to)).toBe(36_000_000n);
  expect(await eventsOf(to)).toEqual([`deposit.pending ${id}`, `deposit.dropped ${id}`, `deposit.credited ${id}`]);
});

it('a deposit follows its solid block where that shows another amount or receiver', async () => {
  const [said, paid] = [await newDepositProject(), await newDepositProject()];
  await payToken(said, 7_000_000n);
  await look();
  const id = await idOf(said);
  const hexOf = ({ address }: DepositProject): string => addressBytes(address)!.subarray(1).toString('hex');
  const [wrong, right] = [hexOf(said), hexOf(paid)];
  await settle();
  meddle(spies, (path, answer) =>
    path === INFOS
      ? // 7 000 000 is 6acfc0, and 7acfc0 is 8 048 576.
        (JSON.parse(JSON.stringify(answer).replaceAll(wrong, right).replaceAll('6acfc0', '7acfc0')) as unknown)
      : answer,
  );
  await look();
  expect(await depositsOf(said)).toEqual([]);
  expect(await depositsOf(paid)).toMatchObject([{ status: 'credited', amount: '8048576' }]);
  expect([await creditedTo(said), await creditedTo(paid)]).toEqual([0n, 80_485_760n]);
  expect(await eventsOf(said)).toEqual([`deposit.pending ${id}`, `deposit.dropped ${id}`]);
  expect(await eventsOf(paid)).toEqual([`deposit.credited ${id}`]);
});
