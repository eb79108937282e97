// POST /v1/quotes on the local chain: every member (docs/interface.md §7), bounds, edge cases, and redeeming a ref.
import { randomBytes } from 'node:crypto';
import { mostUses } from '../../../src/domain/price.js';
import { Prices } from '../../../src/modules/quotes/prices.js';
import { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { SalesTerms } from '../../../src/modules/quotes/sales-terms.js';
import { AUTHOR, makeCustomer, type TestApi } from '../../support/api/factory.js';
import { cliWith, settings } from '../../support/cli.js';
import { openProxy, type Proxy } from '../../support/database/proxy.js';
import { WHO, recordedCall, newAddress, transferArgs } from '../../support/chain/quote-chain.js';
import { openQuoteFixture, until, type QuoteFixture } from '../../support/api/quote-fixture.js';
import { PriceRow } from '../../../src/platform/database/entities/price-row.entity.js';
import { createTestDatabase } from '../../setup/database.js';

let fixture: QuoteFixture;
let prices: Prices;

beforeAll(async () => {
  fixture = await openQuoteFixture();
  prices = new Prices(fixture.api.database.source.getRepository(PriceRow), fixture.api.database);
});

afterAll(() => fixture.close());

afterEach(() => fixture.node.mend());

const ENERGY = 65_000;
const NAMED = { receive_address: WHO.bob, energy: ENERGY, duration_sec: 3600 };
const WARM = recordedCall('transfer to an existing holder').response.energy_used!;
const COLD = recordedCall('transfer to a new holder').response.energy_used!;

const quote = (body: unknown) => fixture.customer.post('/v1/quotes', body);
const service = (api: TestApi) => api.app.get(QuotesService, { strict: false });

const TRX = /^\d+\.\d{6}$/;
const USD = /^\d+\.\d{6}$/;

describe('each row of the table of members (docs/interface.md §7)', () => {
  let body: Record<string, unknown>;
  let withoutRate: Record<string, unknown>;

  beforeAll(async () => {
    body = (await quote(NAMED)).body as Record<string, unknown>;
    // The exchange is unreachable, so there was never a rate.
    const poor = await fixture.another({ RATE_SOURCES: 'binance', RATE_SOURCE_URLS: 'binance=http://127.0.0.1:1' });
    withoutRate = (await fixture.customer.at(poor.baseUrl).post('/v1/quotes', NAMED)).body as Record<string, unknown>;
    await poor.close();
  });

  test.each([
    ['ref', expect.stringMatching(/^[A-Za-z0-9_-]{1,512}$/), 'always'],
    ['receive_address', WHO.bob, 'always'],
    ['energy', 65_000, 'always'],
    ['duration_sec', 3600, 'always'],
    ['price_sun', 2_925_000, 'always'],
    ['price_trx', '2.925000', 'always'],
    ['price_usd', '0.877500', 'with a rate'],
    ['credits', 8_775_000, 'always'],
    ['trx_usd', '0.30000000', 'with a rate'],
    ['fee_limit_sun', 6_500_000, 'always'],
    ['recipient_state', 'unknown', 'always'],
    ['burn_price_sun', 6_500_000, 'always'],
    ['burn_price_trx', '6.500000', 'always'],
    ['burn_price_usd', '1.950000', 'with a rate'],
    ['burn_price_credits', 19_500_000, 'always'],
    ['saving_trx', '3.575000', 'always'],
    ['saving_usd', '1.072500', 'with a rate'],
    ['saving_credits', 10_725_000, 'always'],
    ['expires_at', expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/), 'always'],
    ['expires_in_sec', 90, 'always'],
  ] as const)('%s', (member, value, presence) => {
    expect(body[member]).toEqual(value);
    expect(Object.hasOwn(withoutRate, member)).toBe(presence === 'always');
  });

  test('has no other member', () => {
    expect(Object.keys(body)).toHaveLength(20);
    expect(Object.keys(withoutRate)).toHaveLength(16);
  });

  test('without any rate credits still exist, at the configured one', () => {
    expect(withoutRate['credits']).toBe(body['credits']);
    expect(withoutRate['burn_price_credits']).toBe(body['burn_price_credits']);
  });

  test('expires_at is 90 seconds from now', () => {
    const left = Date.parse(String(body['expires_at'])) - Date.now();
    expect(left).toBeGreaterThan(30_000);
    expect(left).toBeLessThanOrEqual(90_500);
  });
});

