// The transfers of a transaction: read from its bytes and its receipt, entry by entry, beside any foreign content.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { addressFromBytes, addressFromHex } from '../../../src/platform/chain/address.js';
import type { JsonObject } from '../../../src/platform/chain/json.js';
import { transfersOf } from '../../../src/platform/chain/transfers.js';
import { rawDataOf, RUNS, wire } from '../../support/chain/hostile-bytes.js';

const account = (filler: number): Buffer => Buffer.concat([Buffer.of(0x41), Buffer.alloc(20, filler)]);
const [ours, theirs, token, other] = [account(1), account(2), account(3), account(4)];
const hex = (bytes: Buffer): string => bytes.toString('hex');
const [OURS, THEIRS, TOKEN, OTHER] = [ours, theirs, token, other].map((bytes) => addressFromBytes(bytes)) as [
  string,
  string,
  string,
  string,
];

const PREFIX = 'type.googleapis.com/protocol.';
const payment = (amount: bigint): Buffer =>
  rawDataOf(
    1,
    `${PREFIX}TransferContract`,
    Buffer.concat([wire.bytes(1, theirs), wire.bytes(2, ours), wire.number(3, amount)]),
  );
const call = rawDataOf(
  31,
  `${PREFIX}TriggerSmartContract`,
  Buffer.concat([wire.bytes(1, theirs), wire.bytes(2, token)]),
);
const deployment = rawDataOf(30, `${PREFIX}CreateSmartContract`, wire.bytes(1, theirs));
const delegation = rawDataOf(57, `${PREFIX}DelegateResourceContract`, wire.bytes(1, theirs));

const EVENT = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const word = (value: bigint): string => value.toString(16).padStart(64, '0');
const topic = (address: Buffer): string => hex(address).slice(2).padStart(64, '0');
const log = (value: bigint, by: Buffer = token): JsonObject => ({
  address: hex(by).slice(2),
  topics: [EVENT, topic(theirs), topic(ours)],
  data: word(value),
});
const NOTE = { call: '63616c6c', create: '637265617465', suicide: '73756963696465' };
const internal = (value: unknown, more: JsonObject = {}): JsonObject => ({
  hash: 'ab'.repeat(32),
  caller_address: hex(token),
  transferTo_address: hex(ours),
  callValueInfo: [{ callValue: value }],
  note: NOTE.call,
  ...more,
});
const success = (more: JsonObject): JsonObject => ({ receipt: { result: 'SUCCESS' }, ...more });
const read = (info: JsonObject, raw: Buffer = call, result: unknown = 'SUCCESS') =>
  transfersOf(raw, result, info).transfers;

describe('a native transfer', () => {
  it('is exactly what its own bytes say', () => {
    expect(read({}, payment(2n ** 63n - 1n))).toEqual([
      { kind: 'native', position: 0, contract: undefined, from: THEIRS, to: OURS, amount: 2n ** 63n - 1n },
    ]);
  });

  it.each([
    ['that its block reports as failed', 5n, 'OUT_OF_ENERGY', {}],
    ['without a result in its block', 5n, undefined, {}],
    ['that its receipt reports as failed', 5n, 'SUCCESS', { result: 'FAILED' }],
    ['of zero', 0n, 'SUCCESS', {}],
    ['of a negative amount', -5n, 'SUCCESS', {}],
  ])('%s moves nothing', (_what, amount, result, info) => {
    expect(transfersOf(payment(amount), result, info).transfers).toEqual([]);
  });

  it('is never read from a contract of another type, whatever it contains', () => {
    const value = Buffer.concat([wire.bytes(1, theirs), wire.bytes(2, ours), wire.number(3, 5n)]);
    expect(read({}, rawDataOf(2, `${PREFIX}TransferAssetContract`, value))).toEqual([]);
    expect(read({}, rawDataOf(1, `${PREFIX}TransferAssetContract`, value))).toEqual([]);
  });
});

