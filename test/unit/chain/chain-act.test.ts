// The owner of a transaction: read as the chain reads its bytes, in any encoding.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import 'tronweb';
import { addressFromBytes } from '../../../src/platform/chain/address.js';
import { addressOfKey, signersOf, signWithKey } from '../../../src/platform/chain/keys.js';
import { buildTransaction, parseTransaction } from '../../../src/platform/chain/signed-transaction.js';
import { actOf, DELEGATE_TYPE } from '../../../src/platform/chain/transaction-owner.js';
import { sun } from '../../../src/domain/units.js';
import { hostileText, rawDataOf, RUNS, SECOND_OWNERS, wire } from '../../support/chain/hostile-bytes.js';

const URL = 'type.googleapis.com/protocol.DelegateResourceContract';
const account = (): Buffer => Buffer.concat([Buffer.of(0x41), randomBytes(20)]);
const [ours, theirs, receiver] = [account(), account(), account()];
const RUN = { numRuns: RUNS };

const delegation = (...owner: Uint8Array[]): Buffer =>
  Buffer.concat([...owner, wire.number(2, 1n), wire.number(3, 5_000_000n), wire.bytes(4, receiver)]);

/** protobuf's own parser, by the classes that tronweb ships. */
interface Generated {
  readonly DelegateResourceContract: {
    deserializeBinary: (bytes: Uint8Array) => {
      getOwnerAddress_asU8: () => Uint8Array;
      getReceiverAddress_asU8: () => Uint8Array;
      getBalance: () => number;
      getResource: () => number;
      getLock: () => boolean;
    };
  };
}
const { DelegateResourceContract } = (globalThis as unknown as { readonly TronWebProto: Generated }).TronWebProto;

describe('a repeated owner field', () => {
  it.each(SECOND_OWNERS)('with %s: the last one counts', (_what, second) => {
    const value = delegation(wire.bytes(1, ours), second(theirs));
    const raw = rawDataOf(DELEGATE_TYPE, URL, value);
    expect(actOf(raw)?.owner).toBe(addressFromBytes(theirs));
    expect(parseTransaction(raw)).toBeUndefined();
  });

  it('also counts last in a parameter of its own, because messages are merged', () => {
    const part = (value: Uint8Array) => wire.bytes(2, value);
    const any = (...parts: Buffer[]) => Buffer.concat(parts);
    const url = wire.bytes(1, Buffer.from(URL));
    const value = wire.bytes(2, delegation(wire.bytes(1, theirs)));
    const first = wire.bytes(2, delegation(wire.bytes(1, ours)));
    const contract = any(wire.number(1, 57n), part(any(url, first)), part(value));
    expect(actOf(wire.bytes(11, contract))?.owner).toBe(addressFromBytes(theirs));
  });

  it('is ignored in another wire form', () => {
    const value = delegation(wire.bytes(1, ours), wire.number(1, 7n), wire.tag(1, 5), Buffer.alloc(4));
    expect(actOf(rawDataOf(DELEGATE_TYPE, URL, value))?.owner).toBe(addressFromBytes(ours));
  });
});

it('the type follows the last slash, whatever an outsider puts before it', () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      const url = Buffer.from(`${text}/protocol.DelegateResourceContract`);
      expect(actOf(rawDataOf(DELEGATE_TYPE, url, delegation(wire.bytes(1, ours))))?.amountSun).toBe(5_000_000n);
    }),
    RUN,
  );
});

