// Deposit addresses and deposits of a project over the API.
import 'reflect-metadata';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { expectError } from '../../support/api/answers.js';
import { StatementFixture } from '../../support/worker/statement-fixture.js';
import { Customer, HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { apiKeysOn } from '../../support/api/services.js';
import {
  START_LIMIT_MS,
  calm,
  closeFixture,
  database,
  env,
  follow,
  infosOf,
  BLOCK,
  meddle,
  mine,
  openFixture,
  payToken,
  payTrx,
  settle,
  spies,
} from '../../support/worker/deposit-fixture.js';

let api: TestApi;
let without: TestApi;

beforeAll(async () => {
  await openFixture();
  api = await openApi({ ...env, LOG_LEVEL: 'silent' });
  const { DEPOSIT_XPUB: _, ...rest } = env;
  without = await openApi({ ...rest, LOG_LEVEL: 'silent' });
}, START_LIMIT_MS);
beforeEach(calm);
afterAll(async () => {
  await api.close();
  await without.close();
  await closeFixture();
}, START_LIMIT_MS);

async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(api, 0n);
  return new HmacCustomer(api.baseUrl, merchant, apiKey);
}

const depositProjectOf = async (customer: Customer) => {
  const answer = await customer.get('/v1/deposits/address');
  expect(answer.status).toBe(200);
  return { id: customer.merchant, address: answer.body.address as string };
};

describe('the address', () => {
  it('is the project’s own, with the accepted assets', async () => {
    const [one, other] = [await project(), await project()];
    const answer = await one.get('/v1/deposits/address');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      address: (await depositProjectOf(one)).address,
      network: 'TRON (TRC20)',
      accepts: [
        { asset: 'TRX', minimum: '10.000000', from_contracts: false },
        { asset: 'USDT', contract: env['TOKEN_CONTRACT'], minimum: '5.000000' },
      ],
    });
    expect((await depositProjectOf(other)).address).not.toBe((await depositProjectOf(one)).address);
  });

  it('says if payments by contracts are visible, by the nodes’ records of the last minute', async () => {
    const customer = await project();
    const seen = async (): Promise<boolean> =>
      (await customer.get('/v1/deposits/address')).body.accepts[0].from_contracts as boolean;
    const note = Buffer.from('call').toString('hex');
    const kept = (path: string, answer: unknown): unknown =>
      path === BLOCK ? answer : infosOf(answer).map((info) => ({ ...info, internal_transactions: [{ note }] }));
    const to = await depositProjectOf(customer);
    meddle([spies[0]], kept);
    await payTrx(to, 10_000_000);
    await settle();
    await follow();
    // Only one of two nodes keeps them, so such a payment would be held instead of credited.
    expect(await seen()).toBe(false);
    meddle(spies, kept);
    await payTrx(to, 10_000_000);
    await settle();
    await follow();
    expect(await seen()).toBe(true);
    for (const spy of spies) spy.rest();
    await database.query(`UPDATE deposit_cursor SET internal_at = block_at - interval '61 seconds'`);
    expect(await seen()).toBe(false);
  });

  it('is refused if the key derives another one than was assigned', async () => {
    const customer = await project();
    await depositProjectOf(customer);
    await database.query(`ALTER TABLE deposit_address DISABLE TRIGGER deposit_address_kept`);
    await database.query(`UPDATE deposit_address SET address = $1 WHERE project_id = $2`, [
      newChainAccount().address,
      customer.merchant,
    ]);
    await database.query(`ALTER TABLE deposit_address ENABLE TRIGGER deposit_address_kept`);
    expectError(await customer.get('/v1/deposits/address'), 'INTERNAL_ERROR');
  });

  it('does not exist if deposits are not in use', async () => {
    const { merchant, apiKey } = await makeCustomer(api, 0n);
    const customer = new HmacCustomer(without.baseUrl, merchant, apiKey);
    expectError(await customer.get('/v1/deposits/address'), 'TOPUP_NOT_CONFIGURED');
    expect((await customer.get('/v1/deposits')).body).toEqual({ items: [] });
  });
});

