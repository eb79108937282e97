/**
 * The public key of a deposit account and the addresses under it (BIP-32: public derivation). Holds nothing that can
 * spend; but with this key, one private key under it gives all the others, so that it is a secret too.
 */
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';
import { addressOfPoint } from '../chain/keys.js';
import { StartError } from '../domain/errors.js';

/** m / 44' / 195' / account': below it only public derivation is possible, and one account is one purpose. */
const ACCOUNT_DEPTH = 3;
/** BIP-44: addresses handed out to payers, as opposed to change. */
const RECEIVING = 0;

export class AccountKey {
  private readonly receiving: HDKey;

  private constructor(
    /** Its number n in m/44'/195'/n'. */
    readonly account: number,
    key: HDKey,
  ) {
    this.receiving = key.deriveChild(RECEIVING);
  }

  /** Reads an extended public key. Throws StartError, which never repeats what was given. */
  static read(text: string): AccountKey {
    const key = parsed(text);
    if (key === undefined) throw refused('no extended public key (xpub…)');
    if (key.privateKey !== null) throw refused('an extended private key: it must never be on this machine');
    if (key.depth !== ACCOUNT_DEPTH || key.index < HARDENED_OFFSET) {
      throw refused("no key of an account: m/44'/195'/n' is wanted");
    }
    return new AccountKey(key.index - HARDENED_OFFSET, key);
  }

  /** The address 0/`index` of the account. */
  addressAt(index: number): string {
    const { publicKey } = this.receiving.deriveChild(index);
    if (publicKey === null) throw new TypeError('a derived key has a public key');
    return addressOfPoint(publicKey);
  }
}

function parsed(text: string): HDKey | undefined {
  try {
    return HDKey.fromExtendedKey(text);
  } catch {
    // The library's message may hold what was given.
    return undefined;
  }
}

function refused(what: string): StartError {
  return new StartError('CONFIGURATION', `DEPOSIT_XPUB is ${what}.`);
}
