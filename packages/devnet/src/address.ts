// TRON addresses and hashes. Inside the devnet an address is 42 lower-case hex characters that begin with 41.
import { createHash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import secp256k1 from 'secp256k1';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGIT = new Map(Array.from(ALPHABET, (c, i) => [c, BigInt(i)]));

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A character outside the base58 alphabet, in java-tron's wording. */
export class Base58Error extends Error {}

/** Decodes base58. Throws Base58Error naming the first bad character. */
function base58Decode(text: string): Buffer {
  let value = 0n;
  let zeros = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = DIGIT.get(text[i] ?? '');
    if (digit === undefined) throw new Base58Error(`Illegal character ${text[i] ?? ''} at ${String(i)}`);
    value = value * 58n + digit;
    if (value === 0n) zeros++;
  }
  const hex = value === 0n ? '' : value.toString(16);
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')]);
}

function base58Encode(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  let value = hex === '' ? 0n : BigInt(`0x${hex}`);
  let out = '';
  for (; value > 0n; value /= 58n) out = (ALPHABET[Number(value % 58n)] ?? '') + out;
  for (const byte of bytes) {
    if (byte !== 0) break;
    out = '1' + out;
  }
  return out;
}

export function base58Check(bytes: Uint8Array): string {
  return base58Encode(Buffer.concat([bytes, sha256(sha256(bytes)).subarray(0, 4)]));
}

// A bounded cache saves most of the base58 work: the same few addresses are printed and read repeatedly.
const CACHE_MAX = 20_000;
const toText = new Map<string, string>();
const toHex = new Map<string, string>();

function remember(cache: Map<string, string>, key: string, value: string): string {
  if (cache.size >= CACHE_MAX) cache.clear();
  cache.set(key, value);
  return value;
}

/** Encodes address bytes (hex) of any length as base58check. */
export function base58OfHex(hex: string): string {
  return toText.get(hex) ?? remember(toText, hex, base58Check(Buffer.from(hex, 'hex')));
}

/** Decodes a base58check address. Returns null for a wrong checksum, length or prefix. Throws Base58Error. */
export function hexOfBase58(text: string): string | null {
  const known = toHex.get(text);
  if (known !== undefined) return known;
  const bytes = base58Decode(text);
  if (bytes.length !== 25 || bytes[0] !== 0x41) return null;
  const body = bytes.subarray(0, 21);
  if (!sha256(sha256(body)).subarray(0, 4).equals(bytes.subarray(21))) return null;
  return remember(toHex, text, body.toString('hex'));
}

/** Returns true for 64 hex characters that are a valid secp256k1 private key. */
export function isPrivateKey(hex: string): boolean {
  return /^[0-9a-f]{64}$/.test(hex) && secp256k1.privateKeyVerify(Buffer.from(hex, 'hex'));
}

/** Returns the address of a private key, both in hex. */
export function addressOfKey(key: string): string {
  return addressOfPublicKey(secp256k1.publicKeyCreate(Buffer.from(key, 'hex'), false));
}

export function isAddress(hex: string): boolean {
  return hex.length === 42 && hex.startsWith('41');
}

/** Returns the address of an uncompressed public key (65 bytes, or 64 without the leading 04). */
export function addressOfPublicKey(key: Uint8Array): string {
  const body = key.length === 65 ? key.subarray(1) : key;
  return '41' + Buffer.from(keccak_256(body).subarray(12)).toString('hex');
}

/** Returns the address whose key signed `hash`; undefined if no key fits the signature's 64 bytes. */
export function recoverAddress(signature: Uint8Array, recovery: number, hash: Uint8Array): string | undefined {
  try {
    return addressOfPublicKey(secp256k1.ecdsaRecover(signature, recovery, hash, false));
  } catch {
    return undefined;
  }
}

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}

/** Returns the address of the contract that transaction `txId` of `owner` deploys. */
export function deployedAddress(txId: string, owner: string): string {
  const hash = keccak256(Buffer.concat([Buffer.from(txId, 'hex'), Buffer.from(owner, 'hex')]));
  return '41' + Buffer.from(hash.subarray(12)).toString('hex');
}
