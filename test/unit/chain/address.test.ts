import fc from 'fast-check';
import { addressBytes, isAddress } from '../../../src/domain/base58-address.js';
import {
  addressFault,
  addressFromBytes,
  addressFromHex,
  addressSlip,
  addressToHex,
} from '../../../src/platform/chain/address.js';
import { textFault } from '../../../src/platform/http/body/member-rules.js';
import { addressArg } from '../../../src/modules/operator/arguments.js';
import { base58Check, hexOfBase58 } from '../../../packages/devnet/src/address.js';

const payloads = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => Buffer.concat([Buffer.of(0x41), bytes]));
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

describe('a TRON address', () => {
  test('agrees with another implementation in both directions', () => {
    fc.assert(
      fc.property(payloads, (payload) => {
        const address = addressFromBytes(payload);
        expect(address).toBe(base58Check(payload));
        expect(addressToHex(address)).toBe(hexOfBase58(address));
        expect(addressFromHex(payload.toString('hex'))).toBe(address);
        expect(addressBytes(address)?.equals(payload)).toBe(true);
      }),
    );
  });

  test('is invalid after a change of any one character', () => {
    fc.assert(
      fc.property(payloads, fc.nat(33), fc.integer({ min: 1, max: 57 }), (payload, at, step) => {
        const address = addressFromBytes(payload);
        const other = ALPHABET[(ALPHABET.indexOf(address[at]!) + step) % 58]!;
        expect(isAddress(address.slice(0, at) + other + address.slice(at + 1))).toBe(false);
      }),
    );
  });

  test.each([
    ['empty', ''],
    ['hex', `41${'00'.repeat(20)}`],
    ['too long', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrFF'],
    ['too short', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyr'],
    ['with a character outside the alphabet', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyr0'],
    ['with a space', ' F7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF'],
  ])('is invalid: %s', (_, text) => {
    expect(isAddress(text)).toBe(false);
  });

  test('cannot be encoded for another network or length', () => {
    expect(() => addressFromBytes(Buffer.alloc(21))).toThrow(TypeError);
    expect(() => addressFromBytes(Buffer.concat([Buffer.of(0x41), Buffer.alloc(19)]))).toThrow(TypeError);
    expect(() => addressToHex('T123')).toThrow(TypeError);
  });
});

describe('a text that is nearly an address', () => {
  const address = addressFromHex(`41${'ab'.repeat(20)}`);
  it.each([
    [`${address} `, /no space/],
    [`\n${address}`, /no space/],
    [`tron:${address}`, /without "tron:"/],
    [`TRON:${address}?amount=1`, /without "tron:"/],
    [`41${'ab'.repeat(20)}`, /not in hex/],
    [`0x${'AB'.repeat(20)}`, /not in hex/],
    [`0x41${'ab'.repeat(20)}`, /not in hex/],
    [address.toLowerCase(), /upper-case letters/],
    [`${address.slice(0, 10)}\u200b${address.slice(10)}`, /invisible/],
  ])('rejects %j with the kind of mistake, in a body and in a command', (text, words) => {
    expect(addressSlip(text)).toMatch(words);
    expect(textFault(text, { maxLength: 34, slip: addressSlip, check: addressFault })).toMatch(words);
    expect(() => addressArg(text)).toThrow(words);
  });

  it.each([address.slice(0, -1), `${address}x`, 'T'.repeat(34), '', 'a'.repeat(600)])(
    'finds no such mistake in %j',
    (text) => {
      expect([addressSlip(text), addressFault(text)]).toEqual([undefined, 'must be a TRON address (T…, base58check)']);
    },
  );
});
