// The chain state behind prices: one process reads it for all, and it is never too old and never guessed.
import type { Market } from '../../../src/modules/quotes/market.js';
import { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { openFaultyNode, type Fault } from '../../support/nodes/faulty-node.js';
import { WHO, recordedCall } from '../../support/chain/quote-chain.js';
import { openProxy } from '../../support/database/proxy.js';
import { openMarketOf } from '../../support/api/market-process.js';
import { openQuoteFixture, until, type QuoteFixture } from '../../support/api/quote-fixture.js';

let fixture: QuoteFixture;
const opened: (() => Promise<void>)[] = [];

beforeAll(async () => {
  // Its own API practically never reads the chain; the processes of each test do.
  fixture = await openQuoteFixture({ MARKET_REFRESH_SEC: '3600', SIZING_REFRESH_SEC: '86400' });
});

afterAll(() => fixture.close());

afterEach(async () => {
  fixture.node.mend();
  for (const close of opened.splice(0)) await close();
  await fixture.chain.setParameters({ getEnergyFee: 100 });
  await fixture.chain.setEnergyFactor(0);
});

const WARM = BigInt(recordedCall('transfer to an existing holder').response.energy_used!);
const COLD = BigInt(recordedCall('transfer to a new holder').response.energy_used!);
const PARAMETERS = 'wallet/getchainparameters';
const CONSTANT = 'wallet/triggerconstantcontract';

/** Opens a process's market. `forget` clears the readings of other processes. */
const openMarket = async (env: Record<string, string> = {}, forget = false) => {
  const { close, ...process } = await openMarketOf(fixture, env, forget);
  opened.push(close);
  return process;
};

/** Returns the state, or the code of the error. */
function stateOf(market: Market) {
  try {
    return market.current();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const feeOf = (market: Market) => {
  const state = stateOf(market);
  return typeof state === 'string' ? undefined : state.energyFeeSun;
};

describe('the state of the chain', () => {
  test('is what the chain reports', async () => {
    const { market } = await openMarket({}, true);
    const state = market.current();
    expect(state).toMatchObject({
      energyFeeSun: 100n,
      createAccountFeeSun: 1_100_000n,
      transactionFeeSunPerByte: 1000n,
      sizing: { warmEnergy: WARM, coldEnergy: COLD },
    });
    expect(state.ratio.totalEnergyLimit).toBeGreaterThan(0n);
    expect(state.ratio.totalEnergyWeight).toBeGreaterThan(0n);
  });

  test('is asked for once per refresh, however many processes there are', async () => {
    const first = await openMarket({ MARKET_REFRESH_SEC: '3600', SIZING_REFRESH_SEC: '3600' }, true);
    const before = fixture.node.asked.get(PARAMETERS) ?? 0;
    const simulated = fixture.node.asked.get(CONSTANT) ?? 0;
    const others = await Promise.all(
      Array.from({ length: 8 }, () => openMarket({ MARKET_REFRESH_SEC: '3600', SIZING_REFRESH_SEC: '3600' })),
    );
    for (const { market } of [first, ...others]) expect(market.current().sizing.coldEnergy).toBe(COLD);
    expect(fixture.node.asked.get(PARAMETERS) ?? 0).toBe(before);
    expect(fixture.node.asked.get(CONSTANT) ?? 0).toBe(simulated);
  });

  test('is read by one of many that all find it due at once', async () => {
    await openMarket({}, true);
    await opened.splice(0).reduce(async (done, close) => done.then(close), Promise.resolve());
    // The measurement of the token, which reads parameters too, is not due.
    await fixture.api.database.query(
      `UPDATE market_state SET measured_at = 'epoch', lease_until = NULL WHERE name = 'chain'`,
    );
    const before = fixture.node.asked.get(PARAMETERS) ?? 0;
    const long = { MARKET_REFRESH_SEC: '3600', SIZING_REFRESH_SEC: '3600' };
    const all = await Promise.all(Array.from({ length: 8 }, () => openMarket(long)));
    for (const { market } of all) {
      expect(
        await until(
          () => feeOf(market),
          (fee) => fee !== undefined,
        ),
      ).toBe(100n);
    }
    expect((fixture.node.asked.get(PARAMETERS) ?? 0) - before).toBe(1);
  });

  test('follows a change of the energy fee, in every process', async () => {
    const processes = [await openMarket({}, true), await openMarket(), await openMarket()];
    await fixture.chain.setParameters({ getEnergyFee: 210 });
    for (const { market } of processes) {
      expect(
        await until(
          () => feeOf(market),
          (fee) => fee === 210n,
        ),
      ).toBe(210n);
    }
  });

  test('follows a change of the energy factor of the token', async () => {
    const { market } = await openMarket({}, true);
    await fixture.chain.setEnergyFactor(5000);
    const dearer = await until(
      () => market.current().sizing,
      (sizing) => sizing.warmEnergy !== WARM,
    );
    expect(dearer.warmEnergy).toBeGreaterThan(WARM);
    expect(dearer.coldEnergy).toBeGreaterThan(COLD);
  });

  test('a quote keeps its price through a change', async () => {
    const api = await fixture.another({ MARKET_REFRESH_SEC: '1' });
    try {
      const customer = fixture.customer.at(api.baseUrl);
      const body = { receive_address: WHO.bob, energy: 65_000 };
      const before = (await customer.post('/v1/quotes', body)).body;
      await fixture.chain.setParameters({ getEnergyFee: 210 });
      const after = await until(
        () => customer.post('/v1/quotes', body),
        (answer) => answer.body.burn_price_sun === 65_000 * 210,
      );
      expect(after.body.burn_price_sun).toBe(65_000 * 210);
      const held = api.app.get(QuotesService, { strict: false }).openQuote(before.ref, customer.merchant)!;
      expect(held).toMatchObject({ priceSun: BigInt(before.price_sun), credits: BigInt(before.credits) });
    } finally {
      await api.close();
    }
  });
});

describe('a state that cannot be renewed', () => {
  test('is used until it is too old, then refused; and renewed as soon as the chain answers', async () => {
    const { market } = await openMarket({ MARKET_MAX_AGE_SEC: '2' }, true);
    fixture.node.fail({ kind: 'down' });
    expect(feeOf(market)).toBe(100n);
    expect(
      await until(
        () => stateOf(market),
        (state) => typeof state === 'string',
      ),
    ).toBe('CHAIN_UNAVAILABLE');
    fixture.node.mend();
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee !== undefined,
      ),
    ).toBe(100n);
  });

  test.each([
    ['answers nonsense', { kind: 'says', body: '{"chainParameter":"none"}' }],
    ['leaves the fee out', { kind: 'says', body: '{"chainParameter":[{"key":"getEnergyFee"}]}' }],
    ['hangs', { kind: 'slow', ms: 10_000 }],
  ] as const)('a node that %s leads to no guess', async (_, fault) => {
    fixture.node.fail(fault, PARAMETERS);
    const { market } = await openMarket({ TRON_READ_TIMEOUT_MS: '300' }, true);
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
  });

  test.each([
    ['no node answers', { kind: 'down' }, 'no-node'],
    [
      'the fee is outside its bounds',
      { kind: 'says', body: '{"chainParameter":[{"key":"getEnergyFee"}]}' },
      'doubtful',
    ],
  ] as const)('tells its cause to every process until it is renewed: %s', async (_, fault, cause) => {
    const { market } = await openMarket({}, true);
    const other = await openMarket();
    expect(market.obstacle).toBeUndefined();
    fixture.node.fail(fault, PARAMETERS);
    for (const each of [market, other.market]) {
      const found = await until(
        () => each.obstacle,
        (obstacle) => obstacle !== undefined,
      );
      expect(found).toBe(cause);
    }
    const [row] = await fixture.api.database.query<{ reason: string }>(
      `SELECT value ->> 'reason' AS reason FROM market_state WHERE name = 'chain-failure'`,
    );
    expect(row?.reason).toContain(PARAMETERS);
    fixture.node.mend();
    for (const each of [market, other.market]) {
      const found = await until(
        () => each.obstacle,
        (obstacle) => obstacle === undefined,
      );
      expect(found).toBeUndefined();
    }
  });

  test('gives a disagreement of nodes as its cause', async () => {
    const other = await openFaultyNode(fixture.chain.fullUrl);
    opened.push(() => other.close());
    other.fail(parametersOf({ ...FEES, getEnergyFee: 200 }), PARAMETERS);
    const { market } = await openMarket({ TRON_FULL_NODE_URLS: `${fixture.node.url},${other.url}` }, true);
    const found = await until(
      () => market.obstacle,
      (obstacle) => obstacle !== undefined,
    );
    expect(found).toBe('disagreement');
  });

  const FEES = {
    getEnergyFee: 100,
    getTransactionFee: 1000,
    getCreateAccountFee: 100_000,
    getCreateNewAccountFeeInSystemContract: 1_000_000,
  };
  const parametersOf = (fees: Readonly<Record<string, unknown>>): Fault => {
    const chainParameter = Object.entries(fees).map(([key, value]) => ({ key, value }));
    return { kind: 'says', body: JSON.stringify({ chainParameter }) };
  };

  test.each(
    Object.entries(FEES).flatMap(([name, value]) => [
      [`leaves ${name} out`, { [name]: 'absent' }],
      [`gives ${name} no value`, { [name]: null }],
      [`says that ${name} is zero`, { [name]: 0 }],
      [`says that ${name} is a thousandth`, { [name]: value / 1000 }],
      [`says that ${name} is a billion times as much`, { [name]: value * 1e9 }],
      [`says that ${name} is negative`, { [name]: -value }],
      [`says that ${name} is text`, { [name]: 'many' }],
    ]),
  )('a node that %s sells nothing', async (_, change) => {
    const all: Record<string, unknown> = { ...FEES, ...change };
    const present = Object.entries(all).filter(([, value]) => value !== 'absent');
    fixture.node.fail(parametersOf(Object.fromEntries(present)), PARAMETERS);
    const { market } = await openMarket({}, true);
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
  });

  test('no price is made with a parameter that is named twice', async () => {
    const twice = Object.entries(FEES).map(([key, value]) => ({ key, value }));
    const body = JSON.stringify({ chainParameter: [...twice, { key: 'getTransactionFee', value: 2000 }] });
    fixture.node.fail({ kind: 'says', body }, PARAMETERS);
    const { market } = await openMarket({}, true);
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
  });

  test('an absurd parameter of one node leaves the answer of the other', async () => {
    const other = await openFaultyNode(fixture.chain.fullUrl);
    opened.push(() => other.close());
    fixture.node.fail(parametersOf({ ...FEES, getCreateAccountFee: 0 }), PARAMETERS);
    const { market } = await openMarket({ TRON_FULL_NODE_URLS: `${fixture.node.url},${other.url}` }, true);
    expect(feeOf(market)).toBe(100n);
    expect(market.current().createAccountFeeSun).toBe(1_100_000n);
  });

  test.each(Object.keys(FEES))('two nodes that disagree about %s price nothing', async (name) => {
    const other = await openFaultyNode(fixture.chain.fullUrl);
    opened.push(() => other.close());
    const value = FEES[name as keyof typeof FEES] * 2;
    other.fail(parametersOf({ ...FEES, [name]: value }), PARAMETERS);
    const { market } = await openMarket({ TRON_FULL_NODE_URLS: `${fixture.node.url},${other.url}` }, true);
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
    other.mend();
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee !== undefined,
      ),
    ).toBe(100n);
  });

  test('two of three nodes that agree outvote the third', async () => {
    const others = [await openFaultyNode(fixture.chain.fullUrl), await openFaultyNode(fixture.chain.fullUrl)];
    opened.push(...others.map((node) => () => node.close()));
    fixture.node.fail(parametersOf({ ...FEES, getEnergyFee: 50 }), PARAMETERS);
    const urls = [fixture.node.url, ...others.map((node) => node.url)].join(',');
    const { market } = await openMarket({ TRON_FULL_NODE_URLS: urls }, true);
    expect(feeOf(market)).toBe(100n);
  });

  test('a stored state beyond the bounds counts as none', async () => {
    await openMarket({}, true);
    await opened.pop()?.();
    await fixture.api.database.query(
      `UPDATE market_state SET value = jsonb_set(value, '{createAccountFeeSun}', '"100000"') WHERE name = 'chain'`,
    );
    const { market } = await openMarket({ MARKET_REFRESH_SEC: '3600' });
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
  });

  test('a network without stake is refused, since delegations could not be computed', async () => {
    fixture.node.fail({ kind: 'says', body: '{"TotalEnergyLimit":180000000000}' }, 'wallet/getaccountresource');
    const { market } = await openMarket({}, true);
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
  });

  test('a process that starts while the chain is away starts, and knows the state once the chain is back', async () => {
    fixture.node.fail({ kind: 'down' });
    const { market } = await openMarket({}, true);
    expect(stateOf(market)).toBe('CHAIN_UNAVAILABLE');
    fixture.node.mend();
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee !== undefined,
      ),
    ).toBe(100n);
  });

  test('a failing chain is asked by one process at a time, and not again at once', async () => {
    await openMarket({}, true);
    await opened.pop()?.();
    fixture.node.fail({ kind: 'says', body: '{}' }, PARAMETERS);
    // The measurement of the token, which reads parameters too, is not due.
    await fixture.api.database.query(`DELETE FROM market_state WHERE name = 'chain'`);
    const slow = { MARKET_REFRESH_SEC: '20', SIZING_REFRESH_SEC: '3600' };
    await openMarket(slow);
    const before = fixture.node.asked.get(PARAMETERS) ?? 0;
    await Promise.all(Array.from({ length: 5 }, () => openMarket(slow)));
    // After a failure the processes pause for four seconds. Without that, five processes would have asked five times by
    // now.
    expect((fixture.node.asked.get(PARAMETERS) ?? 0) - before).toBeLessThanOrEqual(1);
  });
});

