// Deposit addresses derived from the public key equal those that wallets derive from the seed words.
import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { TronWeb } from 'tronweb';
import { AccountKey } from '../../../src/modules/deposits/account-key.js';

/** Public seed words: BIP-39's own example, and one that tronweb made. */
const WORDS = [
  'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about',
  'legal winner thank year wave sausage worth useful legal winner thank yellow',
];
/** BIP-39, without a passphrase. */
const rootOf = (words: string): HDKey => HDKey.fromMasterSeed(pbkdf2Sync(words, 'mnemonic', 2048, 64, 'sha512'));
const accountOf = (words: string, account: number): HDKey => rootOf(words).derive(`m/44'/195'/${account.toString()}'`);

describe.each(WORDS)('the mnemonic %s', (words) => {
  it.each([0, 7])('derives at account %i the same addresses as tronweb does from the private key', (account) => {
    const key = AccountKey.read(accountOf(words, account).publicExtendedKey);
    expect(key.account).toBe(account);
    for (const index of [0, 1, 2, 999, 2 ** 31 - 1]) {
      const path = `m/44'/195'/${account.toString()}'/0/${index.toString()}`;
      expect(key.addressAt(index)).toBe(TronWeb.fromMnemonic(words, path).address);
    }
  });
});

it('rejects a private key without repeating it', () => {
  const account = accountOf(WORDS[0]!, 0);
  expect(() => AccountKey.read(account.privateExtendedKey)).toThrow(/must never be on this machine/);
  expect(() => AccountKey.read(account.privateExtendedKey)).not.toThrow(account.privateExtendedKey);
});

it.each([
  ['the master key', (root: HDKey) => root.publicExtendedKey],
  ['a key at the level of the purpose', (root: HDKey) => root.derive("m/44'").publicExtendedKey],
  ['a key under an account', (root: HDKey) => root.derive("m/44'/195'/0'/0").publicExtendedKey],
  ['an account that is not hardened', (root: HDKey) => root.derive("m/44'/195'/0").publicExtendedKey],
  ['a key with a wrong letter', (root: HDKey) => root.derive("m/44'/195'/0'").publicExtendedKey.replace(/.$/, '1')],
  ['nothing', () => ''],
])('rejects %s', (_what, given) => {
  const root = rootOf(WORDS[0]!);
  expect(() => AccountKey.read(given(root))).toThrow(/^DEPOSIT_XPUB is /);
});