describe('bytes that the chain refuses belong to no wallet', () => {
  const value = delegation(wire.bytes(1, ours));
  const contract = rawDataOf(DELEGATE_TYPE, URL, value);
  const deep = (depth: number): Buffer[] => [
    ...Array.from({ length: depth }, () => wire.tag(9, 3)),
    ...Array.from({ length: depth }, () => wire.tag(9, 4)),
  ];
  const cases: readonly (readonly [string, Buffer])[] = [
    ['two contracts', Buffer.concat([contract, contract])],
    ['none', Buffer.alloc(0)],
    ['another type in the URL', rawDataOf(DELEGATE_TYPE, `x/protocol.TransferContract`, value)],
    ['a URL that is no UTF-8', rawDataOf(DELEGATE_TYPE, Buffer.concat([Buffer.of(0xff), Buffer.from(URL)]), value)],
    ['a field 0', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.number(0, 1n)]))],
    ['a field 0 in a group', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.group(9, wire.number(0, 1n))]))],
    ['a group without end', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.tag(9, 3)]))],
    ['an end without group', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.tag(9, 4)]))],
    ['groups without end of depth', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, ...deep(20_000)]))],
    ['a wire form 6', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.tag(9, 6)]))],
    ['a tag of eleven bytes', rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.number(9, 1n, 1n << 70n)]))],
    [
      'a number of eleven bytes',
      rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([value, wire.tag(9, 0), wire.varint(1n << 71n)])),
    ],
    ['an end in the middle', contract.subarray(0, -1)],
  ];
  it.each(cases)('%s', (_what, raw) => {
    expect(actOf(raw)).toBeUndefined();
    expect(parseTransaction(raw)).toBeUndefined();
  });

  it('skips groups as deep as the chain allows', () => {
    expect(actOf(rawDataOf(DELEGATE_TYPE, URL, Buffer.concat([...deep(100), value])))).toBeDefined();
  });
});

/** Parts above 32 bits, which the chain's parser drops from tags and lengths. */
const above32 = fc.constantFrom(0n, 1n << 32n, 1n << 35n, 5n << 40n, 1n << 63n, 1n << 68n);
const unknown = fc.constantFrom(7, 8, 19, 100, 2 ** 29 - 1);
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const small = fc.uint8Array({ maxLength: 8 });

const { noise } = fc.letrec<{ noise: Buffer; group: Buffer }>((tie) => ({
  noise: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(unknown, int64, above32).map(([number, value, added]) => wire.number(number, value, added)),
    fc
      .tuple(unknown, small, above32, above32)
      .map(([number, content, added, longer]) => wire.bytes(number, content, added, longer)),
    unknown.map((number) => Buffer.concat([wire.tag(number, 1), Buffer.alloc(8, 0xff)])),
    unknown.map((number) => Buffer.concat([wire.tag(number, 5), Buffer.alloc(4, 0x0a)])),
    tie('group'),
  ),
  group: fc
    .tuple(unknown, fc.array(tie('noise'), { maxLength: 3 }))
    .map(([number, inside]) => wire.group(number, ...inside)),
}));

const address = fc.oneof(
  fc.constantFrom(ours, theirs, receiver),
  small.map((bytes) => Buffer.from(bytes)),
);
const known = fc.oneof(
  fc
    .tuple(fc.constantFrom(1, 4), address, above32, above32)
    .map(([number, bytes, added, longer]) => wire.bytes(number, bytes, added, longer)),
  fc.tuple(fc.nat(2 ** 31 - 1), above32).map(([value, added]) => wire.number(2, BigInt(value), added)),
  fc
    .tuple(fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n }), above32)
    .map(([value, added]) => wire.number(3, value, added)),
  fc.tuple(fc.nat(2), above32).map(([value, added]) => wire.number(5, BigInt(value), added)),
);
const messages = fc.array(fc.oneof(known, noise), { maxLength: 12 }).map((parts) => Buffer.concat(parts));

const textOf = (bytes: Uint8Array): string | undefined =>
  bytes.length === 21 && bytes[0] === 0x41 ? addressFromBytes(bytes) : undefined;

it('reads inserted, repeated, overlong and unordered fields as the library does', () => {
  fc.assert(
    fc.property(messages, fc.array(noise, { maxLength: 3 }), (value, around) => {
      const generated = DelegateResourceContract.deserializeBinary(value);
      const act = actOf(rawDataOf(DELEGATE_TYPE, URL, value, ...around));
      const owner = textOf(generated.getOwnerAddress_asU8());
      if (owner === undefined) expect(act).toBeUndefined();
      else
        expect(act).toEqual({
          owner,
          type: DELEGATE_TYPE,
          permissionId: 0,
          receiver: textOf(generated.getReceiverAddress_asU8()),
          amountSun: BigInt(generated.getBalance()),
          resource: (['BANDWIDTH', 'ENERGY'] as const)[generated.getResource()],
          isLocked: generated.getLock(),
        });
    }),
    RUN,
  );
});

