// The rate of a minute, which prices every deposit of its blocks: the first one stored, judged by the median of a day.
import { rateE8 } from '../../../src/domain/units.js';
import { RateHistory } from '../../../src/modules/deposits/rate-history.js';
import type { Database } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const AT = new Date('2026-03-01T12:00:30Z');
const MINUTE_MS = 60_000;
const DAY_MIN = 1440;

let store: TestDatabase;
let database: Database;
let history: RateHistory;

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
  history = new RateHistory(database);
});

beforeEach(() => database.query('DELETE FROM asset_rate'));

afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

/** Stores a TRX rate for a minute, counted from that of `AT`. */
const addRate = (minute: number, rate: number) =>
  database.query(
    `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ('TRX', date_trunc('minute', $1::timestamptz), $2)`,
    [new Date(AT.getTime() + minute * MINUTE_MS), rate],
  );

it('keeps the first rate of a minute', async () => {
  const [row] = await database.query<{ at: Date }>(`SELECT clock_timestamp() + interval '1 hour' AS at`);
  for (const rate of [100, 200]) await history.keep('TRX', rateE8(rate), row!.at);
  expect(await history.find(database, 'TRX', row!.at)).toEqual({ rate: 100n, median: 100n });
});

it('takes the median of the 24 hours up to and including the minute', async () => {
  await addRate(-DAY_MIN, 900);
  await addRate(1 - DAY_MIN, 100);
  await addRate(0, 200);
  await addRate(1, 300);
  await addRate(2, 300);
  expect(await history.find(database, 'TRX', AT)).toEqual({ rate: 200n, median: 100n });
});

it('does not doubt a rate up to a tenth from the median of the same hours', async () => {
  await addRate(1 - DAY_MIN, 100);
  await addRate(0, 111);
  expect(await history.findUndoubted(database, 'TRX', AT)).toBeUndefined();
  await database.query('UPDATE asset_rate SET rate_e8 = 110 WHERE rate_e8 = 111');
  expect((await history.findUndoubted(database, 'TRX', AT))?.rate).toBe(110n);
});