describe('events of tokens', () => {
  it('are distinguished by their place in the receipt, even to one address, and name their contract', () => {
    const odd = { address: 'nobody', topics: 'none' };
    expect(read(success({ log: [odd, log(5n), log(5n), log(7n, other)] }))).toEqual([
      { kind: 'log', position: 1, contract: TOKEN, from: THEIRS, to: OURS, amount: 5n },
      { kind: 'log', position: 2, contract: TOKEN, from: THEIRS, to: OURS, amount: 5n },
      { kind: 'log', position: 3, contract: OTHER, from: THEIRS, to: OURS, amount: 7n },
    ]);
  });

  it('are read to the last digit of 256 bits', () => {
    expect(read(success({ log: [log(2n ** 256n - 1n)] }))[0]?.amount).toBe(2n ** 256n - 1n);
  });

  it.each([
    ['that moves nothing', log(0n)],
    ['of another kind', { ...log(5n), topics: ['8c5be1e5'.padEnd(64, '0'), topic(theirs), topic(ours)] }],
    [
      'whose value is indexed, as that of a collectible is',
      { ...log(5n), topics: [EVENT, topic(theirs), topic(ours), word(5n)] },
    ],
    ['with extra bytes before the address', { ...log(5n), topics: [EVENT, topic(theirs), `1${topic(ours).slice(1)}`] }],
    ['with less than a word', { ...log(5n), data: '05' }],
    ['with more than a word', { ...log(5n), data: `${word(5n)}00` }],
    ['without data', { ...log(5n), data: undefined }],
    ['without a contract', { ...log(5n), address: '' }],
  ])('an event %s is no transfer', (_what, entry) => {
    expect(read(success({ log: [entry] }))).toEqual([]);
  });

  it('are also TRON’s if the address has its prefix', () => {
    const entry = { ...log(5n), topics: [EVENT, hex(theirs).padStart(64, '0'), hex(ours).padStart(64, '0')] };
    expect(read(success({ log: [entry] }))).toMatchObject([{ from: THEIRS, to: OURS }]);
  });
});

describe('the fee of a token', () => {
  const ordered = (to: Buffer, amount: bigint, selector = 'a9059cbb'): Buffer =>
    rawDataOf(
      31,
      `${PREFIX}TriggerSmartContract`,
      Buffer.concat([
        wire.bytes(1, theirs),
        wire.bytes(2, token),
        wire.bytes(4, Buffer.from(selector + topic(to) + word(amount), 'hex')),
      ]),
    );
  const sent = (to: Buffer, value: bigint, more: JsonObject = {}): JsonObject => ({
    ...log(value),
    topics: [EVENT, topic(theirs), topic(to)],
    ...more,
  });
  const fees = (raw: Buffer, ...logs: JsonObject[]): string[] =>
    read(success({ log: logs }), raw).flatMap(({ isTokenFee, to }) => (isTokenFee === true ? [to] : []));

  it('is the amount that a transfer ordered by its sender lacks on arrival, whichever event comes first', () => {
    const [arrived, kept] = [sent(ours, 98n), sent(other, 2n)];
    expect(fees(ordered(ours, 100n), arrived, kept)).toEqual([OTHER]);
    expect(fees(ordered(ours, 100n), kept, arrived)).toEqual([OTHER]);
    expect(fees(ordered(ours, 100n), arrived, { topics: [] }, log(1n), kept)).toEqual([]);
    expect(
      fees(ordered(ours, 100n), arrived, sent(other, 3n, { topics: [EVENT, topic(ours), topic(other)] }), kept),
    ).toEqual([OTHER]);
  });

  it.each([
    ['of a call that is not a transfer', ordered(ours, 100n, '23b872dd'), [sent(ours, 98n), sent(other, 2n)]],
    ['of a call without arguments', call, [sent(ours, 98n), sent(other, 2n)]],
    ['that exceeds the missing amount', ordered(ours, 100n), [sent(ours, 98n), sent(other, 3n)]],
    ['that is below the missing amount', ordered(ours, 100n), [sent(ours, 98n), sent(other, 1n)]],
    ['in two parts', ordered(ours, 100n), [sent(ours, 98n), sent(other, 1n), sent(token, 1n)]],
    ['of another token', ordered(ours, 100n), [sent(ours, 98n), sent(other, 2n, { address: hex(other).slice(2) })]],
    ['of which no part arrived', ordered(ours, 100n), [sent(other, 100n)]],
    ['of a transfer to another receiver', ordered(token, 100n), [sent(ours, 98n), sent(other, 2n)]],
  ])('is none %s', (_what, raw, logs) => {
    expect(fees(raw, ...logs)).toEqual([]);
  });
});

