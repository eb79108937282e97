/**
 * Signing: the `Signer` interface and the functions that check a signature before it is recorded. The worker sees only
 * `Signer`, so keys sealed in Postgres and keys in a signer process are interchangeable.
 */
import { createHash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import secp256k1 from 'secp256k1';
import { invariant } from '../../domain/errors.js';
import { addressFromBytes } from './address.js';

/** Signs for one wallet. Implementations: sealed keys in this process, or a signer process behind a socket. */
export abstract class Signer {
  /**
   * Returns the 65-byte signature (r‖s‖v) over sha256(rawData) by the key of `walletAddress`. `keyAddress`: the
   * expected key, so that a cached key is not used after its replacement. Throws when the key is not held or the
   * request is refused.
   */
  abstract sign(walletAddress: string, rawData: Buffer, keyAddress: string): Promise<Buffer>;
}

/** TRON counts the recovery id from 27, as Ethereum's older signatures do. */
const RECOVERY_OFFSET = 27;
const RECOVERY_HIGHEST = 34;
const SIGNATURE_BYTES = 65;

/** Returns the address of a private key (32 bytes). Throws on an invalid key. */
export function addressOfKey(privateKey: Uint8Array): string {
  return addressOfPublicKey(secp256k1.publicKeyCreate(privateKey, false));
}

/** Returns the address of a public key (33 or 65 bytes). Throws on an invalid key. */
export function addressOfPoint(publicKey: Uint8Array): string {
  return derivedAddress(secp256k1.publicKeyConvert(publicKey, false));
}

/** Cache by public key: few keys sign for a pool, and deriving an address takes as long as signing. */
const addresses = new Map<string, string>();
const ADDRESSES_MAX = 1000;

function addressOfPublicKey(uncompressed: Uint8Array): string {
  const key = Buffer.from(uncompressed).toString('latin1');
  const known = addresses.get(key);
  if (known !== undefined) return known;
  const address = derivedAddress(uncompressed);
  if (addresses.size >= ADDRESSES_MAX) addresses.clear();
  addresses.set(key, address);
  return address;
}

function derivedAddress(uncompressed: Uint8Array): string {
  const digest = keccak_256(uncompressed.slice(1));
  return addressFromBytes(Buffer.concat([Buffer.of(0x41), digest.slice(-20)]));
}

/** Signs with the given key. Deterministic (RFC 6979), low-s. */
export function signWithKey(rawData: Uint8Array, privateKey: Uint8Array): Buffer {
  const digest = createHash('sha256').update(rawData).digest();
  const { signature, recid } = secp256k1.ecdsaSign(digest, privateKey);
  return Buffer.concat([signature, Buffer.of(recid + RECOVERY_OFFSET)]);
}

/**
 * Returns the address whose key made `signature` over `rawData`; undefined when it is not in the form of our
 * signatures.
 */
export function signerOf(rawData: Uint8Array, signature: Uint8Array): string | undefined {
  invariant(signature.length === SIGNATURE_BYTES, 'a signature has 65 bytes');
  const recid = (signature[64] ?? 0) - RECOVERY_OFFSET;
  return recid === 0 || recid === 1 ? recover(rawData, signature, recid) : undefined;
}

/**
 * Returns the addresses whose keys made any of `signatures`, as the chain recovers them. TRON ignores bytes after the
 * 65th. The 65th byte counts from 0 or from 27, up to 34.
 */
export function signersOf(rawData: Uint8Array, signatures: readonly Uint8Array[]): ReadonlySet<string> {
  const signers = signatures.flatMap((signature) => {
    const last = signature[64];
    if (last === undefined) return [];
    const header = last < RECOVERY_OFFSET ? last + RECOVERY_OFFSET : last;
    if (header > RECOVERY_HIGHEST) return [];
    return recover(rawData, signature, (header - RECOVERY_OFFSET) & 3) ?? [];
  });
  return new Set(signers);
}

function recover(rawData: Uint8Array, signature: Uint8Array, recid: number): string | undefined {
  const digest = createHash('sha256').update(rawData).digest();
  try {
    return addressOfPublicKey(secp256k1.ecdsaRecover(signature.slice(0, 64), recid, digest, false));
  } catch {
    return undefined;
  }
}
