// Costs of our transactions: taken from the receipts of solid blocks once, regardless of row locks and the cursor's
// start.
import pg from 'pg';
import { BlockCursor } from '../../../src/platform/blocks/block-cursor.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { CostRecorder } from '../../../src/modules/costs/cost-recorder.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { XPUB } from '../../support/chain/deposits-on-chain.js';
import { until } from '../../../packages/local/src/wait.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

const LIMIT_MS = 30_000;

interface CostRow {
  readonly txid: string;
  readonly purpose: string;
  readonly fee_sun: bigint | null;
  readonly block_number: bigint;
}

let fixture: ReconciliationFixture;
const receiver = (index: number): string => fixture.service.accounts[index]!.address;

beforeAll(async () => {
  // Deposits are not in use until a command activates them.
  fixture = await ReconciliationFixture.open({ DEPOSIT_XPUB: XPUB });
  await fixture.syncAll();
  // The cursor starts at the current solid head.
  await readAll();
  await fixture.rent(receiver(0));
  await fixture.rent(receiver(1));
  await readPast(await rows());
});

afterAll(() => fixture.close());

/** Reads every solid block so far. Requests no single receipt. */
async function readAll(): Promise<void> {
  while (await fixture.worker.get(BlockFollower).runPass());
}

const rows = () =>
  fixture.database.query<CostRow>(
    `SELECT encode(txid, 'hex') AS txid, purpose, fee_sun, block_number FROM chain_tx WHERE status = 'solid' ORDER BY id`,
  );

async function readTo(): Promise<bigint> {
  const [row] = await fixture.database.query<{ block_number: bigint }>(`SELECT block_number FROM deposit_cursor`);
  return row!.block_number;
}

/** Reads until the blocks of all given rows are read. */
async function readPast(found: readonly CostRow[]): Promise<void> {
  const last = found.map((row) => row.block_number).sort((a, b) => (a < b ? 1 : -1))[0]!;
  await until(
    async () => {
      await readAll();
      return (await readTo()) >= last ? true : undefined;
    },
    LIMIT_MS,
    'the reading of their blocks',
  );
}

/** Returns the node's own figure. A receipt without a fee burnt nothing. */
async function receiptFee(txid: string): Promise<bigint> {
  const answer = await fixture.service.wallet.post('wallet/gettransactioninfobyid', { value: txid });
  expect(answer['id']).toBe(txid);
  return BigInt((answer['fee'] as number | undefined) ?? 0);
}

async function expectReceipts(found: readonly CostRow[]): Promise<void> {
  for (const row of found)
    expect({ ...row, fee_sun: row.fee_sun }).toEqual({ ...row, fee_sun: await receiptFee(row.txid) });
}

async function burnt(): Promise<bigint> {
  const lines = await fixture.metric('chain_cost_sun_total');
  return lines.map((line) => BigInt(line.split(' ').at(-1) ?? 0)).reduce((sum, each) => sum + each, 0n);
}

const sumOf = (found: readonly CostRow[]): bigint => found.reduce((sum, { fee_sun: fee }) => sum + (fee ?? 0n), 0n);

it('each delegation and each activation has the cost of its receipt, also where no deposits are in use', async () => {
  const answer = await fixture.customer.post('/v1/activate', { address: newChainAccount().address });
  expect(answer.status).toBe(202);
  await until(
    async () => ((await rows()).some(({ purpose }) => purpose === 'activate') ? true : undefined),
    LIMIT_MS,
    'the activation',
  );
  await readPast(await rows());
  const found = await rows();
  expect(found.map(({ purpose }) => purpose).sort()).toEqual(['activate', 'delegate', 'delegate']);
  await expectReceipts(found);
  // An activation burns at least one TRX.
  expect(found.find(({ purpose }) => purpose === 'activate')!.fee_sun).toBeGreaterThanOrEqual(1_000_000n);
  expect(await burnt()).toBe(sumOf(found));
});

