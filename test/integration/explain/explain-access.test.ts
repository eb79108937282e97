// GET /v1/explain/{txid} and `explain-transfer`: who gets an answer, for which transactions, and how final it is.
import 'reflect-metadata';
import {
  NEVER_SENT,
  TO_HOLDER,
  broadcast,
  explain,
  explainByCli,
  explained,
  nextHolder,
  send,
  stranger,
} from '../../support/api/transfer-explanations.js';
import {
  api,
  closeFixture,
  customer,
  env,
  full,
  SteppedWorker,
  mine,
  openFixtureWithToken,
  SOLID_LAG,
  START_LIMIT_MS,
  tokenHolder,
} from '../../support/worker/fulfilment-fixture.js';
import { AUTHOR, makeCustomer, openApi } from '../../support/api/factory.js';
import { apiKeysOn } from '../../support/api/services.js';
import type { Answer } from '../../support/api/client.js';
import type { Owner } from '../../support/chain/order-chain.js';
import { LONG_SEC, settled } from '../../support/worker/usable-energy-fixture.js';

let worker: SteppedWorker;
let rented: Owner;
let key: string;
let paid: string;

beforeAll(async () => {
  await openFixtureWithToken();
  worker = await SteppedWorker.open();
  rented = await nextHolder();
  key = await settled(worker, rented.address, 65_000, LONG_SEC);
  paid = await send(rented, tokenHolder.address);
}, START_LIMIT_MS);

afterAll(async () => {
  await worker.close();
  await closeFixture();
}, START_LIMIT_MS);

const refusalOf = ({ status, body }: Answer) => ({ status, ...body, request_id: undefined });

describe('a transaction', () => {
  it('is explained once it is known, and says whether it is final', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, 65_000, LONG_SEC);
    const txid = await broadcast(sender, tokenHolder.address);
    expect(await explained(txid)).toEqual({
      txid,
      sentence: 'The token transfer is pending: it is not in a block yet, so nothing was burnt so far.',
      solid: false,
      owner_address: sender.address,
      receive_address: sender.address,
      contract_address: expect.any(String),
      fee_limit_sun: 100_000_000,
      causes: [expect.objectContaining({ code: 'NOT_IN_A_BLOCK', burn_sun: 0 })],
      rentals: [],
    });
    await mine();
    expect(await explained(txid)).toMatchObject({
      solid: false,
      sentence: 'The token transfer burnt nothing, in a block that is not final yet.',
    });
    await mine(SOLID_LAG + 1);
    expect(await explained(txid)).toMatchObject({ solid: true, sentence: 'The token transfer burnt nothing.' });
  });

  it('may be given in either case', async () => {
    const [lower, upper] = [await explain(paid), await explain(paid.toUpperCase())];
    expect(upper).toMatchObject({ status: 200, body: lower.body });
  });

  it.each([
    ['with 0x', `0x${'ab'.repeat(32)}`, 'txid: must be 64 hex digits without 0x'],
    ['with 0X and upper case', `0X${'AB'.repeat(31)}`, 'txid: must be 64 hex digits without 0x'],
    ['too short', 'ab'.repeat(31), 'txid: must be 64 hex digits'],
    ['too long', 'ab'.repeat(33), 'txid: must be 64 hex digits'],
    ['not in hex', 'xy'.repeat(32), 'txid: must be 64 hex digits'],
    ['with a space behind', `${'ab'.repeat(32)}%20`, 'txid: must be 64 hex digits'],
  ])('is refused %s', async (_, txid, msg) => {
    const { status, body } = await explain(txid);
    expect([status, body]).toMatchObject([400, { error: 'INVALID_REQUEST', msg, details: [{ field: 'txid' }] }]);
  });

  it('of other addresses is as unknown as one that was never sent', async () => {
    const [one, other] = [await nextHolder(), await nextHolder()];
    const foreign = await explain(await send(one, other.address));
    expect(foreign.status).toBe(404);
    expect(refusalOf(foreign)).toEqual(refusalOf(await explain(NEVER_SENT)));
    const byStranger = await explain(paid, await stranger());
    expect(refusalOf(byStranger)).toEqual(refusalOf(foreign));
  });

  it('of an address that only rents in a test project is unknown', async () => {
    const tester = await makeCustomer(api, 1_000_000_000n, undefined, true);
    const rental = { receive_address: rented.address, energy: 65_000, duration_sec: 60 };
    expect((await tester.post('/v1/orders', rental)).status).toBe(202);
    expect((await explain(paid, tester)).status).toBe(404);
  });

  it('is not explained while no node answers', async () => {
    const alone = await openApi({ ...env, TRON_FULL_NODE_URLS: 'http://127.0.0.1:1', TRON_READ_TIMEOUT_MS: '300' });
    try {
      const { status, body } = await explain(paid, customer.at(alone.baseUrl));
      expect([status, body.error]).toEqual([503, 'CHAIN_UNAVAILABLE']);
    } finally {
      await alone.close();
    }
  });

  it('is explained without the history of energy prices', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, 65_000, LONG_SEC);
    const txid = await send(sender, tokenHolder.address, { feeLimit: 1_000_000 });
    full.before = (path) => (path === 'wallet/getenergyprices' ? { says: 'no', status: 405 } : undefined);
    try {
      const body = await explained(txid);
      expect(body).toMatchObject({ result: 'OUT_OF_ENERGY', causes: [{ code: 'CAUSE_NOT_PROVEN' }] });
      expect(body.energy_fee_sun).toBeUndefined();
    } finally {
      full.rest();
    }
    expect((await explained(txid)).causes).toMatchObject([{ code: 'FEE_LIMIT_TOO_LOW' }]);
  });
});

describe('a key', () => {
  it('needs the scope for reading, and a signature by HMAC', async () => {
    const other = await stranger();
    const options = { name: 'orders', scopes: ['order', 'quote', 'manage'] } as const;
    const { apiKey } = await apiKeysOn(api.database, api.app).create(other.merchant, options, AUTHOR);
    expect((await explain(paid, other.withKey(apiKey))).body.error).toBe('KEY_SCOPE');
    expect((await explain(paid, other)).body.error).toBe('NOT_FOUND');
    expect((await customer.get(`/v1/explain/${paid}`)).body.error).toBe('HMAC_REQUIRED');
  });
});

describe('explain-transfer', () => {
  it('explains a transaction to an operator, with or without its project', async () => {
    const said = await explainByCli(paid);
    expect([said.code, said.err]).toEqual([0, '']);
    expect(said.out).toContain('The token transfer burnt nothing');
    expect(said.out).toContain('NOTHING_BURNT');
    expect(said.out).toContain('→ There is nothing to do.');
    expect(said.out).toContain(key);
    const json = (await explainByCli(paid.toUpperCase(), '--project', customer.merchant, '--json')).json();
    expect(json).toMatchObject({ txid: paid, energy_used: TO_HOLDER, rentals: [{ order_key: key }] });
    expect(json).toEqual((await explain(paid)).body);
  });

  it('knows no transaction of another project, and none that was never sent', async () => {
    const { merchant } = await stranger();
    for (const args of [[paid, '--project', merchant], [NEVER_SENT]]) {
      const said = await explainByCli(...args);
      expect([said.code, said.err]).toEqual([1, expect.stringContaining('no order concerns it')]);
    }
    expect((await explainByCli('0x12')).code).toBe(2);
  });
});
