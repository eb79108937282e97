/**
 * Seals secrets at rest and quotes in flight: AES-256-GCM under keys derived from MASTER_KEY, one per purpose. A
 * purpose may have two keys, so that rotating the master key invalidates nothing: the newer one seals, both open. Both
 * also open data sealed to their public halves (sealed-box.ts).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from 'node:crypto';
import { BoxOpener, isBox } from './sealed-box.js';

export const SEAL_PURPOSES = ['api-key', 'pool-key', 'quote', 'webhook-secret', 'second-factor'] as const;
export type SealPurpose = (typeof SEAL_PURPOSES)[number];

/** Secrets that a console creates but cannot open: sealed to the public half of the purpose's key. */
export const BOX_PURPOSES = ['api-key', 'webhook-secret'] as const satisfies readonly SealPurpose[];
export type BoxPurpose = (typeof BOX_PURPOSES)[number];

/** Anything that can seal. A Sealer can also open. */
export interface Seals {
  seal(plain: Buffer, context: string): Buffer;
}

/** The keys of one purpose, 32 bytes each. */
export interface SealKeys {
  readonly current: Buffer;
  readonly previous?: Buffer | undefined;
}

/** Derives a purpose's key from a master key. The result reveals neither the master key nor another purpose's key. */
export function sealKey(masterKey: Buffer, purpose: SealPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), `tron-energy-rental/${purpose}/v1`, 32));
}

const FORMAT = 1;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const OVERHEAD = 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES;

/**
 * Random bytes are cheap only in bulk. Drawing many nonces together saves a quote a third of its sealing time
 * (measured).
 */
const drawn = Buffer.alloc(NONCE_BYTES * 256);
let drawnAt = drawn.length;

/** Returns a nonce that was never used before; valid until the next call. */
function nextNonce(): Buffer {
  if (drawnAt === drawn.length) {
    randomFillSync(drawn);
    drawnAt = 0;
  }
  drawnAt += NONCE_BYTES;
  return drawn.subarray(drawnAt - NONCE_BYTES, drawnAt);
}

interface NamedKey {
  readonly id: Buffer;
  /** Since Node 24.18 a cipher takes this several times faster than the same bytes. */
  readonly key: KeyObject;
  readonly box: BoxOpener;
}

function named(key: Buffer): NamedKey {
  const id = createHash('sha256').update('key-id').update(key).digest().subarray(0, KEY_ID_BYTES);
  return { id, key: createSecretKey(key), box: new BoxOpener(key) };
}

/** Seals and opens bytes for one purpose. `context` is authenticated but not stored: opening needs the same one. */
export class Sealer implements Seals {
  private readonly keys: readonly [NamedKey, ...NamedKey[]];

  constructor({ current, previous }: SealKeys) {
    this.keys = previous === undefined ? [named(current)] : [named(current), named(previous)];
  }

  /** The public key for sealing data that this sealer opens. */
  get publicKey(): Buffer {
    return this.keys[0].box.publicKey;
  }

  /** Returns true if it is the public half of a held key. */
  isOurs(publicKey: Buffer): boolean {
    return this.keys.some(({ box }) => box.publicKey.equals(publicKey));
  }

  /** format(1) key-id(4) nonce(12) ciphertext tag(16) */
  seal(plain: Buffer, context: string): Buffer {
    const { id, key } = this.keys[0];
    const nonce = nextNonce();
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    cipher.setAAD(Buffer.from(context));
    return Buffer.concat([Buffer.of(FORMAT), id, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /**
   * Returns the opened bytes; undefined when they were altered, sealed for another context, or sealed under an unknown
   * key.
   */
  open(sealed: Buffer, context: string): Buffer | undefined {
    if (isBox(sealed)) return this.keys.find(({ box }) => box.isFor(sealed))?.box.open(sealed, context);
    if (sealed.length < OVERHEAD || sealed[0] !== FORMAT) return undefined;
    const id = sealed.subarray(1, 1 + KEY_ID_BYTES);
    const known = this.keys.find((candidate) => candidate.id.equals(id));
    if (known === undefined) return undefined;
    const nonce = sealed.subarray(1 + KEY_ID_BYTES, 1 + KEY_ID_BYTES + NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', known.key, nonce);
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    try {
      const body = sealed.subarray(1 + KEY_ID_BYTES + NONCE_BYTES, sealed.length - TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]);
    } catch {
      return undefined;
    }
  }

  /** Returns true if `sealed` was made under the newer key; `false` means that a rewrap is needed. */
  isCurrent(sealed: Buffer): boolean {
    const { id, box } = this.keys[0];
    return isBox(sealed) ? box.isFor(sealed) : sealed.subarray(1, 1 + KEY_ID_BYTES).equals(id);
  }
}
