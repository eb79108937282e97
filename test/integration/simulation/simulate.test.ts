// POST /v1/simulate on the local chain, whose figures must equal those of a real node.
import { TOKENS, WHO, recordedCall, newAddress, transferArgs, wordOfAddress } from '../../support/chain/quote-chain.js';
import { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openQuoteFixture, type QuoteFixture } from '../../support/api/quote-fixture.js';

let fixture: QuoteFixture;

const ABSENT = [
  'burn_price_trx',
  'burn_price_usd',
  'energy_penalty',
  'fee_limit_sun',
  'total_burn_sun',
  'quote',
  'quote_error',
] as const;

beforeAll(async () => {
  fixture = await openQuoteFixture({ TRON_READ_TIMEOUT_MS: '20000' });
});

afterAll(() => fixture.close());

const simulate = (body: Record<string, unknown>) => fixture.customer.post('/v1/simulate', body);
const call = (extra: Record<string, unknown>) =>
  simulate({ owner_address: WHO.bank, contract_address: WHO.token, ...extra });

/** Returns a recorded call as a request of our API. */
function asked(name: string): Record<string, unknown> {
  const { visible: _visible, ...request } = recordedCall(name).request;
  return request;
}

describe('a call that succeeds', () => {
  test.each(['transfer to an existing holder', 'the same as data', 'the same as 0x data', 'balanceOf', 'payable'])(
    'needs the energy that a real node reported: %s',
    async (name) => {
      const { status, body } = await simulate(asked(name));
      const used = recordedCall(name).response.energy_used!;
      expect(status).toBe(200);
      expect(body).toEqual({
        energy_used: used,
        energy_needed: Math.ceil((used * 110) / 100),
        burn_price_sun: used * 100,
        burn_price_trx: ((used * 100) / 1_000_000).toFixed(6),
        burn_price_usd: ((used * 100 * 0.3) / 1_000_000).toFixed(6),
        energy_penalty: 0,
        fee_limit_sun: Math.ceil((used * 110) / 100) * 100,
        bandwidth_needed: expect.any(Number),
        bandwidth_available: 600,
        bandwidth_burn_sun: 0,
        activation_burn_sun: 0,
        total_burn_sun: used * 100,
      });
    },
  );

  test('a transfer to a new holder needs the energy that a real node reported', async () => {
    const { body } = await call({
      function_selector: 'transfer(address,uint256)',
      parameter: transferArgs(newAddress()),
    });
    expect(body.energy_used).toBe(recordedCall('transfer to a new holder').response.energy_used);
  });

  test('the parameter may start with 0x, for any node', async () => {
    const { body } = await simulate(asked('parameter with 0x'));
    expect(body.energy_used).toBe(recordedCall('balanceOf').response.energy_used);
  });

  test('null counts as absent', async () => {
    const { status } = await call({ function_selector: 'pay()', parameter: null, data: null, quote: null });
    expect(status).toBe(200);
  });

  test.each(['call_value', 'duration_sec'])(
    'refuses null for %s, which a caller’s NaN becomes in JSON',
    async (member) => {
      const { status, body } = await call({ function_selector: 'pay()', [member]: null });
      expect([status, body.error]).toEqual([400, 'INVALID_REQUEST']);
    },
  );

  test('the dynamic part is in the figure and shown', async () => {
    await fixture.chain.setEnergyFactor(2000);
    try {
      const transfer = { function_selector: 'transfer(address,uint256)', parameter: transferArgs(WHO.bob) };
      const { body } = await call(transfer);
      expect(body.energy_penalty).toBeGreaterThan(0);
      expect(body.energy_used - body.energy_penalty).toBe(
        recordedCall('transfer to an existing holder').response.energy_used,
      );
      expect(body.energy_needed).toBe(Math.ceil((body.energy_used * 110) / 100));
    } finally {
      await fixture.chain.setEnergyFactor(0);
    }
  });

  test('passes value with the call', async () => {
    const { body } = await call({ function_selector: 'pay()', call_value: 1 });
    expect(body.energy_used).toBe(recordedCall('payable').response.energy_used);
    expect(body.would_fail).toBeUndefined();
  });
});

