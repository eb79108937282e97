// TRC10 tokens: issued at genesis, sent by accounts, sent and received by contracts, shown with their id.
import { TronWeb } from 'tronweb';
import { REFUSER, SELF_DESTRUCTOR, TOKEN_SENDER, TOKEN_TAKER } from './contracts/payers.js';
import { type Answer, type Client, TRX, addressWord, keyOf, startChain, word } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const ghost = keyOf('ghost of tokens');
const ID = 1_000_001;
const OTHER = 1_000_002;
let chain: Client;
let sender: string;

beforeAll(async () => {
  chain = await startChain({
    genesis: {
      accounts: [
        { address: bank.address, balance: '90000000000000000' },
        { address: pool.address, balance: TRX / 2 },
      ],
      assets: [
        { id: ID, name: 'Coin', balances: { [bank.address]: 1_000_000, [pool.address]: 5 } },
        { id: OTHER, name: 'Other', balances: { [bank.hex]: 10 } },
      ],
    },
  });
  sender = await chain.deploy(bank, TOKEN_SENDER);
});
afterAll(() => chain.node.stop());

const hexOf = (address: string): string => TronWeb.address.toHex(address).toLowerCase();
const held = async (address: string): Promise<unknown> => (await chain.post('getaccount', { address }))['assetV2'];

function run(contract: string, parameter: string, options: object = {}): Promise<Answer> {
  return chain.run(bank, 'triggersmartcontract', {
    contract_address: contract,
    function_selector: 'run()',
    parameter,
    fee_limit: 1000 * TRX,
    ...options,
  });
}

test('an account holds its balance from genesis, shown by id', async () => {
  expect(await chain.account(bank)).toMatchObject({
    assetV2: [
      { key: String(ID), value: 1_000_000 },
      { key: String(OTHER), value: 10 },
    ],
    free_asset_net_usageV2: [
      { key: String(ID), value: 0 },
      { key: String(OTHER), value: 0 },
    ],
  });
});

test('a transfer moves it, makes an account for 1.1 TRX, and shows no more than a transfer of TRX does', async () => {
  const body = { to_address: ghost.address, asset_name: String(ID), amount: 30 };
  const built = await chain.build('transferasset', { owner_address: bank.address, ...body });
  expect(built.raw_data['contract']).toEqual([
    {
      parameter: {
        value: { owner_address: bank.address, to_address: ghost.address, asset_name: String(ID), amount: 30 },
        type_url: 'type.googleapis.com/protocol.TransferAssetContract',
      },
      type: 'TransferAssetContract',
    },
  ]);
  const info = await chain.run(bank, 'transferasset', body);
  expect(info).toMatchObject({ fee: 1_100_000, receipt: { net_fee: 100_000 } });
  expect(info).not.toHaveProperty('log');
  expect(await held(ghost.address)).toEqual([{ key: String(ID), value: 30 }]);
  expect(await held(bank.address)).toEqual([
    { key: String(ID), value: 999_970 },
    { key: String(OTHER), value: 10 },
  ]);
  // A used-up balance has no entry.
  await chain.run(bank, 'transferasset', { ...body, asset_name: String(OTHER), amount: 10 });
  expect(await held(bank.address)).toEqual([{ key: String(ID), value: 999_970 }]);
});

test.each([
  ['nothing', { amount: 0 }, 'Amount must be greater than 0.'],
  ['to oneself', { to_address: pool.address }, 'Cannot transfer asset to yourself.'],
  ['from nobody', { owner_address: keyOf('nobody').address }, 'No owner account!'],
  ['of an unknown token', { asset_name: '1000009' }, 'No asset!'],
  ['of a token that the sender lacks', { asset_name: String(OTHER) }, 'assetBalance must be greater than 0.'],
  ['of more than it has', { amount: 6 }, 'assetBalance is not sufficient.'],
  [
    'to a new address without TRX',
    { to_address: keyOf('new').address },
    'Validate TransferAssetActuator error, insufficient fee.',
  ],
])('a transfer %s is refused as the real node refuses it', async (_what, change, text) => {
  const body = {
    owner_address: pool.address,
    to_address: bank.address,
    asset_name: String(ID),
    amount: 1,
    ...change,
  };
  await expect(chain.build('transferasset', body)).rejects.toThrow(text);
});

