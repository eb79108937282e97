// Quotes by expected uses, and quotes sized by the transfer that they are for (docs/interface.md §7).
import { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { TOKENS, WHO, newAddress, recordedCall } from '../../support/chain/quote-chain.js';
import { openQuoteFixture, type QuoteFixture } from '../../support/api/quote-fixture.js';

const DAY = 86_400;
const ENERGY = 65_000;
const BURN = 6_500_000;
const WARM = recordedCall('transfer to an existing holder').response.energy_used!;
const COLD = recordedCall('transfer to a new holder').response.energy_used!;

let fixture: QuoteFixture;

beforeAll(async () => {
  fixture = await openQuoteFixture({ TRON_READ_TIMEOUT_MS: '20000' });
});

afterAll(() => fixture.close());

const quote = (extra: Record<string, unknown>) =>
  fixture.customer.post('/v1/quotes', { receive_address: WHO.bank, energy: ENERGY, ...extra });
const sized = (extra: Record<string, unknown>) =>
  fixture.customer.post('/v1/quotes', { receive_address: WHO.bank, ...extra });

describe('expected uses', () => {
  test('count that many burns, and are echoed with the price of each', async () => {
    const { body } = await quote({ duration_sec: 3 * DAY, expected_uses: 4 });
    expect(body).toMatchObject({
      expected_uses: 4,
      price_sun: 150 * ENERGY,
      price_per_use_sun: Math.ceil((150 * ENERGY) / 4),
      burn_price_sun: 4 * BURN,
      saving_trx: ((4 * BURN - 150 * ENERGY) / 1_000_000).toFixed(6),
      fee_limit_sun: BURN,
    });
    expect(body.saving_credits).toBe(body.burn_price_credits - body.credits);
  });

  test('change nothing when they are absent, and only echo a 1', async () => {
    const { body: plain } = await quote({ duration_sec: DAY });
    const { body: once } = await quote({ duration_sec: DAY, expected_uses: 1 });
    expect(Object.keys(once).filter((member) => !(member in plain))).toEqual(['expected_uses', 'price_per_use_sun']);
    expect(once.burn_price_sun).toBe(plain.burn_price_sun);
    expect(once.price_per_use_sun).toBe(once.price_sun);
  });

  test.each([
    [3599, 1],
    [DAY - 1, 1],
    [DAY, 2],
    [2 * DAY - 1, 2],
    [7 * DAY, 8],
  ])('a rental of %d seconds has at most %d of them', async (seconds, most) => {
    expect((await quote({ duration_sec: seconds, expected_uses: most })).status).toBe(200);
    const { status, body } = await quote({ duration_sec: seconds, expected_uses: most + 1 });
    expect({ status, details: body.details }).toEqual({
      status: 400,
      details: [{ field: 'expected_uses', msg: `must be from 1 to ${most} for a rental of ${seconds} seconds` }],
    });
  });

  test.each([0, -1, 1.5, '2', null, true])('must be a positive integer, not %p', async (uses) => {
    const { status, body } = await quote({ duration_sec: DAY, expected_uses: uses });
    expect([status, body.error, body.details?.[0].field]).toEqual([400, 'INVALID_REQUEST', 'expected_uses']);
  });

  test('are named by the refusal of a long rental that one use does not pay for', async () => {
    const { status, body } = await quote({ duration_sec: 7 * DAY });
    expect([status, body.error]).toEqual([409, 'NOT_WORTH_RENTING']);
    expect(body.msg).toContain('If the wallet spends it at least 4 times in that time, send expected_uses.');
    expect((await quote({ duration_sec: 7 * DAY, expected_uses: 3 })).body.error).toBe('NOT_WORTH_RENTING');
    expect((await quote({ duration_sec: 7 * DAY, expected_uses: 4 })).status).toBe(200);
  });

  test('travel in the reference, so that any process knows them', async () => {
    const quotes = fixture.api.app.get(QuotesService, { strict: false });
    const { body: often } = await quote({ duration_sec: DAY, expected_uses: 2 });
    expect(quotes.openQuote(often.ref, fixture.customer.merchant)).toMatchObject({ expectedUses: 2, durationSec: DAY });
    const { body: plain } = await quote({ duration_sec: DAY });
    expect(quotes.openQuote(plain.ref, fixture.customer.merchant)).not.toHaveProperty('expectedUses');
  });

  test('go with the quote of a simulation', async () => {
    const { body } = await fixture.customer.post('/v1/simulate', {
      owner_address: WHO.bank,
      contract_address: WHO.token,
      function_selector: 'totalSupply()',
      duration_sec: DAY,
      expected_uses: 3,
      quote: true,
    });
    expect(body.details).toEqual([expect.objectContaining({ field: 'expected_uses' })]);
  });
});

describe('a transfer', () => {
  test('to an address without the token needs more than one to a holder, whatever its sender holds', async () => {
    const { body: cold } = await sized({ transfer_to: newAddress() });
    const { body: warm } = await sized({ transfer_to: WHO.bob });
    expect([cold.energy, warm.energy]).toEqual([COLD, WARM]);
    expect([cold.recipient_state, cold.fee_limit_sun]).toEqual(['unknown', COLD * 100]);
    // Without a transfer the sender's own balance decides, as before.
    expect((await sized({})).body).toMatchObject({ energy: WARM, recipient_state: 'warm' });
  });

  test('is refused with the reason when it would fail', async () => {
    const { status, body } = await sized({ receive_address: WHO.carol, transfer_to: WHO.bob });
    expect([status, body.error]).toEqual([422, 'TRANSFER_WOULD_FAIL']);
    expect(body.msg).toMatch(/^The transfer would fail: TRC20: transfer amount exceeds balance/);
  });

  test('is simulated with its amount', async () => {
    const most = { receive_address: WHO.bob, transfer_to: newAddress() };
    expect((await sized({ ...most, transfer_amount: '1000000' })).status).toBe(200);
    const { body } = await sized({ ...most, transfer_amount: '1000000000000000000000000' });
    expect(body.error).toBe('TRANSFER_WOULD_FAIL');
  });

  test('may be of another token, and must move it', async () => {
    const other = { transfer_to: WHO.bob, token: TOKENS.quiet };
    expect((await sized(other)).status).toBe(200);
    const { status, body } = await sized({ transfer_to: WHO.bob, token: TOKENS.boasting });
    expect([status, body.error]).toEqual([422, 'TRANSFER_WOULD_FAIL']);
    const { body: none } = await sized({ transfer_to: WHO.bob, token: newAddress() });
    expect(none.details).toEqual([{ field: 'token', msg: 'must be the address of a contract on this chain' }]);
  });

  test.each([
    ['transfer_amount', { transfer_amount: '5' }],
    ['token', { token: WHO.token }],
    ['energy', { transfer_to: WHO.bob, energy: ENERGY }],
    ['transfer_amount', { transfer_to: WHO.bob, transfer_amount: 5 }],
    ['transfer_amount', { transfer_to: WHO.bob, transfer_amount: '0' }],
    ['transfer_amount', { transfer_to: WHO.bob, transfer_amount: (2n ** 256n).toString() }],
    ['transfer_to', { transfer_to: 'nobody' }],
  ])('is refused for its %s: %j', async (field, extra) => {
    const { status, body } = await sized(extra);
    expect([status, body.error, body.details?.[0].field]).toEqual([400, 'INVALID_REQUEST', field]);
  });

  test('cannot be sized while no node runs it', async () => {
    fixture.node.fail({ kind: 'says', body: 'none' }, 'wallet/triggerconstantcontract');
    try {
      const { status, body } = await sized({ transfer_to: newAddress() });
      expect([status, body.error]).toEqual([503, 'CHAIN_UNAVAILABLE']);
    } finally {
      fixture.node.mend();
    }
  });
});