describe('the arithmetic of the answer', () => {
  test('savings are the differences of the shown figures, in each unit, for odd amounts and an odd rate', async () => {
    const { baseUrl, close } = await fixture.another({ FALLBACK_TRX_USD: '0.29876543' });
    try {
      for (const energy of [6205, 6207, 12_841, 65_537, 99_999_999]) {
        const { body } = await fixture.customer.at(baseUrl).post('/v1/quotes', { receive_address: WHO.bob, energy });
        const micros = (text: string) => BigInt(text.replace('.', ''));
        expect(micros(body.saving_trx)).toBe(micros(body.burn_price_trx) - micros(body.price_trx));
        expect(micros(body.saving_usd)).toBe(micros(body.burn_price_usd) - micros(body.price_usd));
        expect(body.saving_credits).toBe(body.burn_price_credits - body.credits);
        // credits = ceil(price_sun × trx_usd × 10)
        const product = BigInt(body.price_sun) * micros(body.trx_usd) * 10n;
        expect(BigInt(body.credits)).toBe((product + 99_999_999n) / 100_000_000n);
        for (const trx of ['price_trx', 'burn_price_trx', 'saving_trx']) expect(body[trx]).toMatch(TRX);
        for (const usd of ['price_usd', 'burn_price_usd', 'saving_usd']) expect(body[usd]).toMatch(USD);
      }
    } finally {
      await close();
    }
  });

  test.each([
    [300, 38],
    [600, 38],
    [601, 45],
    [3600, 45],
    [86_400, 65],
    [259_200, 150],
    [604_800, 315],
    [1_209_600, 600],
    [2_592_000, 1200],
  ])('%d seconds cost %d sun per energy', async (durationSec, perEnergy) => {
    const { body } = await quote({ ...NAMED, duration_sec: durationSec, expected_uses: mostUses(durationSec) });
    expect(body).toMatchObject({ duration_sec: durationSec, price_sun: ENERGY * perEnergy });
  });
});

describe('sizing', () => {
  test('a receiver who holds the token is warm, with the energy of a transfer to a holder', async () => {
    const { body } = await quote({ receive_address: WHO.bob });
    expect(body).toMatchObject({ recipient_state: 'warm', energy: WARM, duration_sec: 3600 });
    expect(body).not.toHaveProperty('needs_activation');
  });

  test('a receiver without the token is cold, with the energy of a transfer to a new holder', async () => {
    const { body } = await quote({ receive_address: WHO.carol });
    expect(body).toMatchObject({ recipient_state: 'cold', energy: COLD });
    expect(body).not.toHaveProperty('needs_activation');
  });

  test('a receiver who is not on chain is cold, and needs activation', async () => {
    const { body } = await quote({ receive_address: newAddress() });
    expect(body).toMatchObject({ recipient_state: 'cold', energy: COLD, needs_activation: true });
  });

  test.each(['energy', 'duration_sec'])('refuses null for %s, which a caller’s NaN becomes in JSON', async (member) => {
    const { status, body } = await quote({ receive_address: WHO.bob, [member]: null });
    expect([status, body.error]).toEqual([400, 'INVALID_REQUEST']);
    expect(body.details).toEqual([{ field: member, msg: 'must not be null' }]);
  });

  test('does not simulate a named energy, and asks the chain nothing', async () => {
    const before = fixture.node.asked.get('wallet/getaccount') ?? 0;
    const simulated = fixture.node.asked.get('wallet/triggerconstantcontract') ?? 0;
    const { body } = await quote({ receive_address: newAddress(), energy: 65_000 });
    expect(body.recipient_state).toBe('unknown');
    expect(fixture.node.asked.get('wallet/getaccount') ?? 0).toBe(before);
    expect(fixture.node.asked.get('wallet/triggerconstantcontract') ?? 0).toBe(simulated);
  });

  test('a burst for one receiver asks the chain once', async () => {
    const receiver = newAddress();
    const before = fixture.node.asked.get('wallet/getaccount') ?? 0;
    await Promise.all(Array.from({ length: 20 }, () => quote({ receive_address: receiver })));
    expect((fixture.node.asked.get('wallet/getaccount') ?? 0) - before).toBe(1);
  });
});

