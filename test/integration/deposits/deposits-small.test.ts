// Payments below the minimum. They cause no event until their sum reaches it, regardless of rates and readers. The sum
// is then judged as one payment of that size.
import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { addressToHex } from '../../../src/platform/chain/address.js';
import { DepositBook } from '../../../src/modules/deposits/deposit-book.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  BLOCK,
  MINUTE_MS,
  START_LIMIT_MS,
  type Json,
  type DepositProject,
  calm,
  chain,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  freeTurn,
  infosOf,
  meddle,
  openFixture,
  openWorker,
  operator,
  payToken,
  payTrx,
  settle,
  newDepositProject,
  spies,
  wallet,
} from '../../support/worker/deposit-fixture.js';

/** A worker without an exchange: it reads the test's rates and stores none. */
let quiet: INestApplicationContext;
const QUIET = { RATE_SOURCES: 'binance', RATE_SOURCE_URLS: 'binance=http://127.0.0.1:1' };

beforeAll(async () => {
  await openFixture();
  quiet = await openWorker(QUIET);
}, START_LIMIT_MS);
beforeEach(async () => {
  await calm();
  await freeTurn();
});
afterAll(closeFixture, START_LIMIT_MS);

/** Sets a day of one rate before the chain's current minute, and an hour of another from that minute on. */
async function rates(asset: 'TRX' | 'USDT', before: bigint, since: bigint | undefined): Promise<void> {
  await database.query(`DELETE FROM asset_rate WHERE asset = $1`, [asset]);
  const minute = Math.floor((await wallet().headTime()) / MINUTE_MS);
  await keep(asset, minute - 1440, minute - 1, before);
  if (since !== undefined) await keep(asset, minute, minute + 60, since);
}

/** Adds a rate two hours after the chain's current time. */
async function laterRate(asset: 'TRX' | 'USDT', rate: bigint): Promise<void> {
  const minute = Math.floor((await wallet().headTime()) / MINUTE_MS) + 120;
  await keep(asset, minute, minute, rate);
}

const keep = (asset: string, from: number, to: number, rate: bigint) =>
  database.query(
    `INSERT INTO asset_rate (asset, minute, rate_e8)
     SELECT $1, to_timestamp(m * 60), $4 FROM generate_series($2::bigint, $3::bigint) m`,
    [asset, from, to, rate],
  );

const taken = async (): Promise<void> => {
  await settle();
  await follow(quiet);
};

const eventsOf = async ({ id }: DepositProject): Promise<string[]> =>
  (
    await database.query<{ type: string; amount: string }>(
      `SELECT type, snapshot -> 'deposit' ->> 'amount' AS amount FROM event
        WHERE project_id = $1 AND type LIKE 'deposit.%' ORDER BY id`,
      [id],
    )
  ).map(({ type, amount }) => `${type} ${amount}`);

const statesOf = async (to: DepositProject): Promise<string[]> =>
  (await depositsOf(to)).map(({ status, reason, amount }) => `${amount} ${status} ${reason ?? ''}`.trim());

const rowsOf = ({ id }: DepositProject) =>
  database.query<{ id: bigint; status: string; credits: bigint | null }>(
    `SELECT id, status, credits FROM deposit WHERE project_id = $1 ORDER BY id`,
    [id],
  );

/** Pays TRX by a contract. Only the first node shows the payment. */
async function payByContract(to: DepositProject, ...amounts: readonly number[]): Promise<void> {
  const internal = amounts.map((callValue) => ({
    caller_address: `41${'ab'.repeat(20)}`,
    transferTo_address: addressToHex(to.address),
    callValueInfo: [{ callValue }],
    note: '63616c6c',
  }));
  meddle([spies[0]], (path, answer) =>
    path === BLOCK
      ? answer
      : infosOf(answer).map((info): Json =>
          Array.isArray(info['log']) ? { ...info, internal_transactions: internal } : info,
        ),
  );
  await payToken(await newDepositProject(), 7_000_000n);
  await taken();
  spies[0].rest();
}