describe('TRX that a contract sends', () => {
  it.each(['call', 'create', 'suicide'] as const)('by %s is a transfer, at its place', (note) => {
    const before = internal(undefined, { callValueInfo: [{}] });
    expect(read(success({ internal_transactions: [before, internal(9, { note: NOTE[note] })] }))).toEqual([
      { kind: 'internal', position: 1, contract: undefined, from: TOKEN, to: OURS, amount: 9n },
    ]);
  });

  it('has the same place even if a node omits earlier stake entries', () => {
    const stake = internal(7, { note: Buffer.from('freezeBalanceV2ForEnergy').toString('hex') });
    const calls = [internal(8, { rejected: true }), internal(9)];
    const [rejected, paid] = calls;
    const all = read(success({ internal_transactions: [stake, rejected, stake, paid] }));
    expect(all).toEqual([expect.objectContaining({ position: 1, amount: 9n })]);
    expect(read(success({ internal_transactions: calls }))).toEqual(all);
  });

  it('is also read in a deployment', () => {
    expect(read(success({ internal_transactions: [internal(9)] }), deployment)).toHaveLength(1);
  });

  it.each([
    ['rejected', { rejected: true }],
    ['rejected in other words', { rejected: 'true' }],
    ['that delegates energy and shows a value', { note: Buffer.from('delegateResourceOfEnergy').toString('hex') }],
    ['that undelegates', { note: Buffer.from('unDelegateResourceOfEnergy').toString('hex') }],
    ['without a note', { note: undefined }],
    ['of a TRC10 token', { callValueInfo: [{ callValue: 9, tokenId: '1000001' }] }],
    ['with two values', { callValueInfo: [{ callValue: 9 }, { callValue: 9 }] }],
    ['of zero', { callValueInfo: [{}] }],
    ['of a negative amount', { callValueInfo: [{ callValue: -9 }] }],
    ['without a value', { callValueInfo: undefined }],
    ['to nobody', { transferTo_address: '' }],
  ])('an entry %s is no transfer', (_what, more) => {
    expect(read(success({ internal_transactions: [internal(9, more)] }))).toEqual([]);
  });

  it('is a transfer beside a TRC10 token in the same entry', () => {
    const callValueInfo = [{ callValue: 9 }, { callValue: 5, tokenId: '1000001' }];
    expect(read(success({ internal_transactions: [internal(9, { callValueInfo })] }))).toMatchObject([{ amount: 9n }]);
  });

  it('is reported as inexact if a number was rounded on its way', () => {
    const info = success({ internal_transactions: [internal(2 ** 53 + 2), internal(9)] });
    expect(transfersOf(call, 'SUCCESS', info)).toMatchObject({ isInexact: true, transfers: [{ position: 1 }] });
    const exact = success({ internal_transactions: [internal(2n ** 53n + 1n)] });
    expect(transfersOf(call, 'SUCCESS', exact)).toMatchObject({
      isInexact: false,
      transfers: [{ amount: 2n ** 53n + 1n }],
    });
  });
});

describe.each([
  ['that its block reports as reverted', 'REVERT', success({})],
  ['that its receipt reports as reverted', 'SUCCESS', { receipt: { result: 'REVERT' } }],
  ['that its receipt reports as failed', 'SUCCESS', { ...success({}), result: 'FAILED' }],
  ['without a receipt', 'SUCCESS', {}],
])('a call %s', (_what, result, info) => {
  it('moves nothing, whatever events and internal transactions it shows', () => {
    const shown = { ...info, log: [log(5n)], internal_transactions: [internal(9)] };
    expect(read(shown, call, result)).toEqual([]);
  });
});

it('a transaction without a contract call moves nothing by its receipt', () => {
  expect(read(success({ log: [log(5n)], internal_transactions: [internal(9)] }), delegation)).toEqual([]);
});

it('reads any receipt without failing', () => {
  const entry = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constant(log(5n)),
    fc.constant(internal(9)),
    fc.record({ topics: fc.jsonValue(), address: fc.jsonValue(), data: fc.jsonValue() }),
    fc.record({
      note: fc.constant(NOTE.call),
      callValueInfo: fc.jsonValue(),
      caller_address: fc.constant(hex(ours)),
      transferTo_address: fc.string(),
    }),
  );
  const list = fc.oneof(fc.array(entry, { maxLength: 4 }), fc.jsonValue());
  fc.assert(
    fc.property(list, list, (logs, internals) => {
      const { transfers } = transfersOf(call, 'SUCCESS', success({ log: logs, internal_transactions: internals }));
      for (const { amount } of transfers) expect(amount).toBeGreaterThan(0n);
    }),
    { numRuns: RUNS },
  );
});

it('reads a token transfer from the answers of a real node', () => {
  const file = fileURLToPath(new URL('../../tron-node/recorded.json', import.meta.url));
  interface Step {
    readonly step: string;
    readonly request: JsonObject | null;
    readonly response: JsonObject;
  }
  const { steps } = JSON.parse(readFileSync(file, 'utf8')) as { readonly steps: readonly Step[] };
  const info = steps.find(({ step }) => step === 'token to bob / receipt')!.response;
  const sent = steps.find(({ request }) => request?.['txID'] === info['id'])!.request!;
  expect(read(info, Buffer.from(sent['raw_data_hex'] as string, 'hex'))).toEqual([
    {
      kind: 'log',
      position: 0,
      contract: addressFromHex('41c56352520cd64d86ea5984d2957ab012021d3629'),
      from: addressFromHex('4138664bafb5e610a60e8f8be09a888cd0221c73d7'),
      to: addressFromHex('41681e3bac3840f7840162717c978567c84b38e93c'),
      amount: 1_000_000n,
    },
  ]);
});
