// The bytes of our transactions, compared with those of tronweb's builder.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { TronWeb } from 'tronweb';
import { addressBytes } from '../../../src/domain/base58-address.js';
import { addressFromBytes } from '../../../src/platform/chain/address.js';
import { txidOf } from '../../../src/platform/chain/block.js';
import {
  buildTransaction,
  parseTransaction,
  sameAction,
  type ChainAction,
} from '../../../src/platform/chain/signed-transaction.js';
import { sun } from '../../../src/domain/units.js';

const { transactionBuilder: builder } = new TronWeb({ fullHost: 'http://127.0.0.1:1' });

const address = (): string => addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)]));

const terms = fc.record({
  permissionId: fc.integer({ min: 0, max: 9 }),
  reference: fc.record({
    number: fc.integer({ min: 1, max: 2 ** 40 }),
    id: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    timestampMs: fc.constant(0),
  }),
  expiresAtMs: fc.integer({ min: 1, max: 2 ** 43 }),
  timestampMs: fc.integer({ min: 1, max: 2 ** 43 }),
});
const amounts = fc.bigInt({ min: 1n, max: BigInt(Number.MAX_SAFE_INTEGER) });

async function theirs(
  action: ChainAction,
  { permissionId, reference, expiresAtMs, timestampMs }: typeof terms extends fc.Arbitrary<infer T> ? T : never,
) {
  const options = {
    permissionId,
    blockHeader: {
      ref_block_bytes: Buffer.from([(reference.number >>> 8) & 0xff, reference.number & 0xff]).toString('hex'),
      ref_block_hash: reference.id.slice(16, 32),
      expiration: expiresAtMs,
      timestamp: timestampMs,
    },
  };
  if (action.type === 'activate') return builder.createAccount(action.receiver, action.owner, options);
  const amount = Number(action.amountSun);
  return action.type === 'delegate'
    ? builder.delegateResource(amount, action.receiver, action.resource, action.owner, false, undefined, options)
    : builder.undelegateResource(amount, action.receiver, action.resource, action.owner, options);
}

test.each([
  ['delegate', 'ENERGY'],
  ['delegate', 'BANDWIDTH'],
  ['undelegate', 'ENERGY'],
  ['undelegate', 'BANDWIDTH'],
  ['activate', 'ENERGY'],
] as const)('%s of %s: builds the same bytes as tronweb’s builder', async (type, resource) => {
  await fc.assert(
    fc.asyncProperty(terms, amounts, async (given, amountSun) => {
      const parties = { owner: address(), receiver: address() };
      const action: ChainAction = { type, ...parties, amountSun: sun(amountSun), resource };
      const { rawData, txid } = buildTransaction(action, given);
      const built = await theirs(action, given);
      expect(rawData.toString('hex')).toBe(built.raw_data_hex);
      expect(txid).toBe(built.txID);
      expect(txid).toBe(txidOf(rawData));
      expect(parseTransaction(rawData)).toMatchObject({
        action: type === 'activate' ? { type, owner: action.owner, receiver: action.receiver } : action,
        permissionId: given.permissionId,
        expiresAtMs: given.expiresAtMs,
      });
    }),
  );
});

test.each([
  ['for its own owner', { receiver: undefined }],
  ['of zero', { amountSun: sun(0n) }],
  ['of a negative amount', { amountSun: sun(-1n) }],
  ['of more than a JSON integer holds', { amountSun: sun(2n ** 53n) }],
  ['for an invalid receiver address', { receiver: 'T123' }],
])('does not build a delegation %s', (_, change) => {
  const owner = address();
  const terms = { type: 'delegate', owner, receiver: address(), amountSun: sun(1n), resource: 'ENERGY' } as const;
  const action = { ...terms, ...change };
  const reference = { number: 1, id: 'ab'.repeat(32), timestampMs: 0 };
  expect(() =>
    buildTransaction(
      { ...action, receiver: action.receiver ?? owner },
      { permissionId: 2, reference, expiresAtMs: 2, timestampMs: 1 },
    ),
  ).toThrow();
});

test('reads bytes with one flipped bit of their action as another action, or as none', () => {
  const parties = { owner: address(), receiver: address() };
  const action = { type: 'delegate', ...parties, amountSun: sun(7_222_000_001n), resource: 'ENERGY' } as const;
  const reference = { number: 7, id: 'ab'.repeat(32), timestampMs: 0 };
  const { rawData } = buildTransaction(action, {
    permissionId: 2,
    reference,
    expiresAtMs: 2 ** 41,
    timestampMs: 2 ** 41,
  });
  const from = rawData.indexOf(addressBytes(action.owner)!);
  const to = rawData.indexOf(addressBytes(action.receiver)!) + 21;
  expect(to - from).toBeGreaterThan(42);
  for (let bit = from * 8; bit < to * 8; bit += 1) {
    const flipped = Buffer.from(rawData);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    const parsed = parseTransaction(flipped);
    expect(parsed === undefined || !sameAction(parsed.action, action)).toBe(true);
  }
});

test('tells apart delegations of the two resources', () => {
  const parties = { owner: address(), receiver: address() };
  const of = (resource: 'ENERGY' | 'BANDWIDTH'): ChainAction => {
    const action = { type: 'delegate', ...parties, amountSun: sun(1_000_000n), resource } as const;
    const terms = { permissionId: 2, reference: { number: 7, id: 'ab'.repeat(32), timestampMs: 0 } };
    const { rawData } = buildTransaction(action, { ...terms, expiresAtMs: 2 ** 41, timestampMs: 2 ** 41 });
    return parseTransaction(rawData)!.action;
  };
  expect(of('BANDWIDTH')).toMatchObject({ resource: 'BANDWIDTH' });
  expect(sameAction(of('ENERGY'), of('ENERGY'))).toBe(true);
  expect(sameAction(of('ENERGY'), of('BANDWIDTH'))).toBe(false);
});
