// TRX/USD from local exchanges that answer over HTTP like the real ones.
import { createServer } from 'node:http';
import { Rates } from '../../../src/modules/billing/rates.js';
import {
  RATE_SOURCE_NAMES,
  agreedRate,
  askSource,
  rateSource,
  readPrice,
} from '../../../src/modules/billing/rate-sources.js';
import { readConfig, ConfigError } from '../../../src/platform/config/config.js';
import { openLog } from '../../support/log.js';
import { rateE8 } from '../../../src/domain/units.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { cliWith, settings } from '../../support/cli.js';
import { until } from '../../support/api/quote-fixture.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

/** Recorded answers of each exchange, and their price. */
const RECORDED: Readonly<Record<string, readonly [string, string]>> = {
  binance: ['/api/v3/ticker/price?symbol=TRXUSDT', '{"symbol":"TRXUSDT","price":"0.28120000"}'],
  coinbase: ['/v2/prices/TRX-USD/spot', '{"data":{"amount":"0.2811545","base":"TRX","currency":"USD"}}'],
  kraken: [
    '/0/public/Ticker?pair=TRXUSD',
    '{"error":[],"result":{"TRXUSD":{"a":["0.281300","14000","14000.000"],"b":["0.281100","3000","3000.000"],"c":["0.281180","356.22134000"],"v":["1","2"],"p":["0.28","0.28"],"t":[1,2],"l":["0.27","0.27"],"h":["0.29","0.29"],"o":"0.280000"}}}',
  ],
  okx: [
    '/api/v5/market/ticker?instId=TRX-USDT',
    '{"code":"0","msg":"","data":[{"instType":"SPOT","instId":"TRX-USDT","last":"0.28117","lastSz":"35.5","askPx":"0.28118","askSz":"10","bidPx":"0.28117","bidSz":"9","ts":"1760000000000"}]}',
  ],
  bybit: [
    '/v5/market/tickers?category=spot&symbol=TRXUSDT',
    '{"retCode":0,"retMsg":"OK","result":{"category":"spot","list":[{"symbol":"TRXUSDT","bid1Price":"0.2811","bid1Size":"1","ask1Price":"0.2812","ask1Size":"2","lastPrice":"0.2812"}]},"retExtInfo":{},"time":1760000000000}',
  ],
  kucoin: [
    '/api/v1/market/orderbook/level1?symbol=TRX-USDT',
    '{"code":"200000","data":{"time":1760000000000,"sequence":"1","price":"0.28119","size":"10","bestBid":"0.28118","bestBidSize":"1","bestAsk":"0.28119","bestAskSize":"2"}}',
  ],
  gate: [
    '/api/v4/spot/tickers?currency_pair=TRX_USDT',
    '[{"currency_pair":"TRX_USDT","last":"0.28116","lowest_ask":"0.28117","highest_bid":"0.28116","change_percentage":"0.1"}]',
  ],
};
const PRICES = { binance: 28_120_000n, coinbase: 28_115_450n, kraken: 28_118_000n, okx: 28_117_000n };

interface Exchange {
  readonly url: string;
  readonly asked: string[];
  /** Answers with this body instead, or never when it is undefined. */
  say: (body: string | undefined, status?: number) => void;
  readonly close: () => Promise<void>;
}

async function openExchange(body: string): Promise<Exchange> {
  const asked: string[] = [];
  let answer: { body: string | undefined; status: number } = { body, status: 200 };
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (answer.body === undefined) return;
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the exchange has no port');
  return {
    url: `http://127.0.0.1:${address.port.toString()}`,
    asked,
    say: (said, status = 200) => (answer = { body: said, status }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let testDatabase: TestDatabase;
const exchanges = new Map<string, Exchange>();
const opened: (() => Promise<void>)[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  for (const [name, [, body]] of Object.entries(RECORDED)) exchanges.set(name, await openExchange(body));
});

afterAll(async () => {
  await Promise.all([...exchanges.values()].map((exchange) => exchange.close()));
  await testDatabase.drop();
});

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
  for (const [name, [, body]] of Object.entries(RECORDED)) exchanges.get(name)!.say(body);
});