it('a row that another session holds while its block is read is looked up later, and nothing is counted twice', async () => {
  await fixture.rent(receiver(2));
  const before = await rows();
  const held = before.at(-1)!;
  const client = new pg.Client({ connectionString: fixture.service.databaseUrl });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT FROM chain_tx WHERE txid = decode($1, 'hex') FOR UPDATE`, [held.txid]);
    await readPast(before);
  } finally {
    await client.query('ROLLBACK');
    await client.end();
  }
  expect((await rows()).find(({ txid }) => txid === held.txid)!.fee_sun).toBeNull();
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  await expectReceipts(await rows());
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  expect(await burnt()).toBe(sumOf(await rows()));
  expect(await fixture.metric('chain_costs_missing')).toEqual(['chain_costs_missing 0']);
});

it('a recorded cost is never changed', async () => {
  const [first] = await rows();
  await expect(
    fixture.database.query(`UPDATE chain_tx SET fee_sun = fee_sun + 1 WHERE txid = decode($1, 'hex')`, [first!.txid]),
  ).rejects.toThrow('final, never changed');
  await expect(
    fixture.database.query(`UPDATE chain_tx SET fee_sun = NULL WHERE txid = decode($1, 'hex')`, [first!.txid]),
  ).rejects.toThrow('final, never changed');
});

it('a cursor that one node led to another chain starts over, and the skipped blocks are looked up', async () => {
  await fixture.rent(receiver(0));
  const found = await rows();
  await fixture.database.query(`UPDATE deposit_cursor SET block_id = $1`, [Buffer.alloc(32, 7)]);
  await readAll();
  const [anew] = await fixture.database.query<{ block_id: Buffer }>(`SELECT block_id FROM deposit_cursor`);
  expect(anew!.block_id).not.toEqual(Buffer.alloc(32, 7));
  await readPast(found);
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  await expectReceipts(await rows());
});

it('the worker that starts the cursor over leaves the turn to the first that asks', async () => {
  const { database, worker } = fixture;
  const cursor = worker.get(BlockCursor);
  await readAll();
  expect(await cursor.claim(-1n)).toBeUndefined();
  const [place] = await database.query<{ number: bigint; id: string; at: Date }>(
    `SELECT block_number AS number, encode(block_id, 'hex') AS id, block_at AS at FROM deposit_cursor`,
  );
  const head = { number: Number(place!.number), id: place!.id, timestampMs: place!.at.getTime() };
  await database.transaction((tx) => cursor.restartAt(tx, head));
  expect(await cursor.claim(-1n)).toMatchObject({ block_number: place!.number, block_id: place!.id });
  await database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
});

it('a cursor that is hours behind starts over at the head, and the skipped costs are looked up', async () => {
  await fixture.rent(receiver(1));
  const found = await rows();
  await fixture.database.query(`UPDATE deposit_cursor SET block_number = block_number - 5000`);
  const before = await readTo();
  await readAll();
  expect((await readTo()) - before).toBeGreaterThanOrEqual(5000n);
  await readPast(found);
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  await expectReceipts(await rows());
});

it('verify reports a cost that is missing for long, and one that differs from the receipt', async () => {
  await readPast(await rows());
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  expect(namesOf(await fixture.verify())).toEqual([]);
  const [first, second] = await rows();
  await fixture.byHand(
    `UPDATE chain_tx SET fee_sun = fee_sun + 1 WHERE txid = decode('${first!.txid}', 'hex')`,
    `UPDATE chain_tx SET fee_sun = NULL, block_at = block_at - interval '2 hours',
      created_at = created_at - interval '2 hours' WHERE txid = decode('${second!.txid}', 'hex')`,
  );
  const found = namesOf(await fixture.verify());
  expect(found).toContain('chain-costs');
  expect(found).toContain('chain-costs-receipts');
  await fixture.byHand(
    `UPDATE chain_tx SET fee_sun = fee_sun - 1 WHERE txid = decode('${first!.txid}', 'hex')`,
    `UPDATE chain_tx SET block_at = block_at + interval '2 hours',
      created_at = created_at + interval '2 hours' WHERE txid = decode('${second!.txid}', 'hex')`,
  );
  await fixture.worker.get(CostRecorder).workBetweenBlocks(0n, Number(await readTo()));
  await expectReceipts(await rows());
});

it('verify reports a cost that differs from the receipt behind hundreds of newer ones', async () => {
  await readPast(await rows());
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  const [first] = await rows();
  await fixture.byHand(
    `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number, expires_at,
        block_number, block_id, block_at, fee_sun)
      SELECT order_id, leg_id + 1000000 + n, purpose, 1000 + n, wallet_id, status, sha256(convert_to('newer ' || n, 'UTF8')), raw_data,
             ref_block_number, expires_at, block_number, block_id, block_at, 0
        FROM chain_tx, generate_series(1, 300) n WHERE txid = decode('${first!.txid}', 'hex')`,
    `UPDATE chain_tx SET fee_sun = fee_sun + 1 WHERE txid = decode('${first!.txid}', 'hex')`,
  );
  try {
    const found = (await fixture.verify()).checks.find(({ check }) => check === 'chain-costs-receipts');
    expect(found?.findings).toMatchObject([
      { subject: `transaction ${first!.txid}`, facts: { receipt_sun: first!.fee_sun!.toString() } },
    ]);
  } finally {
    await fixture.byHand(
      `DELETE FROM chain_tx WHERE attempt > 1000`,
      `UPDATE chain_tx SET fee_sun = fee_sun - 1 WHERE txid = decode('${first!.txid}', 'hex')`,
    );
  }
});

it('a worker that has lost the turn reports no missing costs: the one that reads does', async () => {
  await readPast(await rows());
  const [row] = await rows();
  const changed = (fee: string, block: bigint) =>
    fixture.byHand(
      `UPDATE chain_tx SET fee_sun = ${fee}, block_number = ${block.toString()} WHERE txid = '\\x${row!.txid}'`,
    );
  // The receipt belongs to another block than the row, so no look-up finds it.
  await changed('NULL', row!.block_number - 1n);
  await fixture.worker.get(BlockFollower).workBetweenBlocks();
  expect(await fixture.metric('chain_costs_missing')).toEqual(['chain_costs_missing 1']);
  const other = await fixture.openWorker();
  try {
    await fixture.database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
    while (await other.get(BlockFollower).runPass());
    expect(await fixture.worker.get(BlockFollower).runPass()).toBe(false);
    expect(await fixture.metric('chain_costs_missing')).toEqual(['chain_costs_missing 0']);
  } finally {
    await other.close();
    await changed(row!.fee_sun!.toString(), row!.block_number);
    await fixture.database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
  }
});

it('the first account of deposits starts the cursor over, wherever one node had led it; costs go on', async () => {
  await fixture.database.query(`UPDATE deposit_cursor SET block_id = $1, block_number = block_number - 5000`, [
    Buffer.alloc(32, 7),
  ]);
  expect(await fixture.cli('deposits', 'use-account', '--yes', '--reason', 'a test')).toMatchObject({ code: 0 });
  const begun = await readTo();
  expect(begun).toBeGreaterThan(0n);
  await fixture.rent(receiver(2));
  await readPast(await rows());
  // With deposits in use, no block is skipped: the reader waits for a block that does not link.
  await fixture.database.query(`UPDATE deposit_cursor SET block_id = $1`, [Buffer.alloc(32, 7)]);
  await fixture.rent(receiver(0));
  await expect(readAll()).rejects.toThrow(/a solid block/);
  expect(await fixture.cli('deposits', 'use-account', '--yes', '--reason', 'a test')).toMatchObject({ code: 0 });
  const [cursor] = await fixture.database.query<{ block_id: Buffer }>(`SELECT block_id FROM deposit_cursor`);
  expect(cursor!.block_id).toEqual(Buffer.alloc(32, 7));
});