describe('shared state', () => {
  test('a reader that died leaves a lease that ends', async () => {
    await openMarket({}, true);
    await opened.pop()?.();
    await fixture.api.database.query(
      `UPDATE market_state SET measured_at = 'epoch', lease_until = clock_timestamp() + interval '1 second'`,
    );
    const { market } = await openMarket();
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee !== undefined,
      ),
    ).toBe(100n);
  });

  test('a state from the future, left by a clock set back, counts as none', async () => {
    await openMarket({}, true);
    await opened.pop()?.();
    await fixture.api.database.query(
      `UPDATE market_state SET measured_at = clock_timestamp() + interval '1 hour', value = jsonb_set(value, '{energyFeeSun}', '"7"')
        WHERE name = 'chain'`,
    );
    const { market } = await openMarket();
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee === 100n,
      ),
    ).toBe(100n);
  });

  test('a state that this version cannot read counts as none', async () => {
    await openMarket({}, true);
    await opened.pop()?.();
    await fixture.api.database.query(`UPDATE market_state SET value = '{"energyFeeSun": 1.5}' WHERE name = 'chain'`);
    const { market } = await openMarket();
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee !== undefined,
      ),
    ).toBe(100n);
  });

  test('without the database a process reads the chain for itself', async () => {
    const proxy = await openProxy(fixture.database.url);
    opened.push(() => proxy.close());
    const { market } = await openMarket({ DATABASE_URL: proxy.url, MARKET_MAX_AGE_SEC: '4' }, true);
    proxy.cut();
    await fixture.chain.setParameters({ getEnergyFee: 77 });
    expect(
      await until(
        () => feeOf(market),
        (fee) => fee === 77n,
      ),
    ).toBe(77n);
    proxy.mend();
  });
});