describe('a call that would fail', () => {
  test.each([
    ['revert with a reason', 'TRC20: transfer amount exceeds balance'],
    ['custom error', 'The call reverted with the custom error 0x2202f1fa.'],
    ['empty revert', 'The call reverted without a reason.'],
    ['panic', 'The call panicked (0x12): a division or modulo by zero.'],
    ['value to a non-payable', 'The call reverted without a reason.'],
    ['parameter too short', 'The call reverted without a reason.'],
  ])('%s is an answer with the reason', async (name, reason) => {
    const { status, body } = await simulate({ ...asked(name), quote: true });
    expect(status).toBe(200);
    expect(body).toEqual({
      energy_used: recordedCall(name).response.energy_used,
      energy_needed: 0,
      burn_price_sun: 0,
      would_fail: true,
      reason,
    });
  });

  test('a VM fault is one too, in our words', async () => {
    const { status, body } = await simulate(asked('invalid opcode'));
    expect(status).toBe(200);
    expect(body).toEqual({
      energy_used: 0,
      energy_needed: 0,
      burn_price_sun: 0,
      would_fail: true,
      reason: 'The call runs into an invalid instruction, as of a failed assertion.',
    });
  });

  test('more value than the sender has is one too', async () => {
    const { status, body } = await simulate(asked('value beyond balance'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ would_fail: true, reason: "The sender's balance does not cover call_value." });
  });

  test.each([
    'sender does not exist, transfer of 5',
    'sender does not exist, transfer of 0',
    'sender does not exist, with value',
  ])('a sender that is not on chain needs activation, whatever the VM answers: %s', async (name) => {
    const { status, body } = await simulate({ ...asked(name), quote: true });
    expect(status).toBe(200);
    expect(body).toEqual({
      energy_used: recordedCall(name).response.energy_used ?? 0,
      energy_needed: 0,
      burn_price_sun: 0,
      would_fail: true,
      needs_activation: true,
      reason: 'The sender does not exist on chain yet. Activate it first.',
    });
  });

  test('a sender that is not on chain needs activation even for a contract that does not exist', async () => {
    const { body } = await simulate({
      owner_address: WHO.ghost,
      contract_address: newAddress(),
      function_selector: 'pay()',
    });
    expect(body).toMatchObject({ would_fail: true, needs_activation: true });
  });

  test('a sender on chain with nothing to send does not', async () => {
    const { body } = await simulate(asked('revert with a reason'));
    expect(body).not.toHaveProperty('needs_activation');
    for (const name of ABSENT) expect(body).not.toHaveProperty(name);
  });
});

describe('a call that cannot be simulated', () => {
  test.each([
    ['no such contract', 'There is no contract at contract_address.'],
    ['a plain account as contract', 'There is no contract at contract_address.'],
  ])('%s: 502 with a sentence that names the case', async (name, msg) => {
    const { status, body } = await simulate(asked(name));
    expect(status).toBe(502);
    expect(body).toMatchObject({ ok: false, error: 'SIMULATION_FAILED', msg });
  });
});