describe('a payment that is too small alone', () => {
  it.each([
    ['above', 34_000_000n],
    ['below', 26_000_000n],
  ])(
    'is not held while TRX is far %s its median, and its sum is credited at the first normal rate',
    async (_where, far) => {
      const to = await newDepositProject();
      await rates('TRX', 30_000_000n, far);
      for (const amount of [1, 2, 4_000_000]) await payTrx(to, amount);
      await taken();
      expect(await statesOf(to)).toEqual(['1', '2', '4000000'].map((amount) => `${amount} pending below_minimum`));
      // Together they reach the minimum. A single payment of that size would be held.
      await payTrx(to, 7_000_000);
      await payTrx(to, 10_000_000);
      await taken();
      expect(await eventsOf(to)).toEqual(['deposit.held 10000000']);
      expect(await creditedTo(to)).toBe(0n);
      await laterRate('TRX', 31_000_000n);
      await follow(quiet);
      expect(await eventsOf(to)).toEqual(['deposit.held 10000000', 'deposit.credited 7000000']);
      // 11.000003 TRX at 0.31.
      expect(await creditedTo(to)).toBe(34_100_009n);
      expect(await statesOf(to)).toEqual([
        ...['1', '2', '4000000', '7000000'].map((amount) => `${amount} credited`),
        '10000000 held rate_jump',
      ]);
      expect(findingsOf(await verifyRecords(database))).toEqual([]);
    },
  );

  it('is in no event without a rate, and is credited with a larger payment that has one', async () => {
    const to = await newDepositProject();
    await database.query(`DELETE FROM asset_rate`);
    await payTrx(to, 500_000);
    await taken();
    expect(await statesOf(to)).toEqual(['500000 pending below_minimum']);
    await payTrx(to, 12_000_000);
    await taken();
    expect(await eventsOf(to)).toEqual(['deposit.pending 12000000']);
    await laterRate('TRX', 30_000_000n);
    await follow(quiet);
    expect(await eventsOf(to)).toEqual(['deposit.pending 12000000', 'deposit.credited 12000000']);
    expect(await creditedTo(to)).toBe(37_500_000n);
  });

  it('is never credited without a rate', async () => {
    const to = await newDepositProject();
    await database.query(`DELETE FROM asset_rate`);
    await payTrx(to, 500_000);
    await taken();
    const credited = database.query(
      `UPDATE deposit SET status = 'credited', reason = NULL, entry_key = 'deposit:another' WHERE project_id = $1`,
      [to.id],
    );
    await expect(credited).rejects.toThrow('credited without its ledger entry');
    expect(await statesOf(to)).toEqual(['500000 pending below_minimum']);
  });

  it('in USDT waits without an event while it is below its peg', async () => {
    const to = await newDepositProject();
    await rates('USDT', 100_000_000n, 98_000_000n);
    await payToken(to, 2_000_000n);
    await payToken(to, 4_000_000n);
    await taken();
    expect(await statesOf(to)).toEqual(['2000000 pending below_minimum', '4000000 pending below_minimum']);
    expect(await eventsOf(to)).toEqual([]);
    await laterRate('USDT', 99_500_000n);
    await follow(quiet);
    expect(await eventsOf(to)).toEqual(['deposit.credited 4000000']);
    expect(await creditedTo(to)).toBe(59_700_000n);
  });

  it('from before the rate was doubted keeps the rate of its own minute', async () => {
    const to = await newDepositProject();
    await payTrx(to, 9_000_000);
    await taken();
    await rates('TRX', 30_000_000n, 40_000_000n);
    await payTrx(to, 9_000_000);
    await taken();
    expect(await eventsOf(to)).toEqual([]);
    await laterRate('TRX', 31_000_000n);
    await follow(quiet);
    expect(await creditedTo(to)).toBe(27_000_000n + 27_900_000n);
  });
});

