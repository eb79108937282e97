/**
 * The public key of a deposit account, from which its addresses are derived (BIP-32 public derivation). The key cannot
 * spend. It is still a secret: together with one private key below it, it reveals all the other private keys.
 */
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';
import { addressOfPoint } from '../../platform/chain/keys.js';
import { StartError } from '../../domain/errors.js';

/** m / 44' / 195' / account'. Below this depth only public derivation is possible. Each account has one purpose. */
const ACCOUNT_DEPTH = 3;
/** BIP-44 chain of addresses handed out to payers, as opposed to change. */
const RECEIVING = 0;

export class AccountKey {
  private readonly receiving: HDKey;

  private constructor(
    /** The number n in m/44'/195'/n'. */
    readonly account: number,
    key: HDKey,
  ) {
    this.receiving = key.deriveChild(RECEIVING);
  }

  /** Reads an extended public key. Throws StartError, whose message never repeats the input. */
  static read(text: string): AccountKey {
    const key = parsed(text);
    if (key === undefined) throw refused('not an extended public key (xpub…)');
    if (key.privateKey !== null) throw refused('an extended private key, which must never be on this machine');
    if (key.depth !== ACCOUNT_DEPTH || key.index < HARDENED_OFFSET) {
      throw refused("not the key of an account at m/44'/195'/n'");
    }
    return new AccountKey(key.index - HARDENED_OFFSET, key);
  }

  /** Returns the address 0/`index` of the account. */
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
    // The library's message may contain the input, which may be a private key.
    return undefined;
  }
}

function refused(what: string): StartError {
  return new StartError('CONFIGURATION', `DEPOSIT_XPUB is ${what}.`);
}