interface Opened {
  readonly rates: Rates;
  readonly database: Database;
}

/** Opens the rates of one simulated process. */
async function openRates(env: Record<string, string> = {}, forget = true): Promise<Opened> {
  const urls = [...exchanges].map(([name, { url }]) => `${name}=${url}`).join(',');
  const config = readConfig(
    settings(testDatabase.url, {
      RATE_SOURCES: 'binance,coinbase,kraken,okx',
      RATE_SOURCE_URLS: urls,
      RATE_REFRESH_SEC: '1',
      ...env,
    }),
  );
  const source = createDataSource({ url: testDatabase.url, poolMax: 2, applicationName: 'rates-test' });
  await source.initialize();
  const database = new Database(source);
  if (forget) await database.query(`DELETE FROM market_state`);
  opened.push(() => source.destroy());
  const rates = new Rates(config, database, openLog('silent'));
  await rates.onModuleInit();
  // Runs before the connection closes.
  opened.unshift(() => rates.beforeApplicationShutdown());
  return { rates, database };
}

describe('an exchange', () => {
  test('every exchange that can be configured is recorded here', () => {
    expect([...RATE_SOURCE_NAMES].sort()).toEqual(Object.keys(RECORDED).sort());
  });

  test.each(Object.entries(RECORDED))(
    '%s is asked at its address, and its answer read exactly',
    async (name, entry) => {
      const [path] = entry;
      const exchange = exchanges.get(name)!;
      exchange.asked.length = 0;
      const rate = await askSource(rateSource(name)!, exchange.url, 1000);
      expect(exchange.asked).toEqual([path]);
      expect(rate).toBeGreaterThan(28_000_000n);
      if (name in PRICES) expect(rate).toBe(PRICES[name as keyof typeof PRICES]);
    },
  );

  test.each([
    ['no JSON', '<html>', 200],
    ['another shape', '{"price":{"a":1}}', 200],
    ['a number, which went through a float', '{"price":0.28}', 200],
    ['zero', '{"price":"0.00"}', 200],
    ['a negative price', '{"price":"-0.28"}', 200],
    ['an error status', '{"price":"0.28"}', 418],
    ['a flood', `{"price":"0.28","x":"${'x'.repeat(100_000)}"}`, 200],
    ['nothing', '', 200],
  ])('that answers %s gives no rate', async (_, body, status) => {
    exchanges.get('binance')!.say(body, status);
    await expect(askSource(rateSource('binance')!, exchanges.get('binance')!.url, 1000)).rejects.toThrow();
  });

  test('that never answers is abandoned', async () => {
    exchanges.get('binance')!.say(undefined);
    await expect(askSource(rateSource('binance')!, exchanges.get('binance')!.url, 200)).rejects.toThrow(/timeout/i);
  });
});

describe('reading a price', () => {
  test('keeps eight digits, rounded half up, and never passes through a float', () => {
    expect(readPrice('0.28117')).toBe(28_117_000n);
    expect(readPrice('0.123456784999')).toBe(12_345_678n);
    expect(readPrice('0.123456785')).toBe(12_345_679n);
    expect(readPrice('123456789.000000001')).toBe(12_345_678_900_000_000n);
    for (const text of ['', '.5', '1.', '1e-1', ' 1', '0', 0.28, null, undefined, {}])
      expect(readPrice(text)).toBeUndefined();
  });
});

describe('several rates become one', () => {
  const rates = (...values: number[]) => values.map((value) => rateE8(value));

  test.each([
    ['the middle of three', [3, 1, 2].map((n) => 1000 + n), 1002n],
    ['the mean of the middle two of four', [1000, 1001, 1004, 1010], 1003n],
    ['without an outlier above', [1000, 1001, 1002, 9000], 1001n],
    ['without an outlier below', [1, 1000, 1001, 1002], 1001n],
    ['one absurd one and two alike', [1000, 1000, 70_000], 1000n],
  ] as const)('%s', (_, values, expected) => {
    expect(agreedRate(rates(...values), 2)).toBe(expected);
  });

  test('two that differ give no rate, nor does a single one where two are required', () => {
    expect(agreedRate(rates(1000, 2000), 2)).toBeUndefined();
    expect(agreedRate(rates(1000), 2)).toBeUndefined();
    expect(agreedRate([], 1)).toBeUndefined();
    expect(agreedRate(rates(1000), 1)).toBe(1000n);
  });
});