describe('the two forms', () => {
  const BALANCE_OF = { function_selector: 'balanceOf(address)' };
  const WORD = wordOfAddress(WHO.bob);

  test.each([
    ['neither', {}, 'function_selector'],
    ['both', { function_selector: 'pay()', data: '1b9265b8' }, 'data'],
    ['data with a parameter', { data: '70a08231', parameter: WORD }, 'parameter'],
    ['a parameter alone', { parameter: WORD }, 'function_selector'],
    ['arguments required but none given', BALANCE_OF, 'parameter'],
    ['arguments required but an empty one given', { ...BALANCE_OF, parameter: '' }, 'parameter'],
    ['arguments required but 0x given', { ...BALANCE_OF, parameter: '0x' }, 'parameter'],
    ['empty data', { data: '' }, 'data'],
    ['0x data', { data: '0x' }, 'data'],
    ['odd data', { data: '123' }, 'data'],
    ['data not hex', { data: 'zz' }, 'data'],
    ['an odd parameter', { ...BALANCE_OF, parameter: '123' }, 'parameter'],
    ['a parameter not hex', { ...BALANCE_OF, parameter: 'zz' }, 'parameter'],
    ['a malformed selector', { function_selector: 'pay' }, 'function_selector'],
    ['an empty selector', { function_selector: '' }, 'function_selector'],
    ['a selector with spaces', { function_selector: 'pay( )' }, 'function_selector'],
    ['a number for data', { data: 12 }, 'data'],
    ['a negative value', { function_selector: 'pay()', call_value: -1 }, 'call_value'],
    [
      'a value beyond 2^53−1',
      '{"call_value":9007199254740992,"contract_address":"%C","function_selector":"pay()","owner_address":"%O"}',
      'call_value',
    ],
    [
      'a value with a fraction',
      '{"call_value":1.0,"contract_address":"%C","function_selector":"pay()","owner_address":"%O"}',
      'call_value',
    ],
    ['a quote that is not a boolean', { function_selector: 'pay()', quote: 'true' }, 'quote'],
    ['an unknown member', { function_selector: 'pay()', fee_limit: 1 }, 'fee_limit'],
    ['a duration in words', { function_selector: 'pay()', duration_sec: 'hour' }, 'duration_sec'],
  ] as const)('%s: 400 naming the member', async (_, extra, field) => {
    const { status, body } =
      typeof extra === 'string'
        ? await fixture.customer.post('/v1/simulate', extra.replace('%C', WHO.token).replace('%O', WHO.bank))
        : await call(extra);
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'INVALID_REQUEST' });
    expect(body.details.map((detail: { field: string }) => detail.field)).toContain(field);
  });

  test.each(['owner_address', 'contract_address'])('a malformed %s: 400', async (field) => {
    for (const address of ['', 'T123', WHO.bank.slice(0, -1) + 'x', '41'.padEnd(42, '0'), 7]) {
      const { status, body } = await call({ function_selector: 'pay()', [field]: address });
      expect({ status, field: body.details[0].field }).toEqual({ status: 400, field });
    }
  });

  test('reads the largest value that a caller may write exactly', async () => {
    const { body } = await call({ function_selector: 'pay()', call_value: Number.MAX_SAFE_INTEGER });
    expect(body).not.toHaveProperty('error');
  });
});

describe('a contract whose deployer pays a part', () => {
  const transferBy = (owner: string, more: object = {}) =>
    simulate({
      owner_address: owner,
      contract_address: TOKENS.shared,
      function_selector: 'transfer(address,uint256)',
      parameter: transferArgs(WHO.bob),
      ...more,
    });

  beforeAll(async () => {
    await fixture.chain.shareEnergy(10, 10_000_000);
    // Gives Bob tokens, so that a sender other than the deployer exists.
    await fixture.chain.giveShared(WHO.bob);
  });

  afterAll(() => fixture.chain.shareEnergy(100, 10_000_000));

  test('needs the caller’s remaining share', async () => {
    const { body } = await transferBy(WHO.bob, { quote: true });
    const used = body.energy_used;
    const needed = Math.ceil((used * 110) / 100);
    expect(body.deployer_energy).toBe(Math.floor((used * 90) / 100));
    expect(body).toMatchObject({
      energy_needed: needed - Math.floor((needed * 90) / 100),
      burn_price_sun: (used - body.deployer_energy) * 100,
      fee_limit_sun: body.energy_needed * 100,
      // For so little energy, burning is cheaper.
      quote_error: 'NOT_WORTH_RENTING',
    });
  });

  test('needs all that the deployer’s limit does not reach', async () => {
    await fixture.chain.shareEnergy(10, 1000);
    const { body } = await transferBy(WHO.bob);
    const needed = Math.ceil((body.energy_used * 110) / 100) - 1000;
    expect(body).toMatchObject({ deployer_energy: 1000, energy_needed: needed });
    expect(body.burn_price_sun).toBe((body.energy_used - 1000) * 100);
  });

  test('needs nothing from callers who pay nothing', async () => {
    await fixture.chain.shareEnergy(0, 10_000_000);
    const { body } = await transferBy(WHO.bob, { quote: true });
    expect(body.deployer_energy).toBe(body.energy_used);
    expect(body).toMatchObject({ energy_needed: 0, burn_price_sun: 0, quote_error: 'NOT_WORTH_RENTING' });
    expect(body).not.toHaveProperty('would_fail');
  });

  test('needs everything from the deployer itself', async () => {
    const { body } = await transferBy(fixture.chain.deployer);
    expect(body).not.toHaveProperty('deployer_energy');
    expect(body.energy_needed).toBe(Math.ceil((body.energy_used * 110) / 100));
  });

  test('counts as paid by the caller if its terms cannot be read', async () => {
    fixture.node.fail({ kind: 'says', body: 'none' }, 'wallet/getcontract');
    try {
      const { body } = await transferBy(WHO.bob);
      expect(body).not.toHaveProperty('deployer_energy');
      expect(body.energy_needed).toBe(Math.ceil((body.energy_used * 110) / 100));
    } finally {
      fixture.node.mend();
    }
  });
});

