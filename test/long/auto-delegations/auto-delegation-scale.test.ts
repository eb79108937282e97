// A hundred thousand idle auto-delegations: the worker's periodic statements read none of them.
import { randomBytes, randomUUID } from 'node:crypto';
import {
  AutoDelegationClaims,
  type ClaimedAutoDelegation,
} from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import { UseObserver } from '../../../src/modules/auto-delegations/use-observer.js';
import type { Block } from '../../../src/platform/chain/block.js';
import type { WitnessedBlock } from '../../../src/platform/blocks/witnessed-blocks.js';
import { addressBytes } from '../../../src/domain/base58-address.js';
import { addressFromBytes } from '../../../src/platform/chain/address.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const COUNT = 100_000;
/** Rows and index entries that a statement may read to find ten. */
const READ_MAX = 500;
const FOUND = 10;
const CALLERS = 300;

/** Inserts a running rental to each address, from one wallet, with its delegation in a block. */
const RENTALS = `WITH w AS (
    INSERT INTO pool_wallet (address, role, key_address, key_sealed, permission_id)
      VALUES (($1::text[])[1], 'pool', ($1::text[])[1], '\\x00', 2) RETURNING id),
  o AS (
    INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at)
    SELECT gen_random_uuid(), 'of-' || n, sha256(int8send(n)), 'rental', 'delivered', a, 65000, 3600, 1, 1,
      1, true, 65000, now(), now(), now() + interval '1 hour'
    FROM unnest($1::text[]) WITH ORDINALITY AS t(a, n) RETURNING id, receive_address),
  l AS (
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at)
    SELECT o.id, 1, 'rental', w.id, o.receive_address, 1000000, 65000, 'active', now() FROM o, w RETURNING id, order_id, wallet_id)
  INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number,
      expires_at, block_number, block_id, block_at, sends, sent_at)
  SELECT order_id, id, 'delegate', 1, wallet_id, 'solid', sha256(int8send(id)), '\\x00', decode(repeat('00', 65), 'hex'), 1,
      now(), 1, sha256('block'), now(), 1, now() FROM l`;

let store: TestDatabase;
let database: Database;
const addresses = Array.from({ length: COUNT }, () =>
  addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)])),
);

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
  await database.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = '60s'`);
    await tx.query(
      {
        text: `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
         daily_cap_credits, idle_after_sec, due_at, change_at, check_at)
       SELECT p, a, p, 130000, 100000, 3600, 1, 86400, CASE WHEN n % 2 = 0 THEN later END, later,
         CASE WHEN n % 2 = 1 THEN later END
       FROM unnest($1::text[]) WITH ORDINALITY AS t(a, n), gen_random_uuid() p,
         LATERAL (SELECT clock_timestamp() + n * interval '1 minute' + interval '1 hour') l(later)`,
        query_timeout: 60_000,
      },
      [addresses],
    );
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query({ text: RENTALS, query_timeout: 60_000 }, [addresses]);
    await tx.query({ text: 'ANALYZE auto_delegation, pool_wallet, orders, leg, chain_tx', query_timeout: 60_000 });
  });
});
afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

const LATER = `UPDATE auto_delegation SET due_at = clock_timestamp() + CASE WHEN due_at IS NOT NULL THEN interval '100 seconds' END,
  check_at = clock_timestamp() + CASE WHEN check_at IS NOT NULL THEN interval '500 seconds' END`;

/** Returns the rows and index entries that `work` read. Rolls its changes back. */
async function readBy<T>(work: (tx: Transaction) => Promise<T>): Promise<{ result: T; read: bigint }> {
  let found: { result: T; read: bigint } | undefined;
  const undone = new Error('undone');
  await database
    .transaction(async (tx) => {
      // All others are due as late as possible: a later time could only come from a later clock.
      await tx.query(`SET LOCAL statement_timeout = '60s'`);
      await tx.query({ text: LATER, query_timeout: 60_000 });
      await tx.query('UPDATE auto_delegation SET due_at = clock_timestamp() WHERE id <= $1 AND due_at IS NOT NULL', [
        2 * FOUND,
      ]);
      await tx.query(
        'UPDATE auto_delegation SET check_at = clock_timestamp() WHERE id <= $1 AND check_at IS NOT NULL',
        [2 * FOUND],
      );
      const before = await readOf(tx);
      const result = await work(tx);
      found = { result, read: (await readOf(tx)) - before };
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return found!;
}

async function readOf(tx: Transaction): Promise<bigint> {
  const [row] = await tx.query<{ read: bigint }>(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint AS read FROM pg_stat_xact_user_tables
      WHERE relname IN ('auto_delegation', 'pool_wallet', 'orders', 'leg', 'chain_tx')`,
  );
  return row!.read;
}

const claimsOn = (tx: Transaction): AutoDelegationClaims => new AutoDelegationClaims(tx as unknown as Database);