describe('the rate of a process', () => {
  test('is the median of what the exchanges report, and fresh', async () => {
    const { rates } = await openRates();
    expect(rates.current()).toEqual({ rate: 28_117_500n, fresh: true });
  });

  test('exists although one exchange is silent', async () => {
    exchanges.get('kraken')!.say(undefined);
    const { rates } = await openRates();
    const { fresh } = await until(
      () => rates.current(),
      (current) => current.fresh,
    );
    expect(fresh).toBe(true);
    expect(rates.current().rate).toBe(28_117_000n);
  });

  test.each([
    ['2 of 4', 'binance,coinbase,kraken,okx', ['binance', 'coinbase'], false],
    ['3 of 4', 'binance,coinbase,kraken,okx', ['binance', 'coinbase', 'kraken'], true],
    ['1 of 2', 'binance,coinbase', ['binance'], false],
    ['1 of 3', 'binance,coinbase,kraken', ['binance'], false],
    ['2 of 3', 'binance,coinbase,kraken', ['binance', 'coinbase'], true],
    ['3 of 7', [...RATE_SOURCE_NAMES].join(','), ['binance', 'coinbase', 'kraken'], false],
    ['1 of 1', 'binance', ['binance'], true],
  ])('requires more than half of the configured exchanges to agree: %s', async (_, names, there, isRate) => {
    for (const [name, exchange] of exchanges) if (!there.includes(name)) exchange.say('{}');
    const { rates } = await openRates({ RATE_SOURCES: names });
    expect(rates.current().fresh).toBe(isRate);
  });

  test('is not what two exchanges report together while the two others are away', async () => {
    for (const name of ['kraken', 'okx']) exchanges.get(name)!.say('', 500);
    exchanges.get('binance')!.say('{"price":"0.00002812"}');
    exchanges.get('coinbase')!.say('{"data":{"amount":"0.00002811"}}');
    const { rates } = await openRates();
    expect(rates.current()).toEqual({ rate: 30_000_000n, fresh: false });
  });

  test('leaves out an exchange with absurd rates', async () => {
    exchanges.get('okx')!.say('{"data":[{"last":"281.17"}]}');
    const { rates } = await openRates();
    expect(rates.current()).toEqual({ rate: 28_118_000n, fresh: true });
  });

  test('follows the exchanges, and grows stale without them: the last known one stays', async () => {
    const { rates } = await openRates({ RATE_MAX_AGE_SEC: '2' });
    for (const exchange of exchanges.values()) exchange.say('{}');
    const stale = await until(
      () => rates.current(),
      (current) => !current.fresh,
    );
    expect(stale).toEqual({ rate: 28_117_500n, fresh: false });
    // A process that starts now reads the rate and its age from Postgres.
    const late = await openRates({ RATE_MAX_AGE_SEC: '2' }, false);
    expect(late.rates.current()).toEqual({ rate: 28_117_500n, fresh: false });
    for (const [name, [, body]] of Object.entries(RECORDED)) exchanges.get(name)!.say(body);
    for (const each of [rates, late.rates]) {
      expect(
        await until(
          () => each.current(),
          (current) => current.fresh,
        ),
      ).toMatchObject({ fresh: true });
    }
  });

  test('is the configured one before any was read, and that is not fresh', async () => {
    for (const exchange of exchanges.values()) exchange.say('{}');
    const { rates } = await openRates({ FALLBACK_TRX_USD: '0.25' });
    expect(rates.current()).toEqual({ rate: 25_000_000n, fresh: false });
  });

  test('is asked for once, however many processes there are', async () => {
    const processes = [await openRates({ RATE_REFRESH_SEC: '60' })];
    exchanges.get('binance')!.asked.length = 0;
    for (let count = 0; count < 4; count += 1) processes.push(await openRates({ RATE_REFRESH_SEC: '60' }, false));
    for (const { rates } of processes) expect(rates.current()).toEqual({ rate: 28_117_500n, fresh: true });
    expect(exchanges.get('binance')!.asked).toHaveLength(0);
  });

  test('static is the configured one, always fresh, and asks no exchange', async () => {
    for (const exchange of exchanges.values()) exchange.asked.length = 0;
    const { rates } = await openRates({ RATE_SOURCES: 'static', FALLBACK_TRX_USD: '0.123' });
    expect(rates.current()).toEqual({ rate: 12_300_000n, fresh: true });
    expect([...exchanges.values()].flatMap(({ asked }) => asked)).toEqual([]);
  });

  test.each(['nosuch', 'binance,nosuch', 'static,binance'])('sources %s are refused at the start', async (names) => {
    await expect(openRates({ RATE_SOURCES: names })).rejects.toThrow(ConfigError);
  });
});