describe('a simulation with a quote', () => {
  const transfer = { function_selector: 'transfer(address,uint256)', parameter: transferArgs(WHO.bob) };

  test('has a complete quote for exactly the needed energy, for the sender', async () => {
    const { body } = await call({ ...transfer, quote: true, duration_sec: 600 });
    expect(body.quote).toMatchObject({
      receive_address: WHO.bank,
      energy: body.energy_needed,
      duration_sec: 600,
      recipient_state: 'unknown',
      expires_in_sec: 90,
      // 38 sun per energy would be less than the minimum price of a rental.
      price_sun: 620_400,
      burn_price_sun: body.energy_needed * 100,
    });
    expect(body.quote.ref).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
    expect(body).not.toHaveProperty('quote_error');
  });

  test('has a quote that any process of the service opens to the shown one', async () => {
    const other = await fixture.another();
    try {
      const { body } = await call({ ...transfer, quote: true });
      const opened = other.app
        .get(QuotesService, { strict: false })
        .openQuote(body.quote.ref, fixture.customer.merchant);
      expect(opened).toMatchObject({
        receiveAddress: WHO.bank,
        energy: BigInt(body.energy_needed),
        priceSun: BigInt(body.quote.price_sun),
        credits: BigInt(body.quote.credits),
      });
    } finally {
      await other.close();
    }
  });

  test('shares the budget of quotes', async () => {
    const api = await fixture.another({ RATE_LIMIT_PER_MINUTE: '3' });
    try {
      const customer = (await makeCustomer(api)).at(api.baseUrl);
      const view = { owner_address: WHO.bank, contract_address: WHO.token, function_selector: 'view1()' };
      const left = [];
      for (const [path, body] of [
        ['/v1/simulate', view],
        ['/v1/quotes', { receive_address: WHO.bob, energy: 65_000 }],
        ['/v1/simulate', view],
      ] as const) {
        const { status, headers } = await customer.post(path, body);
        expect(status).toBe(200);
        left.push(headers['ratelimit-remaining']);
      }
      expect(left).toEqual(['2', '1', '0']);
      expect((await customer.post('/v1/quotes', { receive_address: WHO.bob })).body.error).toBe('RATE_LIMITED');
    } finally {
      await api.close();
    }
  });

  test('quotes even less energy than a caller may name, because no caller named it', async () => {
    const free = await fixture.another({ PRICE_FLOOR_BPS: '0' });
    try {
      const { body } = await fixture.customer.at(free.baseUrl).post('/v1/simulate', {
        owner_address: WHO.bank,
        contract_address: WHO.token,
        function_selector: 'view1()',
        quote: true,
      });
      expect(body.energy_needed).toBeLessThan(fixture.api.config.sales.energyMin);
      expect(body.quote.energy).toBe(body.energy_needed);
    } finally {
      await free.close();
    }
  });

  test('has no quote for less energy than is worth renting, because every rental has its minimum price', async () => {
    const { body } = await call({ function_selector: 'view1()', quote: true });
    expect(body).not.toHaveProperty('quote');
    expect(body.quote_error).toBe('NOT_WORTH_RENTING');
  });

  test.each([
    ['too short', 299],
    ['nothing', 0],
    ['longer than the longest row', 2_592_001],
    ['beyond all bounds', 9_007_199_254_740_991],
  ])('refuses a duration that is %s with or without a quote, and names the bounds', async (_, durationSec) => {
    for (const quote of [true, false, undefined]) {
      const { status, body } = await call({ ...transfer, quote, duration_sec: durationSec });
      expect([status, body.error]).toEqual([400, 'INVALID_REQUEST']);
      expect(body.details).toEqual([
        { field: 'duration_sec', msg: 'must be an integer of seconds from 300 to 2592000, written with digits' },
      ]);
    }
  });

  test('has neither without the request for it', async () => {
    for (const quote of [false, undefined]) {
      const { body } = await call({ ...transfer, quote });
      expect(body).not.toHaveProperty('quote');
      expect(body).not.toHaveProperty('quote_error');
    }
  });
});
