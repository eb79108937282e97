// The precompiled contracts 0x09 and 0x0a, which check many signatures at once. TRON: PrecompiledContracts
// BatchValidateSign and ValidateMultiSign, TIP-43, TIP-60, TIP-854.
import { accountAt, permissionOf } from './accounts.js';
import { recoverAddress, sha256 } from './address.js';
import { VmHalt, VmTimeout } from './energy.js';
import type { Reader } from './state.js';
import type { VmRules } from './vm-rules.js';

/** A failure that ends the calling contract instead of the call. */
export interface Halting {
  readonly haltCaller: (error: VmHalt | VmTimeout) => void;
}
interface Context extends Halting {
  readonly rules: VmRules;
  readonly state: Reader;
}

const WORD = 32;
const HEAD_WORDS = 5;
const BATCH_MAX = 16;
const MULTI_MAX = 5;
const SIGNATURE_BYTES = 65;
const ENERGY_PER_SIGNATURE = 1_500n;
const INT_MAX = 2 ** 31 - 1;
/** Fewer elements than an array that java-tron could allocate, more than its checks accept. */
const ARRAY_MAX = 4_096;

/** An access beyond the input, which Java answers with an exception. */
class OutOfBounds extends Error {}

const REFUSED: Uint8Array = new Uint8Array(WORD);

/** Returns the price: one signature for every `itemWords` words after the head. */
export function signaturePrice(itemWords: number) {
  return (data: Uint8Array): bigint => {
    const count = Math.trunc((Math.floor(data.length / WORD) - HEAD_WORDS) / itemWords);
    return BigInt(Math.max(0, count)) * ENERGY_PER_SIGNATURE;
  };
}

/** TIP-854: the head is followed by a whole number of items, at least one. */
function hasItems(data: Uint8Array, itemWords: number): boolean {
  const tail = data.length - HEAD_WORDS * WORD;
  return data.length % WORD === 0 && tail > 0 && tail % (itemWords * WORD) === 0;
}

/** The words of the input. Bytes after the last whole word are not part of it. */
class Words {
  readonly count: number;
  constructor(private readonly data: Uint8Array) {
    this.count = Math.floor(data.length / WORD);
  }

  bytes(index: number): Uint8Array {
    if (index < 0 || index >= this.count)
      throw new OutOfBounds(`Index ${String(index)} out of bounds for length ${String(this.count)}`);
    return this.data.subarray(index * WORD, (index + 1) * WORD);
  }

  /** TRON (DataWord.intValueSafe): more than an int counts as the largest int. */
  int(index: number): number {
    const bytes = Buffer.from(this.bytes(index));
    const isInt = bytes.subarray(0, WORD - 4).every((byte) => byte === 0);
    const value = bytes.readUInt32BE(WORD - 4);
    return isInt && value <= INT_MAX ? value : INT_MAX;
  }

  /** Index of the word that a byte offset names. */
  indexAt(index: number): number {
    return Math.floor(this.int(index) / WORD);
  }

  private lengthAt(offset: number): number {
    const length = this.int(offset);
    if (length > ARRAY_MAX) throw new OutOfBounds('Requested array size exceeds VM limit');
    return length;
  }

  /** TRON: extractBytes32Array. */
  list(offset: number): Uint8Array[] {
    return Array.from({ length: this.lengthAt(offset) }, (_, i) => this.bytes(offset + i + 1));
  }

  /** Signatures; their own lengths count only without `fixed`. TRON: extractSigArray, extractBytesArray. */
  signatures(offset: number, fixed: boolean): Uint8Array[] {
    if (offset > this.count - 1) return [];
    return Array.from({ length: this.lengthAt(offset) }, (_, i) => {
      const at = this.indexAt(offset + i + 1);
      const length = fixed ? SIGNATURE_BYTES : this.int(offset + at + 1);
      const from = (at + offset + 2) * WORD;
      // TRON (Arrays.copyOfRange): the beginning must be within the input, the end need not.
      if (from > this.data.length || length > this.data.length)
        throw new OutOfBounds(`${String(from)} > ${String(this.data.length)}`);
      const signature = new Uint8Array(length);
      signature.set(this.data.subarray(from, from + length));
      return signature;
    });
  }
}

