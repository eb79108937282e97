// Honest and lying tokens, as seen in balances and receipts.
import { CATCHING_CALLER, STRICT_CALLER, callsOf } from './contracts/payers.js';
import { SUPPLY, TRANSFER_TOPIC, type TokenRules, tokenCode, transferData } from './contracts/tokens.js';
import { type Answer, type Client, TRX, addressWord, keyOf, startChain, word } from './client.js';
import { TronWeb } from 'tronweb';

const bank = keyOf('bank');
const [one, two] = [keyOf('one'), keyOf('two')];
let chain: Client;
let batch: string;
let honest: string;

beforeAll(async () => {
  chain = await startChain();
  batch = await chain.deploy(bank, STRICT_CALLER);
  honest = await deployed();
});
afterAll(() => chain.node.stop());

const hexOf = (address: string): string => TronWeb.address.toHex(address).toLowerCase();
const call = (contract: string, selector: string, parameter: string, options: object = {}): Promise<Answer> =>
  chain.run(bank, 'triggersmartcontract', {
    contract_address: contract,
    function_selector: selector,
    parameter,
    fee_limit: 1000 * TRX,
    ...options,
  });
const transfer = (token: string, to: string, amount: number): Promise<Answer> =>
  call(token, 'transfer(address,uint256)', addressWord(to) + word(amount));

/** Deploys a new token. The bank holds its supply, the batch contract a thousand of it. */
async function deployed(rules: TokenRules = {}): Promise<string> {
  const token = await chain.deploy(bank, tokenCode(rules));
  if (rules.fails !== true) await transfer(token, hexOf(batch), 1000);
  return token;
}

async function view(token: string, selector: string, parameter = ''): Promise<string> {
  const answer = await chain.post('triggerconstantcontract', {
    owner_address: bank.address,
    contract_address: token,
    function_selector: selector,
    parameter,
  });
  return (answer['constant_result'] as string[])[0] ?? '';
}
const balanceOf = async (token: string, hex: string): Promise<number> =>
  Number(BigInt(`0x${await view(token, 'balanceOf(address)', addressWord(hex))}`));

/** Each Transfer of a receipt as `amount -> to`, with its contract if that is not `token`. */
function eventsOf(info: Answer, token: string): string[] {
  const logs = (info['log'] ?? []) as { address: string; topics: string[]; data: string }[];
  return logs.map(({ address, topics, data }) => {
    expect(topics[0]).toBe(TRANSFER_TOPIC);
    const to = TronWeb.address.fromHex(`41${(topics[2] ?? '').slice(24)}`);
    const text = `${String(BigInt(`0x${data}`))} -> ${to}`;
    return address === token ? text : `${text} of ${address}`;
  });
}

test('an honest one moves what its event shows, and no more than the sender has', async () => {
  const before = await balanceOf(honest, bank.hex);
  const info = await transfer(honest, one.hex, 25);
  expect(eventsOf(info, honest)).toEqual([`25 -> ${one.address}`]);
  expect(await balanceOf(honest, one.hex)).toBe(25);
  expect(await balanceOf(honest, bank.hex)).toBe(before - 25);
  expect(await transfer(honest, one.hex, SUPPLY)).toMatchObject({ receipt: { result: 'REVERT' } });
});

test('two contracts have the same symbol and decimals; only their addresses differ', async () => {
  const fake = await deployed();
  expect(fake).not.toBe(honest);
  for (const token of [honest, fake]) {
    expect(Buffer.from(await view(token, 'symbol()'), 'hex').toString('utf8')).toContain('USDT');
    expect(BigInt(`0x${await view(token, 'decimals()')}`)).toBe(6n);
  }
  expect(eventsOf(await transfer(fake, one.hex, 3), honest)).toEqual([`3 -> ${one.address} of ${fake}`]);
});

test.each<[string, TokenRules, string[], number]>([
  ['an event without a transfer', { moves: false }, [`100 -> ${one.address}`], 0],
  ['a transfer without an event', { emits: false }, [], 100],
  ['a transfer that deducts a fee and logs what arrived', { feePercent: 10 }, [`90 -> ${one.address}`], 90],
  ['a fee that is not in its event', { feePercent: 10, logsSent: true }, [`100 -> ${one.address}`], 90],
])('a token makes %s', async (_what, rules, events, arrived) => {
  const token = await deployed(rules);
  expect(eventsOf(await transfer(token, one.hex, 100), token)).toEqual(events);
  expect(await balanceOf(token, one.hex)).toBe(arrived);
});

test('a call that fails after its event leaves no event, by itself and when the failure is caught', async () => {
  const token = await deployed({ fails: true });
  const failed = await transfer(token, one.hex, 5);
  expect(failed).toMatchObject({ result: 'FAILED', receipt: { result: 'REVERT' } });
  expect(failed).not.toHaveProperty('log');
  const catching = await chain.deploy(bank, CATCHING_CALLER);
  await transfer(honest, hexOf(catching), 10);
  const calls = [
    { to: hexOf(token), data: transferData(one.hex, 0) },
    { to: hexOf(honest), data: transferData(two.hex, 4) },
  ];
  const caught = await call(catching, 'run()', callsOf(...calls));
  expect(caught['receipt']).toMatchObject({ result: 'SUCCESS' });
  expect(eventsOf(caught, honest)).toEqual([`4 -> ${two.address}`]);
  expect(caught['internal_transactions']).toMatchObject([{ rejected: true }, { transferTo_address: honest }]);
});

test('one transaction makes two transfers to one address, each with its own event', async () => {
  const before = await balanceOf(honest, one.hex);
  const calls = [11, 11].map((amount) => ({ to: hexOf(honest), data: transferData(one.hex, amount) }));
  const info = await call(batch, 'run()', callsOf(...calls));
  expect(eventsOf(info, honest)).toEqual([`11 -> ${one.address}`, `11 -> ${one.address}`]);
  expect(await balanceOf(honest, one.hex)).toBe(before + 22);
});

test('one transaction pays two tokens, TRX and two addresses', async () => {
  const other = await deployed({ symbol: 'OTHER' });
  const calls = [
    { to: hexOf(honest), data: transferData(one.hex, 1) },
    { to: hexOf(other), data: transferData(one.hex, 2) },
    { to: hexOf(honest), data: transferData(two.hex, 3) },
    { to: two.hex, value: 4 },
  ];
  const info = await call(batch, 'run()', callsOf(...calls), { call_value: 4 });
  expect(eventsOf(info, honest)).toEqual([
    `1 -> ${one.address}`,
    `2 -> ${one.address} of ${other}`,
    `3 -> ${two.address}`,
  ]);
  const internal = info['internal_transactions'] as Answer[];
  expect(internal.map((each) => each['callValueInfo'])).toEqual([[{}], [{}], [{}], [{ callValue: 4 }]]);
});

test('a genesis contract’s supply belongs to its origin', async () => {
  const address = `41${'ab'.repeat(20)}`;
  const own = await startChain({
    genesis: {
      accounts: [{ address: bank.address, balance: '90000000000000000' }],
      contracts: [{ origin: bank.address, bytecode: tokenCode(), name: 'Token', address }],
    },
  });
  try {
    const answer = await own.post('triggerconstantcontract', {
      owner_address: bank.address,
      contract_address: TronWeb.address.fromHex(address),
      function_selector: 'balanceOf(address)',
      parameter: addressWord(bank.hex),
    });
    expect(answer['constant_result']).toEqual([word(SUPPLY)]);
  } finally {
    await own.node.stop();
  }
});
