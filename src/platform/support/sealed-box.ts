/**
 * Seals to a public key, for a process that must not open the result: X25519 with an ephemeral key pair per secret,
 * HKDF-SHA256, AES-256-GCM. Only a holder of the purpose's key can derive the private half and open it.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

const FORMAT = 2;
const KEY_ID_BYTES = 4;
const PUBLIC_BYTES = 32;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + KEY_ID_BYTES + PUBLIC_BYTES;
const CIPHER = 'aes-256-gcm';

/** The DER prefix of a 32-byte key (RFC 8410). */
const PRIVATE_DER = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_DER = Buffer.from('302a300506032b656e032100', 'hex');

const derive = (secret: Buffer, salt: Buffer, info: string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, `tron-energy-rental/box/${info}/v1`, length));

const publicOf = (bytes: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([PUBLIC_DER, bytes]), format: 'der', type: 'spki' });

const bytesOf = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_DER.length);

const idOf = (publicKey: Buffer): Buffer =>
  createHash('sha256').update('box-id').update(publicKey).digest().subarray(0, KEY_ID_BYTES);

/** Derives key and nonce of one secret. Both public keys are included, so that neither can be exchanged. */
function cipherKeys(shared: Buffer, ephemeral: Buffer, recipient: Buffer): { key: Buffer; nonce: Buffer } {
  const bytes = derive(shared, Buffer.concat([ephemeral, recipient]), 'secret', 44);
  return { key: bytes.subarray(0, 32), nonce: bytes.subarray(32) };
}

/** Seals to one public key; opens nothing. */
export class BoxSealer {
  private readonly id: Buffer;
  private readonly recipient: KeyObject;

  /** `publicKey`: 32 bytes. */
  constructor(private readonly publicKey: Buffer) {
    if (publicKey.length !== PUBLIC_BYTES) throw new Error('a public key has 32 bytes');
    this.id = idOf(publicKey);
    this.recipient = publicOf(publicKey);
  }

  /** format(1) key-id(4) ephemeral-public-key(32) ciphertext tag(16); `context` is authenticated, not stored. */
  seal(plain: Buffer, context: string): Buffer {
    const ephemeral = generateKeyPairSync('x25519');
    const ephemeralPublic = bytesOf(ephemeral.publicKey);
    const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: this.recipient });
    const { key, nonce } = cipherKeys(shared, ephemeralPublic, this.publicKey);
    const cipher = createCipheriv(CIPHER, key, nonce);
    cipher.setAAD(Buffer.from(context));
    const body = [cipher.update(plain), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat([Buffer.of(FORMAT), this.id, ephemeralPublic, ...body]);
  }
}

/** The private half of a purpose's key pair. */
export class BoxOpener {
  /** 32 bytes, for the processes that seal. */
  readonly publicKey: Buffer;
  private readonly privateKey: KeyObject;
  private readonly id: Buffer;

  /** `purposeKey`: the purpose's key, 32 bytes, from which the pair is derived. */
  constructor(purposeKey: Buffer) {
    const scalar = derive(purposeKey, Buffer.alloc(0), 'private', 32);
    const der = Buffer.concat([PRIVATE_DER, scalar]);
    this.privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    this.publicKey = Buffer.from(bytesOf(createPublicKey(this.privateKey)));
    this.id = idOf(this.publicKey);
  }

  /** Returns true if `sealed` was sealed to this key. */
  isFor(sealed: Buffer): boolean {
    return isBox(sealed) && sealed.subarray(1, 1 + KEY_ID_BYTES).equals(this.id);
  }

  /** Returns the secret; undefined when it was altered, or sealed for another context or key. */
  open(sealed: Buffer, context: string): Buffer | undefined {
    if (!this.isFor(sealed)) return undefined;
    const ephemeral = sealed.subarray(1 + KEY_ID_BYTES, HEAD_BYTES);
    try {
      // Throws for a point of small order, which would give everyone the same shared secret.
      const shared = diffieHellman({ privateKey: this.privateKey, publicKey: publicOf(ephemeral) });
      const { key, nonce } = cipherKeys(shared, ephemeral, this.publicKey);
      const decipher = createDecipheriv(CIPHER, key, nonce);
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
      const body = sealed.subarray(HEAD_BYTES, sealed.length - TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

/** Returns true if `sealed` has the form of a secret sealed to a public key. */
export function isBox(sealed: Buffer): boolean {
  return sealed.length >= HEAD_BYTES + TAG_BYTES && sealed[0] === FORMAT;
}
