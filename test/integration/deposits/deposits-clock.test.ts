// Rates that a fast database clock wrote into the future: none of them prices a deposit.
import { ClockWatch } from '../../../src/modules/fulfilment/loop/clock-watch.js';
import { RateHistory } from '../../../src/modules/deposits/rate-history.js';
import { rateE8 } from '../../../src/domain/units.js';
import type { Config } from '../../../src/platform/config/config.js';
import {
  calm,
  chain,
  closeFixture,
  database,
  depositsOf,
  follow,
  freeTurn,
  openFixture,
  openWorker,
  payToken,
  payTrx,
  settle,
  newDepositProject,
  START_LIMIT_MS,
} from '../../support/worker/deposit-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { env } from '../../support/worker/deposit-fixture.js';

const QUIET = {
  RATE_SOURCES: 'binance,coinbase',
  RATE_SOURCE_URLS: 'binance=http://127.0.0.1:9,coinbase=http://127.0.0.1:9',
};

let quiet: Awaited<ReturnType<typeof openWorker>>;

beforeAll(async () => {
  await openFixture();
  quiet = await openWorker(QUIET);
}, START_LIMIT_MS);
beforeEach(async () => {
  await calm();
  await freeTurn();
  await database.query(`DELETE FROM asset_rate`);
  await database.query(`UPDATE clock_mark SET followed_at = NULL`);
});
afterAll(closeFixture, START_LIMIT_MS);

const laterRates = () =>
  database.query(
    `INSERT INTO asset_rate (asset, minute, rate_e8)
      SELECT asset, date_trunc('minute', clock_timestamp() + interval '20 days'), rate FROM (VALUES ('TRX', 90000000), ('USDT', 100000000)) v(asset, rate)`,
  );
const history = () => new RateHistory(database);
const minutes = async (): Promise<unknown[]> => database.query(`SELECT asset FROM asset_rate`);

describe('a deposit', () => {
  it('is credited by one node although others were credited by a clock a year ahead', async () => {
    await history().keep('TRX', rateE8(30_000_000n));
    const limited = {
      ...QUIET,
      TRON_FULL_NODE_URLS: chain.fullUrl,
      TRON_SOLIDITY_NODE_URLS: chain.solidUrl,
      DEPOSIT_AUTO_MAX_USD: '6',
    };
    const alone = await openWorker(limited);
    const pay = async (): Promise<unknown> => {
      const to = await newDepositProject();
      await payTrx(to, 20_000_000);
      await settle();
      await freeTurn();
      await follow(alone);
      return depositsOf(to);
    };
    const later = (years: string) =>
      asAdmin(env['DATABASE_URL']!, async (client) => {
        await client.query('SET session_replication_role = replica');
        await client.query(`UPDATE deposit SET changed_at = changed_at + $1::interval WHERE status = 'credited'`, [
          years,
        ]);
      });
    await later('1 year');
    try {
      expect(await pay()).toMatchObject([{ status: 'credited', credits: 60_000_000n }]);
      // The day's limit is used up.
      expect(await pay()).toMatchObject([{ status: 'held', reason: 'auto_max' }]);
      await later('1 year');
      expect(await pay()).toMatchObject([{ status: 'credited', credits: 60_000_000n }]);
    } finally {
      await freeTurn();
    }
  });

  it('is not credited at the rate of a future minute, neither a new one nor a waiting one', async () => {
    const waiting = await newDepositProject();
    await payTrx(waiting, 20_000_000);
    await settle();
    await follow(quiet);
    expect(await depositsOf(waiting)).toMatchObject([{ reason: 'no_rate' }]);
    await laterRates();
    const fresh = await newDepositProject();
    await payTrx(fresh, 20_000_000);
    await payToken(fresh, 6_000_000n);
    await settle();
    await follow(quiet);
    await freeTurn();
    await follow(quiet);
    expect(await depositsOf(waiting)).toMatchObject([{ reason: 'no_rate' }]);
    expect(await depositsOf(fresh)).toMatchObject([{ reason: 'no_rate' }, { reason: 'no_rate' }]);
    await history().keep('TRX', rateE8(30_000_000n));
    await freeTurn();
    await follow(quiet);
    expect(await depositsOf(waiting)).toMatchObject([{ status: 'credited', credits: 60_000_000n }]);
  });

  it('has the rates of later minutes deleted when the clock is set back', async () => {
    await laterRates();
    await history().keep('TRX', rateE8(30_000_000n));
    await asAdmin(env['DATABASE_URL']!, (client) =>
      client.query(`UPDATE clock_mark SET seen_at = clock_timestamp() + interval '20 days'`),
    );
    await new ClockWatch(database, { worker: { leaseSec: 60, resendSec: 30 } } as Config).checkClock();
    expect(await minutes()).toEqual([{ asset: 'TRX' }]);
  });

  it('keeps no rate by a clock that has run ahead of the workers', async () => {
    await database.query(`UPDATE clock_mark SET followed_at = clock_timestamp() - interval '1 day'`);
    await history().keep('TRX', rateE8(30_000_000n));
    expect(await minutes()).toEqual([]);
    await database.query(`UPDATE clock_mark SET followed_at = clock_timestamp()`);
    await history().keep('TRX', rateE8(30_000_000n));
    expect(await minutes()).toEqual([{ asset: 'TRX' }]);
  });
});
