// Secrets sealed to a public key: only the holder of the purpose's key can open them, not the sealing process.
import { randomBytes } from 'node:crypto';
import { BoxOpener, BoxSealer, isBox } from '../../../src/platform/support/sealed-box.js';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';

const key = randomBytes(32);
const opener = new BoxOpener(key);
const sealed = new BoxSealer(opener.publicKey).seal(Buffer.from('secret'), 'id');

it('opens boxes sealed to its public half, which are never alike', () => {
  expect(opener.open(sealed, 'id')?.toString()).toBe('secret');
  expect(isBox(sealed)).toBe(true);
  expect(new BoxSealer(opener.publicKey).seal(Buffer.from('secret'), 'id')).not.toEqual(sealed);
});

it('opens nothing that was altered at any byte, for another context or under another key', () => {
  for (let at = 0; at < sealed.length; at += 1) {
    const altered = Buffer.from(sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    expect(opener.open(altered, 'id')).toBeUndefined();
  }
  expect(opener.open(sealed, 'other')).toBeUndefined();
  expect(new BoxOpener(randomBytes(32)).open(sealed, 'id')).toBeUndefined();
  for (let length = 0; length < sealed.length; length += 1) {
    expect(opener.open(sealed.subarray(0, length), 'id')).toBeUndefined();
  }
});

it('rejects an ephemeral key of small order, which would share one secret with everyone', () => {
  const forged = Buffer.from(sealed);
  forged.fill(0, 5, 37);
  expect(opener.open(forged, 'id')).toBeUndefined();
});

it('always derives the same pair from a key, and not the key itself', () => {
  expect(new BoxOpener(key).publicKey).toEqual(opener.publicKey);
  expect(new BoxOpener(randomBytes(32)).publicKey).not.toEqual(opener.publicKey);
  expect(opener.publicKey).toHaveLength(32);
  expect(opener.publicKey).not.toEqual(key);
});

it('a sealer opens both forms, also under the previous key, and names what to reseal', () => {
  const [older, newer] = [randomBytes(32), randomBytes(32)].map((master) => sealKey(master, 'api-key'));
  const before = new Sealer({ current: older! });
  const after = new Sealer({ current: newer!, previous: older });
  const old = new BoxSealer(before.publicKey).seal(Buffer.from('a'), 'id');
  const fresh = new BoxSealer(after.publicKey).seal(Buffer.from('b'), 'id');
  expect([old, fresh, after.seal(Buffer.from('c'), 'id')].map((each) => after.open(each, 'id')?.toString())).toEqual([
    'a',
    'b',
    'c',
  ]);
  expect([old, fresh].map((each) => after.isCurrent(each))).toEqual([false, true]);
  expect(before.open(fresh, 'id')).toBeUndefined();
  expect([before, after].map((each) => each.isOurs(before.publicKey))).toEqual([true, true]);
  expect(before.isOurs(after.publicKey)).toBe(false);
});