describe('the members of a request', () => {
  test.each([
    // In bounds, but the minimum price of a rental exceeds the cost of burning.
    ['energy', 1000, 409],
    ['energy', 100_000_000, 200],
    ['duration_sec', 300, 200],
    ['energy', 999, 400],
    ['energy', 100_000_001, 400],
    ['energy', 0, 400],
    ['energy', -1, 400],
    ['energy', 1e300, 400],
    ['energy', '65000', 400],
    ['energy', true, 400],
    ['duration_sec', 299, 400],
    ['duration_sec', 0, 400],
    ['duration_sec', -1, 400],
    ['duration_sec', 2_592_001, 400],
    ['duration_sec', 9_007_199_254_740_991, 400],
    ['duration_sec', '3600', 400],
    ['receive_address', 'T123', 400],
    ['receive_address', WHO.bob.slice(0, -1) + (WHO.bob.endsWith('Q') ? 'R' : 'Q'), 400],
    ['receive_address', '', 400],
    ['receive_address', null, 400],
    ['receive_address', 5, 400],
    ['colour', 'red', 400],
  ] as const)('%s %p: %d', async (member, value, expected) => {
    const { status, body } = await quote({ ...NAMED, [member]: value });
    expect(status).toBe(expected);
    if (expected === 400) {
      expect(body).toMatchObject({ ok: false, error: 'INVALID_REQUEST', details: [{ field: member }] });
    }
  });

  test.each(['65000.0', '6.5e4', '065000'])('refuses an energy written as %s', async (literal) => {
    const { status } = await quote(`{"energy":${literal},"receive_address":"${WHO.bob}"}`);
    expect(status).toBe(400);
  });

  test('a duration beyond the longest row gets the maximum in the error', async () => {
    const { body } = await quote({ ...NAMED, duration_sec: 2_592_001 });
    expect(body.msg).toContain('2592000');
  });

  test('names all of several faults', async () => {
    const { body } = await quote({ energy: 'x', colour: 1 });
    expect(body.details.map((detail: { field: string }) => detail.field).sort()).toEqual([
      'colour',
      'energy',
      'receive_address',
    ]);
  });
});

