// The precompiled contract 0x05: base^exponent mod modulus. TRON: PrecompiledContracts.ModExp.
import type { VmRules } from './vm-rules.js';

const HEADER = 96;
const INT_MAX = 2n ** 31n - 1n;
/** TIP-7823: no operand is longer. */
const OPERAND_BYTES_MAX = 1_024;
const ENERGY_MAX = (1n << 63n) - 1n;
/** Without TIP-7823 an exponent of any length has a price, but not the time to run. Longer operands fail here. */
const BYTES_MAX = 65_536;

interface Lengths {
  readonly base: number;
  readonly exponent: number;
  readonly modulus: number;
}

/** Reads bytes; absent ones are zero. */
function slice(data: Uint8Array, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  bytes.set(data.subarray(offset, offset + length));
  return bytes;
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

/** TRON (DataWord.intValueSafe): a length beyond an int counts as the largest int. */
function lengthsOf(data: Uint8Array): Lengths {
  const at = (i: number): number => {
    const value = numberOf(slice(data, 32 * i, 32));
    return Number(value > INT_MAX ? INT_MAX : value);
  };
  return { base: at(0), exponent: at(1), modulus: at(2) };
}

/** Position of the highest set bit of the exponent's first 32 bytes; 0 if it has none. */
function highestBit(data: Uint8Array, { base, exponent }: Lengths): bigint {
  const head = numberOf(slice(data, HEADER + base, Math.min(exponent, 32)));
  return head === 0n ? 0n : BigInt(head.toString(2).length - 1);
}

function iterations(lengths: Lengths, highest: bigint, perByte: bigint): bigint {
  const count = lengths.exponent <= 32 ? highest : perByte * BigInt(lengths.exponent - 32) + highest;
  return count > 1n ? count : 1n;
}

/** EIP-198. TRON: ModExp.getMultComplexity. */
function complexity(length: bigint): bigint {
  const square = length * length;
  if (length <= 64n) return square;
  if (length <= 1_024n) return square / 4n + 96n * length - 3_072n;
  return square / 16n + 480n * length - 199_680n;
}

/** TIP-7883. TRON: ModExp.getMultComplexityTIP7883. */
function hardenedComplexity(length: bigint): bigint {
  if (length <= 32n) return 16n;
  const words = (length + 7n) / 8n;
  return 2n * words * words;
}

/** Returns the energy of a call with this input. */
export function modExpPrice(data: Uint8Array, { osaka }: VmRules): bigint {
  const lengths = lengthsOf(data);
  const longest = BigInt(Math.max(lengths.base, lengths.modulus));
  const highest = highestBit(data, lengths);
  const energy = osaka
    ? hardenedComplexity(longest) * iterations(lengths, highest, 16n)
    : (complexity(longest) * iterations(lengths, highest, 8n)) / 20n;
  if (osaka && energy < 500n) return 500n;
  return energy > ENERGY_MAX ? ENERGY_MAX : energy;
}

/** Square and multiply from the highest bit. */
function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n % modulus;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === '1') result = (result * base) % modulus;
  }
  return result;
}

/** Returns the result, as long as the modulus; undefined for operands that the rules refuse. */
export function modExp(data: Uint8Array, { osaka }: VmRules): Uint8Array | undefined {
  const lengths = lengthsOf(data);
  const longest = Math.max(lengths.base, lengths.exponent, lengths.modulus);
  if (longest > (osaka ? OPERAND_BYTES_MAX : BYTES_MAX)) return undefined;
  const base = numberOf(slice(data, HEADER, lengths.base));
  const exponent = numberOf(slice(data, HEADER + lengths.base, lengths.exponent));
  const modulus = numberOf(slice(data, HEADER + lengths.base + lengths.exponent, lengths.modulus));
  // TIP-871: before it, a modulus of zero gave no output.
  if (modulus === 0n) return new Uint8Array(osaka ? lengths.modulus : 0);
  const hex = power(base % modulus, exponent, modulus).toString(16);
  return Buffer.from(hex.padStart(2 * lengths.modulus, '0'), 'hex');
}
