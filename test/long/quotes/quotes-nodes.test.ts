// Quotes and simulations on nodes that are down, slow, throttling, lagging or faulty: the correct code each time.
import type { Fault } from '../../support/nodes/faulty-node.js';
import { WHO, recordedCall } from '../../support/chain/quote-chain.js';
import type { TestApi } from '../../support/api/factory.js';
import { openQuoteFixture, until, type QuoteFixture } from '../../support/api/quote-fixture.js';

let fixture: QuoteFixture;
// An API for this test alone: it avoids a throttled node for a while, which must not affect other tests.
let own: TestApi;

beforeAll(async () => {
  fixture = await openQuoteFixture();
});

afterAll(() => fixture.close());

beforeEach(async () => {
  own = await fixture.another({ TRON_READ_TIMEOUT_MS: '500' });
});

afterEach(async () => {
  fixture.node.mend();
  await own.close();
});

const CONSTANT = 'wallet/triggerconstantcontract';
const VIEW = { owner_address: WHO.bank, contract_address: WHO.token, function_selector: 'view1()' };
const simulateAt = (api: TestApi) => fixture.customer.at(api.baseUrl).post('/v1/simulate', VIEW);
const quoteAt = (api: TestApi, body: Record<string, unknown> = { receive_address: WHO.bob, energy: 65_000 }) =>
  fixture.customer.at(api.baseUrl).post('/v1/quotes', body);

const OUT_OF_TIME = JSON.stringify({
  result: {
    code: 'OTHER_ERROR',
    message: "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'JUMP' operation executing",
  },
});
const OUT_OF_ENERGY = JSON.stringify({
  result: {
    code: 'OTHER_ERROR',
    message: 'class org.tron.core.vm.program.Program$OutOfEnergyException : Not enough energy',
  },
});
const STRANGE = JSON.stringify({
  result: { code: 'OTHER_ERROR', message: 'class java.lang.SecretException : 10.0.0.7 said no' },
});
const NO_HEX = JSON.stringify({
  result: { result: true },
  energy_used: 5,
  constant_result: ['zz'],
  transaction: { ret: [{}] },
});
const SUSPENDED = JSON.stringify({
  Error: 'The key exceeds the frequency limit(15), and the query server is suspended for 30s',
});

/** Faults without any usable answer. */
const SILENT: readonly (readonly [string, Fault])[] = [
  ['is down', { kind: 'down' }],
  ['is slower than the limit', { kind: 'slow', ms: 3000 }],
  ['throttles with 429', { kind: 'says', status: 429, body: '' }],
  ['throttles with 403', { kind: 'says', status: 403, body: '<html>' }],
  ['is overloaded with 503', { kind: 'says', status: 503, body: '' }],
  ['has suspended the key', { kind: 'says', body: SUSPENDED }],
  ['answers HTML', { kind: 'says', body: '<html>busy</html>' }],
  ['answers {}', { kind: 'says', body: '{}' }],
  ['answers a list', { kind: 'says', body: '[]' }],
  ['answers half a result', { kind: 'says', body: '{"result":{"result":true},"energy_used":"many"}' }],
  ['gives a result that is no hex', { kind: 'says', body: NO_HEX }],
];

describe('a simulation', () => {
  const NO_NODE = 'No node could simulate the call. Repeat the simulation shortly.';
  const NO_ACCOUNT = "The sender's account cannot be read at present. Repeat the simulation shortly.";
  const CASES: readonly (readonly [string, Fault, string, string])[] = [
    ...SILENT.map(([name, fault]) => [name, fault, CONSTANT, NO_NODE] as const),
    [
      'runs out of time',
      { kind: 'says', body: OUT_OF_TIME },
      CONSTANT,
      'The call exceeded the time limit of the node, so it could not be simulated.',
    ],
    [
      'refuses for a reason of its own',
      { kind: 'says', body: STRANGE },
      CONSTANT,
      'The node refused to simulate this call.',
    ],
    ['cannot look the sender up', { kind: 'says', body: 'oops' }, 'wallet/getaccount', NO_ACCOUNT],
    [
      'answers about another party',
      { kind: 'says', body: JSON.stringify({ address: WHO.carol }) },
      'wallet/getaccount',
      NO_ACCOUNT,
    ],
  ];

  test.each(CASES)('on a node that %s: 502, without any of the node’s text', async (_, fault, path, msg) => {
    fixture.node.fail(fault, path);
    const { status, body, text } = await simulateAt(own);
    expect({ status, error: body.error, msg: body.msg }).toEqual({ status: 502, error: 'SIMULATION_FAILED', msg });
    expect(text).not.toMatch(/java|Exception|127\.0\.0\.1|10\.0\.0\.7|html|suspended/);
  });

  test('that runs out of time once is run again', async () => {
    const askedBefore = fixture.node.asked.get(CONSTANT) ?? 0;
    fixture.node.fail({ kind: 'says', body: OUT_OF_TIME, times: 1 }, CONSTANT);
    expect((await simulateAt(own)).status).toBe(200);
    expect((fixture.node.asked.get(CONSTANT) ?? 0) - askedBefore).toBeGreaterThanOrEqual(2);
  });

  test('that runs out of energy is a failing call, not an unable node', async () => {
    fixture.node.fail({ kind: 'says', body: OUT_OF_ENERGY }, CONSTANT);
    const { status, body } = await simulateAt(own);
    expect({ status, would_fail: body.would_fail }).toEqual({ status: 200, would_fail: true });
  });

  test('is 502 when the chain answers but its fees are too old', async () => {
    const old = await fixture.another({ MARKET_MAX_AGE_SEC: '1' });
    try {
      fixture.node.fail({ kind: 'says', body: '{}' }, 'wallet/getchainparameters');
      const { body } = await until(
        () => simulateAt(old),
        ({ status }) => status !== 200,
      );
      expect(body).toMatchObject({
        error: 'SIMULATION_FAILED',
        msg: "The chain's energy price cannot be read at present. Repeat the request shortly.",
      });
    } finally {
      await old.close();
    }
  });
});