describe('worthwhile amounts', () => {
  test('a small amount costs the burn of its two transactions plus a tenth, and less than that is not sold', async () => {
    const small = await quote({ ...NAMED, energy: 6205 });
    expect(small).toMatchObject({
      status: 200,
      body: { price_sun: 620_400, credits: 1_861_200, burn_price_sun: 620_500 },
    });
    const smaller = await quote({ ...NAMED, energy: 6204 });
    expect(smaller).toMatchObject({ status: 409, body: { error: 'NOT_WORTH_RENTING' } });
    expect(smaller.body.msg).toContain('The smallest amount worth renting is 6205 energy');
    // From here on the table price exceeds the floor.
    expect((await quote({ ...NAMED, energy: 13_787 })).body.price_sun).toBe(13_787 * 45);
    const ordered = await fixture.customer.post('/v1/orders', { receive_address: WHO.bob, energy: 6204 });
    expect(ordered).toMatchObject({ status: 409, body: { error: 'NOT_WORTH_RENTING' } });
  });

  test('the floor follows the chain’s fee, and PRICE_FLOOR_BPS=0 removes it', async () => {
    const free = await fixture.another({ PRICE_FLOOR_BPS: '0' });
    try {
      const { body } = await fixture.customer.at(free.baseUrl).post('/v1/quotes', { ...NAMED, energy: 1000 });
      expect(body.price_sun).toBe(45_000);
      await fixture.chain.setParameters({ getTransactionFee: 2000 });
      const dearer = await until(
        () => quote({ ...NAMED, energy: 13_000 }),
        (answer) => answer.body.price_sun === 1_240_800,
      );
      expect(dearer).toMatchObject({ status: 200, body: { price_sun: 1_240_800 } });
    } finally {
      await fixture.chain.setParameters({ getTransactionFee: 1000 });
      await free.close();
      await until(
        () => quote({ ...NAMED, energy: 13_000 }),
        (answer) => answer.body.price_sun === 620_400,
      );
    }
  });

  test('a price equal to burning is not worthwhile, and one sun per energy below is', async () => {
    try {
      await prices.set(1200, 99n, AUTHOR);
      const at = { ...NAMED, duration_sec: 1200 };
      const below = await until(
        () => quote(at),
        ({ body }) => body.price_sun === ENERGY * 99,
      );
      expect(below.status).toBe(200);
      await prices.set(1200, 100n, AUTHOR);
      const equal = await until(
        () => quote(at),
        ({ status }) => status !== 200,
      );
      expect(equal).toMatchObject({ status: 409, body: { error: 'NOT_WORTH_RENTING' } });
    } finally {
      await prices.remove(1200, AUTHOR);
    }
  });

  test('every default price is below the burn price of the defaults', async () => {
    const rows = await prices.list();
    expect(rows.length).toBeGreaterThan(0);
    for (const { durationMaxSec: duration_sec } of rows)
      expect((await quote({ ...NAMED, duration_sec, expected_uses: mostUses(duration_sec) })).status).toBe(200);
  });

  test.each([
    [99, 'up', ''],
    [100, 'up', /NOT_WORTH_RENTING/],
    [50, 'down', /chain did not answer/],
  ] as const)(
    'warns of a price of %d set by the operator (node: %s) that can never be sold',
    async (perEnergy, node, warning) => {
      const cli = cliWith(
        settings(fixture.database.url, {
          TRON_FULL_NODE_URLS: node === 'down' ? 'http://127.0.0.1:1' : fixture.node.url,
          TRON_SOLIDITY_NODE_URLS: fixture.chain.solidUrl,
          TOKEN_CONTRACT: WHO.token,
        }),
      );
      const price = ['--duration-max', '1300', '--yes', '--force', '--reason', 'test'];
      const set = await cli('price', 'set', ...price, '--sun-per-energy', perEnergy.toString());
      await prices.remove(1300, AUTHOR);
      expect(set.code).toBe(0);
      if (warning === '') expect(set.err).toBe('');
      else expect(set.err).toMatch(warning);
    },
  );

  test('sells a longest row that grows immediately', async () => {
    try {
      await prices.set(3_000_000, 50n, AUTHOR);
      const longer = await until(
        () => quote({ ...NAMED, duration_sec: 3_000_000 }),
        ({ status }) => status === 200,
      );
      expect(longer.body.price_sun).toBe(ENERGY * 50);
    } finally {
      await prices.remove(3_000_000, AUTHOR);
    }
  });
});