/** Returns the signer, 42 hex characters; undefined if the signature is unreadable. TRON: recoverAddrBySign. */
function signerOf(signature: Uint8Array, hash: Uint8Array): string | undefined {
  if (signature.length < SIGNATURE_BYTES) return undefined;
  const last = signature[64] ?? 0;
  const recovery = (last < 27 ? last + 27 : last) - 27;
  return recovery > 1 ? undefined : recoverAddress(signature.subarray(0, 64), recovery, hash);
}

/** 0x09: a byte of 1 for each signature that is the named address's. Any failure inside gives zeros. */
export function batchValidateSign(data: Uint8Array, { rules }: Context): Uint8Array | undefined {
  if (rules.osaka && !hasItems(data, 6)) return undefined;
  try {
    const words = new Words(data);
    const [hash, signaturesAt, addressesAt] = [words.bytes(0), words.indexAt(1), words.indexAt(2)];
    const isBounded = rules.restrictedSelfDestruct;
    if (isBounded && (words.int(signaturesAt) > BATCH_MAX || words.int(addressesAt) > BATCH_MAX)) return REFUSED;
    const signatures = words.signatures(signaturesAt, isBounded);
    const addresses = words.list(addressesAt);
    if (signatures.length === 0 || signatures.length > BATCH_MAX || signatures.length !== addresses.length)
      return REFUSED;
    const result = new Uint8Array(WORD);
    signatures.forEach((signature, i) => {
      const address = Buffer.from(addresses[i] ?? [])
        .toString('hex')
        .slice(-40);
      if (signerOf(signature, hash)?.slice(2) === address) result[i] = 1;
    });
    return result;
  } catch (error) {
    if (error instanceof OutOfBounds) return REFUSED;
    throw error;
  }
}

/** 0x0a: 1 if the signatures reach the threshold of an account's permission. */
export function validateMultiSign(data: Uint8Array, context: Context): Uint8Array | undefined {
  const { rules } = context;
  if (rules.osaka && !hasItems(data, 5)) return undefined;
  try {
    const words = new Words(data);
    const address = `41${Buffer.from(words.bytes(0)).toString('hex').slice(-40)}`;
    const permissionId = words.int(1);
    const id = Buffer.alloc(4);
    id.writeInt32BE(permissionId);
    const hash = sha256(Buffer.concat([Buffer.from(address, 'hex'), id, words.bytes(2)]));
    const signaturesAt = words.indexAt(3);
    const isBounded = rules.restrictedSelfDestruct;
    if (isBounded && words.int(signaturesAt) > MULTI_MAX) return REFUSED;
    const signatures = words.signatures(signaturesAt, isBounded);
    if (signatures.length === 0 || signatures.length > MULTI_MAX) return REFUSED;
    return reachesThreshold(context, address, permissionId, signatures, hash) ? ONE : REFUSED;
  } catch (error) {
    if (!(error instanceof OutOfBounds)) throw error;
    // TRON: nothing catches the exception of a malformed array, so it ends the calling contract.
    context.haltCaller(new VmHalt('java.lang.ArrayIndexOutOfBoundsException', error.message, 'UNKNOWN'));
    return undefined;
  }
}

const ONE: Uint8Array = Uint8Array.from({ length: WORD }, (_, i) => (i === WORD - 1 ? 1 : 0));

function reachesThreshold(
  context: Context,
  address: string,
  permissionId: number,
  signatures: readonly Uint8Array[],
  hash: Uint8Array,
): boolean {
  const account = accountAt(context.state, address);
  const permission = account === undefined ? undefined : permissionOf(account, permissionId);
  if (permission === undefined) return false;
  const seen = new Map<string, Set<string>>();
  let weight = 0n;
  for (const signature of signatures) {
    const signer = signerOf(signature, hash);
    const key = permission.keys.find((k) => k.address === signer);
    if (signer === undefined || key === undefined || key.weight === 0n) return false;
    const text = Buffer.from(signature).toString('hex');
    const before = seen.get(signer);
    if (before?.has(text) === true) continue;
    if (before !== undefined) {
      // TRON (MUtil.checkCPUTime, since 4.7.1): a second signature of one key ends the transaction as out of time.
      context.haltCaller(new VmTimeout('CPU timeout for 0x0a executing'));
      return false;
    }
    seen.set(signer, new Set([text]));
    weight += key.weight;
  }
  return weight >= permission.threshold;
}