it('reads any bytes as an act or as none, and never throws', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(() => actOf(bytes)).not.toThrow();
      expect(parseTransaction(Buffer.from(bytes))).toBeUndefined();
    }),
    RUN,
  );
});

const reference = { number: 7, id: 'ab'.repeat(32), timestampMs: 0 };
const action = {
  type: 'delegate',
  owner: addressFromBytes(ours),
  receiver: addressFromBytes(receiver),
  amountSun: sun(7_222_000_001n),
  resource: 'ENERGY',
} as const;
const { rawData } = buildTransaction(action, {
  permissionId: 2,
  reference,
  expiresAtMs: 2 ** 41,
  timestampMs: 2 ** 41,
});

it('reads changed bytes of ours as the chain reads them, or as none of ours', () => {
  const change = fc.tuple(
    fc.nat(rawData.length),
    fc.nat(3),
    fc.oneof(
      noise,
      small.map((bytes) => Buffer.from(bytes)),
    ),
  );
  fc.assert(
    fc.property(change, ([at, dropped, put]) => {
      const changed = Buffer.concat([rawData.subarray(0, at), put, rawData.subarray(at + dropped)]);
      const parsed = parseTransaction(changed);
      if (parsed === undefined) return;
      const act = actOf(changed);
      expect(act).toMatchObject({ owner: parsed.action.owner, receiver: parsed.action.receiver });
      expect(act?.permissionId).toBe(parsed.permissionId);
      if (parsed.action.type !== 'activate') {
        const { amountSun, resource } = parsed.action;
        expect(act).toMatchObject({ amountSun, resource, isLocked: false });
      }
    }),
    RUN,
  );
});

describe('the strict reading accepts only bytes that we would write', () => {
  const contractAt = rawData.indexOf(0x5a);
  const cases: readonly (readonly [string, Buffer])[] = [
    ['an unknown field', Buffer.concat([rawData, wire.number(100, 1n)])],
    ['a memo', Buffer.concat([rawData, wire.bytes(10, Buffer.from('hello'))])],
    ['a zero that is written', Buffer.concat([rawData, wire.number(18, 0n)])],
    ['another order', Buffer.concat([rawData.subarray(contractAt), rawData.subarray(0, contractAt)])],
    ['a tag longer than needed', Buffer.concat([Buffer.of(0x8a, 0x00), rawData.subarray(1)])],
  ];
  it.each(cases)('%s', (_what, bytes) => {
    expect(actOf(bytes)?.owner).toBe(action.owner);
    expect(parseTransaction(bytes)).toBeUndefined();
  });
});

describe('the signers of a transaction', () => {
  const keys = [randomBytes(32), randomBytes(32)];
  const signatures = keys.map((key) => signWithKey(rawData, key));
  const signers = new Set(keys.map((key) => addressOfKey(key)));
  const with64 = (signature: Buffer, last: number): Buffer =>
    Buffer.concat([signature.subarray(0, 64), Buffer.of(last)]);

  it('are the owners of all its signatures', () => {
    expect(signersOf(rawData, signatures)).toEqual(signers);
    expect(signersOf(Buffer.from('something else'), signatures)).not.toEqual(signers);
  });

  it('are recovered from every form that the chain accepts', () => {
    const [signature] = signatures;
    const forms = [0, 27, 31].map((base) => with64(signature!, base + (signature![64]! - 27)));
    forms.push(Buffer.concat([signature!, Buffer.from('more')]));
    for (const form of forms) expect(signersOf(rawData, [form])).toEqual(new Set([addressOfKey(keys[0]!)]));
  });

  it('include no one for bytes that are no signature', () => {
    const none = [Buffer.alloc(0), Buffer.alloc(64, 1), Buffer.alloc(65), with64(signatures[0]!, 35)];
    expect(signersOf(rawData, none)).toEqual(new Set());
  });
});