describe('a ref', () => {
  test('opens in any process of the service to exactly the shown quote, and in none for another project', async () => {
    const other = await fixture.another();
    try {
      const { body } = await quote(NAMED);
      const opened = service(other).openQuote(body.ref, fixture.customer.merchant)!;
      expect(opened).toMatchObject({
        receiveAddress: body.receive_address,
        energy: BigInt(body.energy),
        durationSec: body.duration_sec,
        priceSun: BigInt(body.price_sun),
        credits: BigInt(body.credits),
        rate: 30_000_000n,
      });
      expect(new Date(opened.expiresAtMs).toISOString()).toBe(body.expires_at);
      const another = await makeCustomer(fixture.api);
      expect(service(other).openQuote(body.ref, another.merchant)).toBeUndefined();
    } finally {
      await other.close();
    }
  });

  test('belongs to one quote: two quotes of the same terms have two ids', async () => {
    const [one, two] = await Promise.all([quote(NAMED), quote(NAMED)]);
    const ids = [one, two].map(({ body }) => service(fixture.api).openQuote(body.ref, fixture.customer.merchant)!.id);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test('is unknown under another master key', async () => {
    const database = await createTestDatabase();
    const MASTER_KEY = randomBytes(32).toString('base64');
    const foreign = await fixture.another({ DATABASE_URL: database.url, MASTER_KEY });
    try {
      const { body } = await quote(NAMED);
      expect(service(foreign).openQuote(body.ref, fixture.customer.merchant)).toBeUndefined();
    } finally {
      await foreign.close();
      await database.drop();
    }
  });

  test('expires by the clock of the database, which this process follows', async () => {
    const [row] = await fixture.api.database.query<{ ms: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
    );
    const kept = fixture.api.app.get(SalesTerms, { strict: false }).databaseNowMs();
    expect(Math.abs(kept - row!.ms)).toBeLessThan(500);
  });
});

describe('quoting', () => {
  /** Runs `act` as a client of an API whose database connections go through a proxy. */
  async function throughProxy(act: (customer: QuoteFixture['customer'], proxy: Proxy) => Promise<void>): Promise<void> {
    const proxy = await openProxy(fixture.database.url);
    const api = await fixture.another({ DATABASE_URL: proxy.url });
    try {
      const customer = fixture.customer.at(api.baseUrl);
      expect((await customer.post('/v1/quotes', NAMED)).status).toBe(200);
      await act(customer, proxy);
    } finally {
      proxy.mend();
      await api.close();
      await proxy.close();
    }
  }

  test('writes nothing and needs no database', () =>
    throughProxy(async (customer, proxy) => {
      proxy.cut();
      for (let count = 0; count < 10; count += 1) {
        expect((await customer.post('/v1/quotes', NAMED)).status).toBe(200);
      }
      expect((await customer.post('/v1/quotes', { receive_address: WHO.bob })).body.recipient_state).toBe('warm');
      // Longer than one refresh: the process reads the chain itself and continues.
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect((await customer.post('/v1/quotes', NAMED)).status).toBe(200);
    }));

  test('does not wait for a hanging database', () =>
    throughProxy(async (customer, proxy) => {
      proxy.stall();
      expect((await customer.post('/v1/quotes', NAMED)).status).toBe(200);
    }));

  // This test runs last: wallets are never deleted, so its wallet stays.
  test('more than the whole pool is CAPACITY_UNAVAILABLE, once the pool is known', async () => {
    // The row that the worker's pool sync would leave.
    await fixture.api.database.query(
      `INSERT INTO pool_wallet (address, role, permission_id, key_address, staked_sun)
       VALUES ($1, 'pool', 2, $1, 100000000000)`,
      [WHO.carol],
    );
    const biggest = { receive_address: WHO.bob, energy: 100_000_000 };
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect((await quote(biggest)).status).toBe(200);
    const sellsFor = async (seconds: number) =>
      fixture.api.database.query(
        `UPDATE pool_wallet SET read_at = now(), sells_until = now() + $1 * interval '1 second'`,
        [seconds],
      );
    await sellsFor(3600);
    const refused = await until(
      () => quote(biggest),
      ({ status }) => status !== 200,
    );
    expect(refused).toMatchObject({ status: 503, body: { error: 'CAPACITY_UNAVAILABLE' } });
    expect(refused.headers['retry-after']).toBeDefined();
    expect((await quote(NAMED)).status).toBe(200);
    const simulated = await fixture.customer.post('/v1/simulate', {
      owner_address: WHO.bank,
      contract_address: WHO.token,
      function_selector: 'transfer(address,uint256)',
      parameter: transferArgs(WHO.bob),
      quote: true,
    });
    expect(simulated.body.quote.energy).toBe(simulated.body.energy_needed);
    // No worker has read a wallet lately, so no order could be served.
    await sellsFor(-1);
    const stale = await until(
      () => quote(NAMED),
      ({ status }) => status !== 200,
    );
    expect(stale).toMatchObject({ status: 503, body: { error: 'CAPACITY_UNAVAILABLE' } });
  });
});
