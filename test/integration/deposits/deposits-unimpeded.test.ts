// Faults elsewhere that must not keep deposits from being read or shown: an address lost in a failover, a receipt that
// no node answers for, and a head that no two nodes agree on.
import 'reflect-metadata';
import { ChainUnavailableError } from '../../../src/platform/chain/errors.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { DepositReader } from '../../../src/modules/deposits/deposit-reader.js';
import { asAdmin } from '../../setup/admin.js';
import {
  START_LIMIT_MS,
  calm,
  chain,
  closeFixture,
  creditedTo,
  depositsOf,
  env,
  follow,
  freeTurn,
  mine,
  openFixture,
  openWorker,
  payToken,
  payTrx,
  settle,
  newDepositProject,
  spies,
  tokenAct,
  worker,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

/** Runs statements without triggers and foreign keys, as a restore does. */
const byRestore = (...texts: readonly string[]): Promise<void> =>
  asAdmin(env['DATABASE_URL']!, async (client) => {
    await client.query(`SET session_replication_role = replica`);
    for (const text of texts) await client.query(text);
  });

it('an address that a failover put in the place of a lost one is read', async () => {
  await newDepositProject();
  const lost = await newDepositProject();
  await follow();
  expect(worker.get(DepositReader).watchesPayments(lost.address)).toBe(true);
  await byRestore(
    `DELETE FROM deposit_address WHERE address = '${lost.address}'`,
    `UPDATE deposit_address SET server_mark = 'the server before the failover'`,
  );
  const to = await newDepositProject();
  expect(to.address).not.toBe(lost.address);
  await payTrx(to, 20_000_000);
  await settle();
  await follow();
  expect(await creditedTo(to)).toBe(60_000_000n);
});

/** Adds final transactions without known receipts, with the ids 01…01, 02…02 and so on. */
const withoutCosts = (count: number): Promise<void> =>
  byRestore(
    `INSERT INTO open_chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number,
        expires_at, block_number)
      SELECT n, n, 'delegate', 1, 1, 'solid', decode(repeat(lpad(n::text, 2, '0'), 32), 'hex'), '', 1, clock_timestamp(), 1
        FROM generate_series(1, ${count.toString()}) n`,
  );

describe('a receipt that every node fails to answer for', () => {
  const asked = new Set<string>();
  beforeAll(async () => {
    await withoutCosts(30);
  });
  beforeEach(() => {
    for (const spy of spies) {
      spy.before = (path, body) => {
        if (path !== 'walletsolidity/gettransactioninfobyid') return Promise.resolve(undefined);
        const { value } = JSON.parse(body) as { value: string };
        asked.add(value.slice(0, 2));
        return Promise.resolve({
          says: value.startsWith('03') ? '{"Error":"this API is closed because this node is a lite fullnode"}' : '{}',
        });
      };
    }
  });

  it('delays no deposit at the head', async () => {
    const to = await newDepositProject();
    await payTrx(to, 20_000_000);
    await mine(1);
    await follow();
    await expect(worker.get(BlockFollower).workBetweenBlocks()).rejects.toThrow(ChainUnavailableError);
    expect(await depositsOf(to)).toMatchObject([{ status: 'pending', reason: 'not_solid' }]);
  });

  it('delays no look-up of others', async () => {
    for (let round = 0; round < 4; round += 1) {
      await worker
        .get(BlockFollower)
        .workBetweenBlocks()
        .catch(() => undefined);
    }
    expect([...asked].sort()).toEqual(
      Array.from({ length: 30 }, (_, index) => (index + 1).toString().padStart(2, '0')),
    );
  });

  afterAll(() => byRestore(`DELETE FROM open_chain_tx`));
});

it('a head on which no two nodes agree delays no release of held deposits', async () => {
  const to = await newDepositProject();
  await tokenAct('blacklist', { holder: to.address });
  await settle();
  await payToken(to, 20_000_000n);
  await settle();
  await follow();
  expect(await depositsOf(to)).toMatchObject([{ status: 'held', reason: 'blacklisted' }]);
  await tokenAct('unblacklist', { holder: to.address });
  await settle();
  await follow();
  const next = await openWorker({ TRON_FULL_NODE_URLS: `${chain.fullUrl},http://127.0.0.1:1` });
  await freeTurn();
  await follow(next);
  await expect(next.get(BlockFollower).workBetweenBlocks()).rejects.toThrow(ChainUnavailableError);
  await freeTurn();
  expect(await depositsOf(to)).toMatchObject([{ status: 'credited' }]);
});