describe('small payments that only one node has', () => {
  it('wait without an event, are in no sum of agreed ones, and are held once when their own sum reaches the minimum', async () => {
    const to = await newDepositProject();
    await payByContract(to, 1_000_000, 1_000_000);
    await payTrx(to, 9_000_000);
    await taken();
    expect(await eventsOf(to)).toEqual([]);
    await payTrx(to, 1_000_000);
    await taken();
    expect(await creditedTo(to)).toBe(30_000_000n);
    await payByContract(to, 8_000_000, 500_000);
    expect(await statesOf(to)).toEqual([
      '1000000 pending one_node',
      '1000000 pending one_node',
      '9000000 credited',
      '1000000 credited',
      '8000000 held one_node',
      '500000 pending one_node',
    ]);
    expect(await eventsOf(to)).toEqual(['deposit.credited 1000000', 'deposit.held 8000000']);
    const held = (await rowsOf(to)).find(({ status }) => status === 'held')!;
    expect(await operator.get(DepositBook).resolveHeld(held.id, true, AUTHOR)).toBe(30_000_000n);
    expect(await creditedTo(to)).toBe(60_000_000n);
    expect((await statesOf(to)).filter((state) => !state.endsWith('credited'))).toEqual(['500000 pending one_node']);
    expect(await eventsOf(to)).toEqual([
      'deposit.credited 1000000',
      'deposit.held 8000000',
      'deposit.credited 8000000',
    ]);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('are decided together: the operator ignores the whole sum, and none that came after it', async () => {
    const to = await newDepositProject();
    await payByContract(to, 6_000_000, 6_000_000, 3_000_000);
    const held = (await rowsOf(to)).find(({ status }) => status === 'held')!;
    await operator.get(DepositBook).resolveHeld(held.id, false, AUTHOR);
    expect(await statesOf(to)).toEqual([
      `6000000 ignored ${AUTHOR.reason}`,
      `6000000 ignored ${AUTHOR.reason}`,
      '3000000 pending one_node',
    ]);
    expect(await eventsOf(to)).toEqual(['deposit.held 6000000', 'deposit.ignored 6000000']);
    await payByContract(to, 7_000_000);
    expect((await rowsOf(to)).filter(({ status }) => status === 'held')).toHaveLength(1);
    expect(await creditedTo(to)).toBe(0n);
  });

  it('are also held once if the rate is doubted meanwhile', async () => {
    const to = await newDepositProject();
    await rates('TRX', 30_000_000n, 34_000_000n);
    await payByContract(to, 6_000_000, 6_000_000);
    expect(await eventsOf(to)).toEqual([]);
    await laterRate('TRX', 31_000_000n);
    await follow(quiet);
    expect(await eventsOf(to)).toEqual(['deposit.held 6000000']);
    const held = (await rowsOf(to)).find(({ status }) => status === 'held')!;
    expect(await operator.get(DepositBook).resolveHeld(held.id, true, AUTHOR)).toBe(37_200_000n);
  });
});

it('holds a sum beyond one node’s daily limit once, and credits it whole', async () => {
  const alone = await openWorker({
    ...QUIET,
    TRON_FULL_NODE_URLS: chain.fullUrl,
    TRON_SOLIDITY_NODE_URLS: spies[0].url,
    DEPOSIT_AUTO_MAX_USD: '1',
  });
  const to = await newDepositProject();
  for (const amount of [9_000_000, 9_000_000, 1, 2]) {
    await payTrx(to, amount);
    await settle();
    await follow(alone);
  }
  expect(await eventsOf(to)).toEqual(['deposit.held 9000000']);
  const held = (await rowsOf(to)).find(({ status }) => status === 'held')!;
  expect(await operator.get(DepositBook).resolveHeld(held.id, true, AUTHOR)).toBe(54_000_000n);
  expect(await creditedTo(to)).toBe(54_000_000n);
  expect((await statesOf(to)).slice(2)).toEqual(['1 pending below_minimum', '2 pending below_minimum']);
  await freeTurn();
});

it('a payment beyond one node’s daily limit uses none of it', async () => {
  const [row] = await database.query<{ usd: number }>(
    `SELECT ceil(coalesce(sum(credits), 0) / 10000000)::integer AS usd FROM deposit WHERE status = 'credited'`,
  );
  const alone = await openWorker({
    ...QUIET,
    TRON_FULL_NODE_URLS: chain.fullUrl,
    TRON_SOLIDITY_NODE_URLS: spies[0].url,
    DEPOSIT_AUTO_MAX_USD: (row!.usd + 10).toString(),
  });
  const [held, credited] = [await newDepositProject(), await newDepositProject()];
  // In one block: 300 dollars, and 3 dollars.
  await payTrx(held, 1_000_000_000);
  await payTrx(credited, 10_000_000);
  await settle();
  await follow(alone);
  expect(await statesOf(held)).toEqual(['1000000000 held auto_max']);
  expect(await statesOf(credited)).toEqual(['10000000 credited']);
  await freeTurn();
});