describe('a second node', () => {
  const openPair = (): Promise<TestApi> =>
    fixture.another({
      TRON_READ_TIMEOUT_MS: '3000',
      // Detected by its next answer about its head, and by no later event.
      TRON_POLL_MS: '100',
      TRON_FULL_NODE_URLS: `${fixture.node.url},${fixture.chain.fullUrl}`,
      TRON_SOLIDITY_NODE_URLS: `${fixture.chain.solidUrl},${fixture.chain.solidUrl}`,
    });
  const WARM = {
    recipient_state: 'warm',
    energy: recordedCall('transfer to an existing holder').response.energy_used,
  };

  test.each([
    ['is down', { kind: 'down' }],
    ['throttles', { kind: 'says', status: 429, body: '' }],
  ] as const)('answers when the first %s', async (_, fault) => {
    const pair = await openPair();
    try {
      fixture.node.fail(fault);
      const { status } = await simulateAt(pair);
      expect(status).toBe(200);
      expect((await quoteAt(pair, { receive_address: WHO.bob })).body).toMatchObject(WARM);
    } finally {
      await pair.close();
    }
  });

  test('answers when the first answers {} to everything, which would also mean that nobody has an account', async () => {
    const pair = await openPair();
    try {
      fixture.node.fail({ kind: 'says', body: '{}' });
      expect((await simulateAt(pair)).status).toBe(200);
      const quoted = await until(
        () => quoteAt(pair, { receive_address: WHO.bob }),
        ({ body }) => body.recipient_state === 'warm',
      );
      expect(quoted.body).toMatchObject(WARM);
      // From then on it is asked only for its head.
      const askedBefore = fixture.node.asked.get('wallet/getaccount') ?? 0;
      for (const receive_address of [WHO.bob, WHO.carol, WHO.ghost]) await quoteAt(pair, { receive_address });
      expect(fixture.node.asked.get('wallet/getaccount') ?? 0).toBe(askedBefore);
    } finally {
      await pair.close();
    }
  });
});

describe('a node whose head stands still', () => {
  test('is not believed, and is believed again when it moves', async () => {
    const watchful = await fixture.another({ TRON_HEAD_STALL_SEC: '1', TRON_POLL_MS: '100', MARKET_MAX_AGE_SEC: '2' });
    try {
      await fixture.node.freeze('wallet/getblock');
      const simulated = await until(
        () => simulateAt(watchful),
        ({ status }) => status !== 200,
      );
      expect(simulated.body).toMatchObject({ error: 'SIMULATION_FAILED' });
      fixture.node.mend();
      expect(
        await until(
          () => simulateAt(watchful),
          ({ status }) => status === 200,
        ),
      ).toMatchObject({ status: 200 });
    } finally {
      await watchful.close();
    }
  });
});

describe('a quote', () => {
  test.each(SILENT)('sized on a node that %s is for an unknown receiver, as cold', async (_, fault) => {
    fixture.node.fail(fault, CONSTANT);
    const { status, body } = await quoteAt(own, { receive_address: WHO.bob });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      recipient_state: 'unknown',
      energy: recordedCall('transfer to a new holder').response.energy_used,
    });
    expect(body).not.toHaveProperty('needs_activation');
  });

  test('goes on while the known state may be used, then is CHAIN_UNAVAILABLE, and then works again', async () => {
    // With its own database, so that no other process keeps the state fresh.
    const alone = await openQuoteFixture({ MARKET_MAX_AGE_SEC: '3' });
    try {
      alone.node.fail({ kind: 'down' });
      const body = { receive_address: WHO.bob, energy: 65_000 };
      expect((await alone.customer.post('/v1/quotes', body)).status).toBe(200);
      const refused = await until(
        () => alone.customer.post('/v1/quotes', body),
        ({ status }) => status !== 200,
      );
      expect(refused).toMatchObject({ status: 503, body: { ok: false, error: 'CHAIN_UNAVAILABLE' } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      // A process that starts meanwhile does start, but has no more recent state.
      const late = await alone.another();
      expect((await alone.customer.at(late.baseUrl).post('/v1/quotes', body)).body.error).toBe('CHAIN_UNAVAILABLE');
      alone.node.mend();
      for (const api of [alone.api, late]) {
        const again = await until(
          () => alone.customer.at(api.baseUrl).post('/v1/quotes', body),
          ({ status }) => status === 200,
        );
        expect(again.status).toBe(200);
      }
      await late.close();
    } finally {
      await alone.close();
    }
  });
});
