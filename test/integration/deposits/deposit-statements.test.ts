// Single conditions of the statements that decide on deposits. Each test fails without its condition.
import {
  LOCK_BLACKLISTED,
  PAID_BY_US,
  WAITING,
  type BlacklistedRow,
  type WaitingRow,
} from '../../../src/modules/deposits/deposit-sql.js';
import { PEG_MIN } from '../../../src/modules/deposits/judgement.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { undoneBare } from '../../support/database/undone.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const BLOCK = 10;
const AT = new Date('2026-03-01T12:00:30Z');
const ADDRESS = 'TDeposit';
const [PAID, OTHER] = ['TPaid', 'TOther'];
const TXID = Buffer.alloc(32, 1);

let store: TestDatabase;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
});

afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

const addDeposit = (tx: Transaction, status: string, reason: string) =>
  tx.query(
    `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at,
        status, reason)
     VALUES (sha256('d'), 'native', 0, gen_random_uuid(), $1, 'TSender', 'TRX', 40, $2, sha256('b'), $3, $4, $5)`,
    [ADDRESS, BLOCK, AT, status, reason],
  );

const addMovement = (tx: Transaction, kind: string, block: number, counterparty: string | null) =>
  tx.query(
    `INSERT INTO deposit_movement (txid, kind, place, address, asset, amount, counterparty, block_number, block_at)
     VALUES ($1, $2, 0, $3, 'USDT', -5, $4, $5, $6)`,
    [TXID, kind, ADDRESS, counterparty, block, AT],
  );

it.each([
  [BLOCK - 1, false],
  [BLOCK, true],
])('tokens that were destroyed in block %i are lost to a deposit of block 10: %s', async (block, isDestroyed) => {
  const rows = await undoneBare(database, async (tx) => {
    await addDeposit(tx, 'held', 'blacklisted');
    await addMovement(tx, 'destroyed', block, null);
    return tx.query<BlacklistedRow>(LOCK_BLACKLISTED, [[ADDRESS], 10]);
  });
  expect(rows).toMatchObject([{ is_destroyed: isDestroyed }]);
});

describe('a sender that a deposit address paid', () => {
  const addReturn = (tx: Transaction, to: string) =>
    tx.query(
      `INSERT INTO deposit_return (deposit_id, to_address, txid, expires_at) VALUES (1, $1, $2, clock_timestamp())`,
      [to, TXID],
    );
  const paidByUs = (given: (tx: Transaction) => Promise<unknown>, inBlock: readonly string[] = []) =>
    undoneBare(database, async (tx) => {
      await given(tx);
      const rows = await tx.query<{ address: string }>(PAID_BY_US, [[PAID], inBlock, inBlock.map(() => TXID)]);
      return rows.map(({ address }) => address);
    });
  const nothing = () => Promise.resolve();

  it('may be ours, unless it got a fee of the token', async () => {
    expect(await paidByUs((tx) => addMovement(tx, 'log', BLOCK, PAID))).toEqual([PAID]);
    expect(await paidByUs((tx) => addMovement(tx, 'fee', BLOCK, PAID))).toEqual([]);
    expect(await paidByUs(nothing, [PAID])).toEqual([PAID]);
  });

  it('may be ours, unless it is the receiver of the recorded return itself', async () => {
    const moved = (to: string) => async (tx: Transaction) => {
      await addReturn(tx, to);
      await addMovement(tx, 'log', BLOCK, PAID);
    };
    expect([await paidByUs(moved(PAID)), await paidByUs(moved(OTHER))]).toEqual([[], [PAID]]);
    const inBlock = (to: string) => paidByUs((tx) => addReturn(tx, to), [PAID]);
    expect([await inBlock(PAID), await inBlock(OTHER)]).toEqual([[], [PAID]]);
  });
});

it.each([
  ['of the minute before its block', -1, 0],
  ['of the minute of its block', 0, 1],
])('a deposit without a rate is decided on by a rate %s or not', async (_what, minute, found) => {
  const rows = await undoneBare(database, async (tx) => {
    await addDeposit(tx, 'pending', 'no_rate');
    await tx.query(
      `INSERT INTO asset_rate (asset, minute, rate_e8)
       VALUES ('TRX', date_trunc('minute', $1::timestamptz) + $2 * interval '1 minute', 30000000)`,
      [AT, minute],
    );
    return tx.query<WaitingRow>(WAITING, [10, PEG_MIN, 0n]);
  });
  expect(rows).toHaveLength(found);
});