test('a transfer to a contract is refused', async () => {
  const body = { owner_address: bank.address, to_address: sender, asset_name: String(ID), amount: 1 };
  await expect(chain.build('transferasset', body)).rejects.toThrow('Cannot transfer asset to smartContract.');
});

describe('a contract', () => {
  const bring = (value: number): object => ({ call_token_value: value, token_id: ID });
  const send = (to: string, amount: number): string => addressWord(to) + word(ID) + word(amount);

  test('receives a token with a call and sends it on: callValueInfo has an empty entry for TRX, then the token', async () => {
    const info = await run(sender, send(pool.hex, 7), bring(100));
    expect(info['internal_transactions']).toMatchObject([
      {
        caller_address: sender,
        transferTo_address: pool.address,
        callValueInfo: [{}, { callValue: 7, tokenId: String(ID) }],
        note: '63616c6c',
      },
    ]);
    expect(await held(sender)).toEqual([{ key: String(ID), value: 93 }]);
    expect(await held(pool.address)).toEqual([{ key: String(ID), value: 12 }]);
  });

  test('that is called with a token sees its id and amount', async () => {
    const taker = await chain.deploy(bank, TOKEN_TAKER);
    await run(sender, send(hexOf(taker), 9));
    expect(await held(taker)).toEqual([{ key: String(ID), value: 9 }]);
    const info = await run(sender, send(hexOf(taker), 9));
    // Both slots already hold the values that are written now.
    expect(info['receipt']).toMatchObject({ result: 'SUCCESS' });
    expect((info['receipt'] as Answer)['energy_usage_total']).toBeLessThan(25_000);
  });

  test('that refuses it leaves it with the sender, and the payment is rejected', async () => {
    const refuser = await chain.deploy(bank, REFUSER);
    const before = await held(sender);
    const info = await run(sender, send(hexOf(refuser), 5));
    expect(info).toMatchObject({
      contractResult: [word(0)],
      internal_transactions: [{ callValueInfo: [{}, { callValue: 5, tokenId: String(ID) }], rejected: true }],
    });
    expect(await held(sender)).toEqual(before);
  });

  test('that does not have as much sends nothing and shows nothing', async () => {
    const info = await run(sender, send(pool.hex, 1_000_000));
    expect(info).toMatchObject({ contractResult: [word(0)], receipt: { result: 'SUCCESS' } });
    expect(info).not.toHaveProperty('internal_transactions');
  });

  test('that destroys itself leaves its tokens to its heir, and shows every one', async () => {
    const doomed = await chain.deploy(bank, SELF_DESTRUCTOR);
    const heir = keyOf('heir of tokens');
    const info = await run(doomed, addressWord(heir.hex), { ...bring(4), call_value: 3 });
    expect(info['internal_transactions']).toMatchObject([
      { callValueInfo: [{ callValue: 3 }, { callValue: 4, tokenId: String(ID) }] },
    ]);
    expect(await held(heir.address)).toEqual([{ key: String(ID), value: 4 }]);
  });

  test.each([
    ['an impossible id', { call_token_value: 1, token_id: 1_000_000 }, 'tokenId must be > 1000000'],
    ['no id', { call_token_value: 1 }, 'invalid arguments with tokenValue = 1, tokenId = 0'],
    ['an unknown token', { call_token_value: 1, token_id: 1_000_009 }, 'No asset !'],
    ['more than the caller has', { call_token_value: 10_000_000, token_id: ID }, 'assetBalance is not sufficient.'],
  ])('is not called with %s', async (_what, options, text) => {
    await expect(run(sender, send(pool.hex, 1), options)).rejects.toThrow(text);
  });
});

test.each([
  ['an id below the smallest one', { id: 1_000_000, balances: {} }, 'must be above 1000000'],
  ['an amount for nobody', { id: ID, balances: { [ghost.address]: 1 } }, 'is no account'],
])('a genesis with %s is refused with the place of the mistake', async (_what, asset, text) => {
  const accounts = [{ address: bank.address, balance: 1 }];
  await expect(startChain({ genesis: { accounts, assets: [asset] } })).rejects.toThrow(text);
});
