// Deposits while nodes lie or are down and workers die: each credited once, none missed, none invented.
import 'reflect-metadata';
import { addressBytes } from '../../../src/domain/base58-address.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { DepositBook } from '../../../src/modules/deposits/deposit-book.js';
import { DepositGauges } from '../../../src/modules/deposits/deposit-gauges.js';
import { Log } from '../../../src/platform/observability/logger.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { CREDITS_PER_USD } from '../../../src/domain/units.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  BLOCK,
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
  worker,
  type Json,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

describe('nodes that lie or are away', () => {
  it.each<readonly [string, (path: string, answer: unknown) => unknown]>([
    ['hides a transaction with its receipt', hideLast],
    ['has no receipts', (path, answer) => (path === INFOS ? [] : answer)],
    ['has no blocks', (path, answer) => (path === BLOCK ? {} : answer)],
    [
      'reports a larger amount',
      (path, answer) =>
        path === INFOS ? (JSON.parse(JSON.stringify(answer).replaceAll('6acfc0', '7acfc0')) as unknown) : answer,
    ],
    [
      'reports a failed call',
      (path, answer) => (path === INFOS ? infosOf(answer).map((info) => ({ ...info, result: 'FAILED' })) : answer),
    ],
  ])('a node that %s makes the deposit wait, and no block is skipped', async (_what, change) => {
    const to = await newDepositProject();
    // A second deposit, because a block that shows none at all is refused for that reason.
    await payTrx(await newDepositProject(), 8_000_000);
    // 7 000 000 is 6acfc0.
    await payToken(to, 7_000_000n);
    await settle();
    meddle([spies[1]], change);
    await expect(follow()).rejects.toThrow(/No TRON node could answer/);
    expect(await depositsOf(to)).toEqual([]);
    spies[1].rest();
    await follow();
    expect(await creditedTo(to)).toBe(70_000_000n);
  });

  it('with one of two nodes away, deposits wait', async () => {
    const to = await newDepositProject();
    await payTrx(to, 10_000_000);
    await settle();
    spies[0].before = () => 'break';
    await expect(follow()).rejects.toThrow(/No TRON node could answer/);
    expect(await depositsOf(to)).toEqual([]);
    spies[0].rest();
    await follow();
    expect(await creditedTo(to)).toBe(30_000_000n);
  });

  it('TRX by a contract is held if one node keeps it, credited if both do, and not seen if neither does', async () => {
    const [one, both] = [await newDepositProject(), await newDepositProject()];
    const internal = ({ address }: DepositProject): Json => ({
      caller_address: `41${'ab'.repeat(20)}`,
      transferTo_address: hexOf(address),
      callValueInfo: [{ callValue: 11_000_000 }],
      note: '63616c6c',
    });
    const added =
      (...to: readonly DepositProject[]) =>
      (path: string, answer: unknown): unknown =>
        path === BLOCK
          ? answer
          : infosOf(answer).map((info) =>
              Array.isArray(info['log']) ? { ...info, internal_transactions: to.map(internal) } : info,
            );
    meddle([spies[0]], added(both, one));
    meddle([spies[1]], added(both));
    await payToken(await newDepositProject(), 7_000_000n);
    await settle();
    await follow();
    expect(await depositsOf(both)).toMatchObject([{ status: 'credited', credits: 33_000_000n }]);
    expect(await depositsOf(one)).toMatchObject([{ status: 'held', reason: 'one_node' }]);
  });

  it('with one node only a limited sum is credited in a day automatically', async () => {
    await freeTurn();
    const creditedToday = async (): Promise<bigint> => {
      const [row] = await database.query<{ credits: bigint }>(
        `SELECT coalesce(sum(credits), 0)::bigint AS credits FROM credit_entry WHERE kind = 'topup' AND actor = 'chain'`,
      );
      return row!.credits;
    };
    const limit = (await creditedToday()) / CREDITS_PER_USD + 20n;
    const alone = await openWorker({
      TRON_FULL_NODE_URLS: chain.fullUrl,
      TRON_SOLIDITY_NODE_URLS: spies[0].url,
      DEPOSIT_AUTO_MAX_USD: limit.toString(),
    });
    const to = await newDepositProject();
    for (const amount of [20_000_000, 60_000_000, 11_000_000]) {
      await payTrx(to, amount);
      await settle();
    }
    await follow(alone);
    expect((await depositsOf(to)).map(({ status, reason }) => reason ?? status)).toEqual([
      'credited',
      'auto_max',
      'credited',
    ]);
    // Credits by the operator do not count.
    const [held] = await database.query<{ id: bigint }>(
      `SELECT id FROM deposit WHERE project_id = $1 AND status = 'held'`,
      [to.id],
    );
    await operator.get(DepositBook).resolveHeld(held!.id, true, AUTHOR);
    await payTrx(to, 11_000_000);
    await settle();
    await follow(alone);
    expect((await depositsOf(to)).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'credited'));
    // The deposit that reaches the limit exactly is credited, and none after it. Both are above the minimum.
    const exact = await newDepositProject();
    await payToken(exact, (limit * CREDITS_PER_USD - (await creditedToday())) / 10n);
    await settle();
    await payToken(exact, 6_000_000n);
    await settle();
    await follow(alone);
    expect((await depositsOf(exact)).map(({ status, reason }) => reason ?? status)).toEqual(['credited', 'auto_max']);
    expect(await creditedToday()).toBe(limit * CREDITS_PER_USD);
    await freeTurn();
  });
});