describe('the list', () => {
  it('has the project’s payments, newest first, page by page and by status', async () => {
    const [customer, other] = [await project(), await project()];
    const to = await depositProjectOf(customer);
    await payTrx(to, 12_345_678);
    await payTrx(await depositProjectOf(other), 11_000_000);
    await payTrx(to, 5_000_000);
    await mine(1);
    await payToken(to, 7_000_000n);
    await settle();
    await follow();
    const { body } = await customer.get('/v1/deposits');
    expect(body.next_cursor).toBeUndefined();
    expect(body.items).toMatchObject([
      { asset: 'USDT', kind: 'log', amount: '7.000000', status: 'credited', credits: 70_000_000 },
      { asset: 'TRX', amount: '5.000000', status: 'pending', reason: 'below_minimum' },
      {
        asset: 'TRX',
        kind: 'native',
        amount: '12.345678',
        status: 'credited',
        address: to.address,
        credits: 37_037_034,
      },
    ]);
    const first = await customer.get('/v1/deposits?limit=2');
    expect(first.body.items).toEqual(body.items.slice(0, 2));
    const second = await customer.get(`/v1/deposits?limit=2&cursor=${first.body.next_cursor as string}`);
    expect(second.body).toEqual({ items: body.items.slice(2) });
    expect((await customer.get('/v1/deposits?status=pending')).body).toEqual({ items: [body.items[1]] });
    const ledger = await customer.get('/v1/ledger');
    const [token, , trx] = body.items;
    expect(ledger.body.items).toMatchObject(
      [token, trx].map(({ id, asset, amount, usd_rate, credits, txid }) => ({
        ...{ kind: 'deposit', description: `Deposit of ${amount as string} ${asset as string}`, deposit: id },
        ...{ asset, amount, usd_rate, credits, txids: [txid] },
      })),
    );
    expectError(await customer.get('/v1/deposits?cursor=bm8'), 'INVALID_REQUEST');
    expectError(await customer.get('/v1/deposits?status=lost'), 'INVALID_REQUEST');
  });
});

it('a deposit is in the statement of its month, with its rate and transaction', async () => {
  const customer = await project();
  await payTrx(await depositProjectOf(customer), 12_345_678);
  await settle();
  await follow();
  const statementFixture = await StatementFixture.open({ api, env });
  try {
    await statementFixture.pastGuards('credit_entry', [`UPDATE credit_entry SET created_at = '2026-10-05Z'`]);
    await statementFixture.closeUpTo('2026-10');
  } finally {
    await statementFixture.close();
  }
  const [deposit] = (await customer.get('/v1/deposits')).body.items;
  const { body } = await customer.get('/v1/statements/1');
  expect(body.totals).toEqual({ charge: 0, refund: 0, compensation: 0, deposit: 37_037_034, topup: 0, adjustment: 0 });
  const { text } = await customer.get('/v1/statements/1/lines.csv');
  const line = text.split('\r\n')[1]!;
  expect(line).toContain(
    `,deposit,Deposit of 12.345678 TRX,37037034,3.7037034,37037034,TRX,12.345678,0.30000000,,${deposit.id as string},,${deposit.txid as string}`,
  );
});

it('both require HMAC, and a key that may read', async () => {
  const customer = await project();
  const { merchant, apiKey } = customer;
  const reader = await apiKeysOn(api.database, api.app).create(merchant, { name: 'r', scopes: ['read'] }, AUTHOR);
  const buyer = await apiKeysOn(api.database, api.app).create(merchant, { name: 'o', scopes: ['order'] }, AUTHOR);
  for (const path of ['/v1/deposits', '/v1/deposits/address']) {
    expectError(await new Customer(api.baseUrl, merchant, apiKey).get(path), 'HMAC_REQUIRED');
    expect((await customer.withKey(reader.apiKey).get(path)).status).toBe(200);
    expectError(await customer.withKey(buyer.apiKey).get(path), 'KEY_SCOPE');
  }
});
