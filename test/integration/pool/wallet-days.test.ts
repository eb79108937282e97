// Idle and recovering stake of a wallet, added up by UTC day over its readings.
import { addToDay } from '../../../src/modules/pool/wallet-days.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { undone } from '../../support/database/undone.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const WALLET = 1;
const BEGIN_MS = Date.parse('2026-03-01T12:00:00Z');
/** One energy for each TRX. */
const RATIO = { totalEnergyLimit: 1_000_000n, totalEnergyWeight: 1_000_000n };
const EVERY_SEC = 60;

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

/** Reads a wallet with 5 TRX idle and 2 TRX recovering at each of these seconds, and returns its day. */
const dayAfter = (...readings: readonly number[]) =>
  undone(database, async (tx: Transaction) => {
    await tx.query(
      `INSERT INTO pool_wallet (id, address, role, permission_id, key_address, read_at)
       OVERRIDING SYSTEM VALUE VALUES ($1, 'TWallet', 'pool', 2, 'TKey', $2)`,
      [WALLET, new Date(BEGIN_MS)],
    );
    for (const sec of readings) {
      const readAt = new Date(BEGIN_MS + sec * 1000);
      const stake = { idleSun: 5_000_000n, recoveringSun: 2_000_000n, ratio: RATIO, everySec: EVERY_SEC };
      await addToDay(tx, { walletId: WALLET, readAt, ...stake });
      await tx.query('UPDATE pool_wallet SET read_at = $2 WHERE id = $1', [WALLET, readAt]);
    }
    return tx.query<Record<string, bigint | string>>(
      `SELECT measured_ms, idle_energy_ms::text AS idle, recovering_energy_ms::text AS recovering FROM pool_wallet_day`,
    );
  });

it('adds up the readings of a day, each for the time since the one before', async () => {
  expect(await dayAfter(60, 90)).toEqual([{ measured_ms: 90_000n, idle: '450000', recovering: '180000' }]);
});

it('leaves out the time of a gap of more than five minutes', async () => {
  expect(await dayAfter(300)).toMatchObject([{ measured_ms: 300_000n }]);
  expect(await dayAfter(301)).toEqual([]);
  expect(await dayAfter(60, 361, 391)).toMatchObject([{ measured_ms: 90_000n }]);
});
