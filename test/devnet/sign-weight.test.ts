// Wallets with several keys: who has signed a transaction, and whether that suffices, before it is sent. Texts and
// codes are those of java-tron's TransactionUtil.getTransactionSignWeight and Wallet.getTransactionApprovedList.
import { TronWeb } from 'tronweb';
import { type Answer, type Client, type Unsigned, TRX, keyOf, sign, startChain } from './client.js';

const [bank, pool, alice] = [keyOf('bank'), keyOf('pool'), keyOf('alice')];
/** TransferContract alone. */
const TRANSFERS = `02${'00'.repeat(31)}`;
let chain: Client;
let payment: Unsigned;

beforeAll(async () => {
  chain = await startChain();
  await chain.mine();
  const keys = [bank, alice].map(({ address }) => ({ address, weight: 1 }));
  const active = { type: 2, permission_name: 'both', threshold: 2, operations: TRANSFERS, keys };
  const owner = { type: 0, permission_name: 'owner', threshold: 1, keys: [{ address: pool.address, weight: 1 }] };
  await chain.run(pool, 'accountpermissionupdate', { owner_address: pool.address, owner, actives: [active] });
  payment = await pay(2);
});
afterAll(() => chain.node.stop());

const pay = (permissionId: number): Promise<Unsigned> =>
  chain.build('createtransaction', {
    owner_address: pool.address,
    to_address: bank.address,
    amount: TRX,
    Permission_id: permissionId,
  });

const ask = (path: string, tx: Unsigned, ...signature: readonly string[]): Promise<Answer> =>
  chain.post(path, { ...tx, signature });
const by = (key: typeof bank, tx: Unsigned = payment): string => sign(tx.txID, key.secret);

test('weighs the keys that have signed', async () => {
  const permission = { type: 'Active', id: 2, permission_name: 'both', threshold: 2, operations: TRANSFERS };
  const none = await ask('getsignweight', payment);
  expect(none).toMatchObject({ permission, result: { code: 'NOT_ENOUGH_PERMISSION' } });
  expect(none).not.toHaveProperty('current_weight');
  expect(none).not.toHaveProperty('approved_list');
  const one = await ask('getsignweight', payment, by(alice));
  expect(one).toMatchObject({ approved_list: [alice.address], current_weight: 1 });
  expect(one['result']).toEqual({ code: 'NOT_ENOUGH_PERMISSION' });
  const both = await ask('getsignweight', payment, by(alice), by(bank));
  expect(both).toMatchObject({ approved_list: [alice.address, bank.address], current_weight: 2, result: {} });
  expect(both['result']).toEqual({});
  expect(both['transaction']).toMatchObject({
    result: { result: true },
    txid: payment.txID,
    transaction: { visible: true, txID: payment.txID, signature: [by(alice), by(bank)] },
  });
});

test.each([
  ['a key that the permission lacks', () => [by(pool)], /is signed by T\w+ but it is not contained of permission\.$/],
  ['one key twice', () => [by(bank), by(bank)], /^T\w+ has signed twice!$/],
  ['more signatures than keys', () => [by(bank), by(alice), by(pool)], /^Signature count is 3 more than key counts/],
])('refuses %s as PERMISSION_ERROR, and names the permission', async (_, signatures, message) => {
  const answer = await ask('getsignweight', payment, ...signatures());
  expect(answer).toMatchObject({
    permission: { id: 2 },
    result: { code: 'PERMISSION_ERROR', message: expect.stringMatching(message) as string },
  });
  expect(answer).not.toHaveProperty('approved_list');
});

test('names no permission that cannot be used', async () => {
  const [unknown, foreign] = [await pay(3), await pay(2)];
  const refused = { code: 'PERMISSION_ERROR', message: 'Permission for this, does not exist!' };
  expect(await ask('getsignweight', unknown)).toMatchObject({ result: refused });
  const stake = { owner_address: pool.address, frozen_balance: TRX, resource: 'ENERGY', Permission_id: 2 };
  const denied = await ask('getsignweight', await chain.build('freezebalancev2', stake));
  expect(denied['result']).toEqual({ code: 'PERMISSION_ERROR', message: 'Permission denied!' });
  expect(denied).not.toHaveProperty('permission');
  const [contract] = foreign.raw_data['contract'] as [{ parameter: { value: Answer } }];
  contract.parameter.value['owner_address'] = alice.address;
  const missing = { code: 'PERMISSION_ERROR', message: 'Account does not exist!' };
  expect(await ask('getsignweight', foreign)).toMatchObject({ result: missing });
});

test('tells a short signature from one that no key can have made', async () => {
  const short = by(bank).slice(0, 128);
  const wrong = `${short}63`;
  for (const path of ['getsignweight', 'getapprovedlist']) {
    expect((await ask(path, payment, short))['result']).toEqual({
      code: 'SIGNATURE_FORMAT_ERROR',
      message: 'Signature size is 64',
    });
    expect((await ask(path, payment, wrong))['result']).toEqual({
      code: 'COMPUTE_ADDRESS_ERROR',
      message: 'Header byte out of range: 99',
    });
  }
});

test('lists the signers whatever the permission says', async () => {
  const answer = await ask('getapprovedlist', payment, by(pool), by(pool));
  expect(answer).toMatchObject({ approved_list: [pool.address, pool.address], transaction: { txid: payment.txID } });
  expect(answer['result']).toEqual({});
});

test('tronweb collects two signatures, and the node accepts them', async () => {
  const wallet = new TronWeb({ fullHost: chain.node.fullUrl, privateKey: bank.secret });
  const { trx, transactionBuilder } = wallet;
  const draft = await transactionBuilder.sendTrx(alice.address, 2 * TRX, pool.address);
  const once = await trx.multiSign(draft, bank.secret, 2);
  expect(await trx.getSignWeight(once)).toMatchObject({ current_weight: 1 });
  const twice = await trx.multiSign(once, alice.secret, 2);
  expect(await trx.getApprovedList(twice)).toMatchObject({ approved_list: [bank.hex, alice.hex] });
  expect(await trx.sendRawTransaction(twice as never)).toMatchObject({ result: true });
});
