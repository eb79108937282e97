// HTTP answers that differ between java-tron 4.8.0 and 4.8.2, and limits of constant calls.
import { type Answer, type Client, TRX, keyOf, sign, startChain } from './client.js';
import { assemble, deployable } from './contracts/assembler.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
let latest: Client;
let former: Client;

beforeAll(async () => {
  [latest, former] = await Promise.all([startChain(), startChain({ version: '4.8.0' })]);
});
afterAll(() => Promise.all([latest.node.stop(), former.node.stop()]));

const ABOVE_LIMIT = `{"address":"${'0'.repeat(4 * 1024 * 1024)}"}`;

test("a body above 4 MiB gets 413 since 4.8.2 (HttpService, SizeLimitHandler), the servlet's error before", async () => {
  const [now, before] = await Promise.all(
    [latest, former].map((chain) =>
      fetch(`${chain.node.fullUrl}/wallet/getaccount`, { method: 'POST', body: ABOVE_LIMIT }),
    ),
  );
  expect([now?.status, await now?.text()]).toEqual([413, expect.stringContaining('Payload Too Large')]);
  expect([before?.status, await before?.text()]).toEqual([200, expect.stringContaining('body size is too big')]);
});

test.each([
  [64, 'Validate signature error: Signature size is 64', 'Validate signature error: Signature size is 64'],
  [65, undefined, undefined],
  [68, undefined, undefined],
  [69, 'Validate signature error: Signature size is 69', undefined],
])('a signature of %i bytes (SignUtils.isValidLength)', async (bytes, now, before) => {
  const messages = [latest, former].map(async (chain) => {
    const tx = await chain.build('createtransaction', {
      owner_address: bank.address,
      to_address: pool.address,
      amount: 1_000 + bytes,
    });
    const signature = [
      sign(tx.txID, bank.secret)
        .padEnd(2 * bytes, '0')
        .slice(0, 2 * bytes),
    ];
    return (await chain.post('broadcasttransaction', { ...tx, signature }))['message'];
  });
  expect(await Promise.all(messages)).toEqual([now, before]);
});

async function get(chain: Client, path: string): Promise<Answer> {
  return (await (await fetch(`${chain.node.fullUrl}/wallet/${path}`)).json()) as Answer;
}

test('a GET gets 64-bit integers as strings since 4.8.2 if it asks, a POST never (java-tron #6699)', async () => {
  const query = `getaccount?address=${bank.hex}&int64_as_string=true`;
  expect((await get(latest, query))['balance']).toMatch(/^\d{17}$/);
  expect((await get(former, query))['balance']).toEqual(expect.any(Number));
  const plain = await latest.post('getaccount', { address: bank.address, int64_as_string: true });
  expect(plain['balance']).toEqual(expect.any(Number));
});

test('a block has its 64-bit integers as strings, those of its transactions too; getnowblock has none', async () => {
  await latest.run(bank, 'createtransaction', { to_address: pool.address, amount: 7 });
  const block = (await get(latest, 'getblock?detail=true&int64_as_string=true')) as {
    readonly block_header: { readonly raw_data: Answer };
    readonly transactions: readonly { readonly raw_data: Answer }[];
  };
  const { number, version, timestamp } = block.block_header.raw_data;
  expect([number, version, timestamp]).toEqual([expect.any(String), 36, expect.any(String)]);
  expect(block.transactions[0]?.raw_data).toMatchObject({ expiration: expect.any(String) as string });
  expect(JSON.stringify(block.transactions)).toContain('"amount":"7"');
  const head = (await get(latest, 'getnowblock?int64_as_string=true')) as typeof block;
  expect(head.block_header.raw_data['number']).toEqual(expect.any(Number));
});

test("a throttled call gets java-tron's refusal and is not processed (RateLimiterServlet)", async () => {
  await latest.node.control('faults', { kind: 'throttled', path: 'wallet/getaccount', times: 1 });
  expect(await latest.account(bank)).toEqual({
    Error: 'class java.lang.IllegalAccessException : lack of computing resources',
  });
  expect(await latest.account(bank)).toHaveProperty('balance');
});

/** Counts down from its parameter: about 12 opcodes a round. */
const COUNTER = deployable(assemble('4 CALLDATALOAD loop: 1 SWAP1 SUB DUP1 @loop JUMPI 0 MSTORE 32 0 RETURN'));

async function count(chain: Client, contract: string, rounds: number): Promise<string> {
  const answer = await chain.post('triggerconstantcontract', {
    owner_address: bank.address,
    contract_address: contract,
    function_selector: 'count(uint256)',
    parameter: rounds.toString(16).padStart(64, '0'),
  });
  const { message, result } = answer['result'] as Answer;
  return result === true ? 'done' : String(message);
}

test('getMaxCpuTimeOfOneTx bounds a run, and --constant-call-timeout-ms that of a constant call alone', async () => {
  const other = await startChain({ constantCallTimeoutMs: 10 });
  try {
    const contract = await other.deploy(bank, COUNTER);
    expect(await count(other, contract, 5_000)).toBe('done');
    expect(await count(other, contract, 30_000)).toContain('OutOfTimeException');
    const call = { contract_address: contract, fee_limit: 1_000 * TRX, function_selector: 'count(uint256)' };
    const parameter = (30_000).toString(16).padStart(64, '0');
    const info = await other.run(bank, 'triggersmartcontract', { ...call, parameter });
    expect((info['receipt'] as Answer)['result']).toBe('SUCCESS');
    await other.node.control('parameters', { getMaxCpuTimeOfOneTx: 10 });
    const bounded = await other.run(bank, 'triggersmartcontract', { ...call, parameter });
    expect((bounded['receipt'] as Answer)['result']).toBe('OUT_OF_TIME');
  } finally {
    await other.node.stop();
  }
});

interface Parameter {
  readonly key: string;
  readonly value?: number;
}

// TRON: Wallet.getChainParameters at GreatVoyage-v4.8.2 and -v4.8.0. A zero has no value there.
test.each([
  ['getAllowEnergyAdjustment', 'TIP-653', 1, 0],
  ['getAllowStrictMath', 'TIP-697', 1, 0],
  ['getConsensusLogicOptimization', 'DposService.validBlock', 1, 0],
  ['getAllowTvmCancun', 'TIP-650, TIP-651', 1, 0],
  ['getAllowTvmBlob', 'TIP-745', 1, 0],
  ['getAllowTvmSelfdestructRestriction', 'TIP-6780', 1, undefined],
  ['getProposalExpireTime', 'ProposalUtil', 259_200_000, undefined],
  ['getAllowTvmOsaka', 'TIP-7939, TIP-7951', 1, undefined],
  ['getAllowTvmPrague', 'TIP-2935', 1, undefined],
  ['getAllowHardenResourceCalculation', 'TIP-833', 1, undefined],
  ['getAllowHardenExchangeCalculation', 'TIP-836', 1, undefined],
])('%s (%s) is %p at 4.8.2 and %p at 4.8.0', async (key, _source, now, before) => {
  const [latestValue, formerValue] = await Promise.all(
    [latest, former].map(async (chain) => {
      const list = (await chain.post('getchainparameters'))['chainParameter'] as readonly Parameter[];
      const found = list.find((parameter) => parameter.key === key);
      return found === undefined ? undefined : (found.value ?? 0);
    }),
  );
  expect([latestValue, formerValue]).toEqual([now, before]);
});