function hexOf(address: string): string {
  return Buffer.from(addressBytes(address)!).toString('hex');
}

/** Removes the last transaction or receipt of every block. */
function hideLast(path: string, answer: unknown): unknown {
  if (path === INFOS) return infosOf(answer).slice(0, -1);
  const block = answer as Json;
  const transactions = (block['transactions'] ?? []) as Json[];
  return transactions.length === 0 ? block : { ...block, transactions: transactions.slice(0, -1) };
}

describe('workers', () => {
  it('only one of two reads, and what both would record is recorded once', async () => {
    const second = await openWorker();
    const to = await newDepositProject();
    for (let payment = 0; payment < 6; payment += 1) {
      await payTrx(to, 10_000_000);
      await settle();
    }
    await freeTurn();
    await Promise.all([follow(), follow(second)]);
    await freeTurn();
    await Promise.all([follow(second), follow()]);
    expect(await depositsOf(to)).toHaveLength(6);
    expect(await creditedTo(to)).toBe(180_000_000n);
    await freeTurn();
  });

  it('a worker that lost its turn while it read records nothing', async () => {
    const second = await openWorker();
    const to = await newDepositProject();
    await payTrx(to, 10_000_000);
    await settle();
    let isTaken = false;
    spies[0].before = async (path) => {
      if (path !== BLOCK || isTaken) return undefined;
      isTaken = true;
      await freeTurn();
      await follow(second);
      return undefined;
    };
    await worker.get(BlockFollower).runPass();
    expect(isTaken).toBe(true);
    expect(await creditedTo(to)).toBe(30_000_000n);
    await freeTurn();
  });

  it.each([
    'move_deposit_cursor',
    'known_deposits',
    'ledger-insert-entry',
    'credit_small_deposits',
    'insert_deposits',
    'ledger-move-balance',
  ])('a worker that dies at %s leaves nothing, and the next one credits the deposit once', async (name) => {
    for (const side of ['before', 'after'] as const) {
      const to = await newDepositProject();
      await payTrx(to, 10_000_000);
      await settle();
      const dying = await openWorker();
      await freeTurn();
      aroundStatements(dying.get(Database), [name], {
        [side]: () => {
          throw new Error('dies here');
        },
      });
      // A failure after the commit leaves the deposit credited.
      await follow(dying).catch(() => undefined);
      const before = await creditedTo(to);
      expect([0n, 30_000_000n]).toContain(before);
      await freeTurn();
      await follow();
      expect(await depositsOf(to)).toHaveLength(1);
      expect(await creditedTo(to)).toBe(30_000_000n);
    }
  });
});

describe('the age of the reader', () => {
  it.each<readonly [string, string, number, number]>([
    ['was read while the clock stood later', `read_at = clock_timestamp() + interval '1 minute'`, 0, 0],
    ['was read ten minutes ago', `read_at = clock_timestamp() - interval '10 minutes'`, 600, 660],
    [
      'was never read, from the start of reading',
      `read_at = NULL, block_at = clock_timestamp() - interval '20 minutes'`,
      1200,
      1260,
    ],
  ])('that %s', async (_what, change, least, most) => {
    await newDepositProject();
    await follow();
    await database.query(`UPDATE deposit_cursor SET ${change}`);
    const metrics = new Metrics();
    await new DepositGauges(database, metrics, worker.get(Log)).sample();
    const gauge = await metrics.registry.getSingleMetric('deposit_reader_age_seconds')!.get();
    expect(gauge.values[0]!.value).toBeGreaterThanOrEqual(least);
    expect(gauge.values[0]!.value).toBeLessThanOrEqual(most);
  });
});