describe('with ten thousand of one project due', () => {
  const QUEUE = 10_000;
  const OTHERS = 5;
  const DUE = {
    claimDue: `due_at = clock_timestamp() - interval '1 hour'`,
    claimInRound: `due_at = NULL, check_at = clock_timestamp() - interval '1 hour'`,
  };

  it.each(['claimDue', 'claimInRound'] as const)('those of other projects are next all the same: %s', async (claim) => {
    const { result, read } = await readBy(async (tx) => {
      await tx.query([`UPDATE auto_delegation SET`, DUE[claim], `WHERE id > $1`].join(' '), [COUNT - QUEUE]);
      await tx.query(
        [
          `UPDATE auto_delegation SET project_id = gen_random_uuid(),`,
          DUE[claim].replace('1 hour', '1 second'),
          `WHERE id > $1`,
        ].join(' '),
        [COUNT - OTHERS],
      );
      const before = await readOf(tx);
      const claimed = await claimsOn(tx)[claim](12);
      return { ids: claimed.map(({ id }) => Number(id)).sort((a, b) => a - b), read: (await readOf(tx)) - before };
    });
    expect(result.ids).toHaveLength(12);
    expect(result.ids.slice(-OTHERS)).toEqual([5, 4, 3, 2, 1].map((n) => COUNT + 1 - n));
    expect(Number(result.read)).toBeLessThan(READ_MAX);
    expect(Number(read)).toBeGreaterThan(QUEUE);
  });
});

describe('with a hundred thousand that need nothing', () => {
  it('what is due is claimed without reading the others', async () => {
    const { result, read } = await readBy((tx) => claimsOn(tx).claimDue(12));
    expect(result).toHaveLength(FOUND);
    expect(Number(read)).toBeLessThan(READ_MAX);
  });

  it('the slow round does not read them either', async () => {
    const { result, read } = await readBy((tx) => claimsOn(tx).claimInRound(12));
    expect(result).toHaveLength(FOUND);
    expect(Number(read)).toBeLessThan(READ_MAX);
  });

  it('changes of rentals do not read them either', async () => {
    const { read } = await readBy((tx) => claimsOn(tx).makeChangesDue(Date.now(), 100));
    expect(Number(read)).toBeLessThan(READ_MAX);
  });

  it('the delegations to checked addresses are found without reading those to others', async () => {
    const claimed = addresses
      .slice(0, FOUND)
      .map((address, n) => ({ id: BigInt(n + 1), project_id: randomUUID(), address }) as ClaimedAutoDelegation);
    const { result, read } = await readBy((tx) => claimsOn(tx).legsOf(claimed));
    expect(result.map(({ auto_id, delegated_in }) => [auto_id, delegated_in]).sort()).toEqual(
      claimed.map(({ id }) => [id, 1n]).sort(),
    );
    expect(Number(read)).toBeLessThan(READ_MAX);
  });

  it('a check is recorded by its row', async () => {
    const checked = {
      ...{ isAsleep: false, pauseReason: undefined, failures: 0, usableEnergy: 1n, usedAtMs: undefined },
      ...{ changeAtMs: undefined, dueInMs: undefined, checkInMs: 600_000 },
    };
    const { result, read } = await readBy((tx) =>
      claimsOn(tx).record({ id: 1n, fence: 0n } as ClaimedAutoDelegation, checked),
    );
    expect(result).toBe(true);
    expect(Number(read)).toBeLessThan(READ_MAX);
  });

  it('the cost of a block depends on those who called in it', async () => {
    const observer = new UseObserver(database, new Metrics(), openLog('silent'));
    const callers = [
      ...addresses.slice(0, FOUND).map((address) => addressBytes(address)!),
      ...Array.from({ length: CALLERS }, () => Buffer.concat([Buffer.of(0x41), randomBytes(20)])),
    ].map((bytes) => bytes.toString('hex'));
    const block = {
      number: 7,
      id: randomBytes(32).toString('hex'),
      timestampMs: 1,
      callers,
    } as unknown as WitnessedBlock;
    const { result, read } = await readBy(async (tx) => {
      await observer.consumeBlock(tx, block);
      return tx.query('SELECT FROM auto_delegation WHERE used_block = 7');
    });
    expect(result).toHaveLength(FOUND);
    // The last of these statements reads the whole table.
    expect(Number(read)).toBeLessThan(COUNT + READ_MAX + 2 * FOUND);
  });

  it('a use that twenty workers see, at the head and twice, is recorded once, and a use of another block at that height again', async () => {
    const user = addresses[COUNT - 1]!;
    const caller = addressBytes(user)!.toString('hex');
    const blockOf = (id: string) =>
      ({ number: 9, id: id.repeat(32), timestampMs: 9, transactions: [{ caller }, { caller }] }) as unknown as Block;
    const metrics = Array.from({ length: 20 }, () => new Metrics());
    const observers = metrics.map((ofOne) => new UseObserver(database, ofOne, openLog('silent')));
    const seeAll = async (block: Block) => {
      await Promise.all(observers.map((observer) => observer.observeBlocks([block, block])));
      await Promise.all(observers.map((observer) => observer.observeBlocks([block])));
    };
    const counted = async () => {
      const gauges = metrics.map((ofOne) => ofOne.registry.getSingleMetric('auto_delegation_uses_total')!.get());
      return (await Promise.all(gauges)).reduce((sum, { values }) => sum + (values[0]?.value ?? 0), 0);
    };
    await seeAll(blockOf('aa'));
    expect(await counted()).toBe(1);
    await seeAll(blockOf('bb'));
    expect(await counted()).toBe(2);
  });
});