/** Sets the price of every exchange. */
function sayAll(price: string): void {
  exchanges.get('binance')!.say(JSON.stringify({ price }));
  exchanges.get('coinbase')!.say(JSON.stringify({ data: { amount: price } }));
  exchanges.get('kraken')!.say(JSON.stringify({ result: { TRXUSD: { c: [price] } } }));
  exchanges.get('okx')!.say(JSON.stringify({ data: [{ last: price }] }));
}

describe('a rate far from the known one', () => {
  const settled = { rate: 28_117_500n, fresh: true };
  const isRate = (rates: Rates, rate: bigint) =>
    until(
      () => rates.current(),
      (current) => current.fresh && current.rate === rate,
    );
  const isHeld = (rates: Rates) =>
    until(
      () => rates.isHeld,
      (held) => held,
    );
  const cli = () => cliWith(settings(testDatabase.url, { RATE_SOURCES: 'binance' }));

  test.each(['0.2250', '0.3373'])('is accepted when it moved by a fifth or less: %s', async (price) => {
    const { rates } = await openRates();
    expect(rates.current()).toEqual(settled);
    sayAll(price);
    const rate = BigInt(price.replace('0.', '')) * 10_000n;
    expect(await isRate(rates, rate)).toEqual({ rate, fresh: true });
    expect(rates.isHeld).toBe(false);
  });

  test.each(['0.2249', '0.3375', '0.00002812', '2811.75'])(
    'is held back when it moved further, in every process, and charges go on at the last: %s',
    async (price) => {
      const { rates } = await openRates();
      const other = await openRates({}, false);
      sayAll(price);
      for (const each of [rates, other.rates]) {
        expect(await isHeld(each)).toBe(true);
        expect(each.current()).toEqual({ rate: 28_117_500n, fresh: false });
      }
      const late = await openRates({}, false);
      expect(late.rates.current()).toEqual({ rate: 28_117_500n, fresh: false });
    },
  );

  test.each(['0.0299', '3.01'])('is held back when it is the first, but outside the band: %s', async (price) => {
    sayAll(price);
    const { rates } = await openRates();
    expect(rates.isHeld).toBe(true);
    expect(rates.current()).toEqual({ rate: 30_000_000n, fresh: false });
  });

  test('cannot creep out of the band in small steps', async () => {
    sayAll('2.9');
    const { rates } = await openRates();
    expect(rates.current()).toEqual({ rate: 290_000_000n, fresh: true });
    sayAll('3.1');
    expect(await isHeld(rates)).toBe(true);
    expect(rates.current()).toEqual({ rate: 290_000_000n, fresh: false });
  });

  test('is forgotten once the exchanges report a near one again', async () => {
    const { rates } = await openRates();
    sayAll('0.5');
    expect(await isHeld(rates)).toBe(true);
    sayAll('0.29');
    expect(await isRate(rates, 29_000_000n)).toEqual({ rate: 29_000_000n, fresh: true });
    expect(rates.isHeld).toBe(false);
  });

  test('is charged as soon as the operator confirms it, in every process, and the act is recorded', async () => {
    const { rates, database } = await openRates();
    const other = await openRates({}, false);
    sayAll('3.5');
    expect(await isHeld(rates)).toBe(true);
    const shown = (await cli()('--json', 'price', 'rate')).json();
    expect(shown).toMatchObject({ rate: '0.28117500', held_rate: '3.50000000' });
    expect((await cli()('price', 'confirm-rate')).code).toBe(2);
    const confirmed = await cli()('--yes', '--json', '--actor', 'ann', 'price', 'confirm-rate');
    expect(confirmed.json()).toEqual({ rate: '3.50000000', rate_before: '0.28117500' });
    for (const each of [rates, other.rates]) expect(await isRate(each, 350_000_000n)).toMatchObject({ fresh: true });
    // It stays although it is out of the band: rates near it are accepted.
    sayAll('3.6');
    expect(await isRate(rates, 360_000_000n)).toMatchObject({ fresh: true });
    expect(rates.isHeld).toBe(false);
    const [act] = await database.query(
      `SELECT actor, subject, detail FROM audit_log WHERE action = 'price.confirm-rate'`,
    );
    expect(act).toMatchObject({ actor: 'ann', detail: { before: '0.28117500', after: '3.50000000' } });
    expect((await cli()('--yes', 'price', 'confirm-rate')).err).toContain('No rate is held');
  });

  test('is charged once it has held for an hour, not before', async () => {
    const { rates, database } = await openRates();
    sayAll('0.5');
    expect(await isHeld(rates)).toBe(true);
    const age = (interval: string) =>
      database.query(
        `UPDATE market_state SET measured_at = clock_timestamp() - interval '${interval}' WHERE name = 'trx-usd-held'`,
      );
    const seen = async () =>
      Number(
        (
          await database.query<{ seen: string }>(
            `SELECT value->>'seen' AS seen FROM market_state WHERE name = 'trx-usd-held'`,
          )
        )[0]?.seen,
      );
    await age('3500 seconds');
    const before = await seen();
    // It has been read again since.
    expect(await until(seen, (now) => now > before)).toBeGreaterThan(before);
    expect(rates.current()).toEqual({ rate: 28_117_500n, fresh: false });
    await age('3601 seconds');
    expect(await isRate(rates, 50_000_000n)).toEqual({ rate: 50_000_000n, fresh: true });
    expect(rates.isHeld).toBe(false);
  });

  test.each([
    [
      'when it was another rate meanwhile',
      `jsonb_set(value, '{rate}', '"0.45000000"')`,
      `measured_at - interval '2 hours'`,
    ],
    ['when it was not read for a while', `jsonb_set(value, '{seen}', '1000')`, `measured_at - interval '2 hours'`],
    ['when the clock was set back', 'value', `measured_at + interval '2 hours'`],
  ])('has not held for an hour %s', async (_, value, measuredAt) => {
    const { rates, database } = await openRates({ RATE_REFRESH_SEC: '1' });
    sayAll('0.5');
    expect(await isHeld(rates)).toBe(true);
    await rates.beforeApplicationShutdown();
    await database.query(
      `UPDATE market_state SET value = ${value}, measured_at = ${measuredAt} WHERE name = 'trx-usd-held'`,
    );
    await database.query(`UPDATE market_state SET lease_until = NULL WHERE name = 'trx-usd'`);
    const next = await openRates({}, false);
    expect(next.rates.current()).toEqual({ rate: 28_117_500n, fresh: false });
    const [held] = await database.query<{ sec: number; rate: string }>(
      `SELECT extract(epoch FROM clock_timestamp() - measured_at)::float8 AS sec, value->>'rate' AS rate
         FROM market_state WHERE name = 'trx-usd-held'`,
    );
    expect(held!.rate).toBe('0.50000000');
    expect(Math.abs(held!.sec)).toBeLessThan(1800);
  });
});
