/**
 * Computes a block's id from its header. The id binds the block's time and parent, so this exposes a node that reports
 * a wrong time for a block. Pure.
 */
import { createHash } from 'node:crypto';
import { int64, type JsonObject } from './json.js';

/**
 * TRON: fields of BlockHeader.raw by number, as java-tron 4.8 prints a main network block. A header with an unknown
 * field is not checked, since its bytes are unknown here.
 */
const FIELDS = [
  ['timestamp', 1, 'integer'],
  ['txTrieRoot', 2, 'bytes'],
  ['parentHash', 3, 'bytes'],
  ['number', 7, 'integer'],
  ['witness_address', 9, 'bytes'],
  ['version', 10, 'integer'],
] as const;
const NAMES: ReadonlySet<string> = new Set(FIELDS.map(([name]) => name));
const HEX_PATTERN = /^(?:[0-9a-f]{2})+$/;
const WIRE_VARINT = 0;
const WIRE_BYTES = 2;

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = value;
  do {
    const low = Number(left & 0x7fn);
    left >>= 7n;
    bytes.push(left > 0n ? low | 0x80 : low);
  } while (left > 0n);
  return Buffer.from(bytes);
}

function key(field: number, wire: number): Buffer {
  return varint(BigInt((field << 3) | wire));
}

/** Returns the header's protobuf encoding; undefined when it has an unknown or malformed member. */
function bytesOf(header: JsonObject): Buffer | undefined {
  if (Object.keys(header).some((name) => !NAMES.has(name))) return undefined;
  const parts: Buffer[] = [];
  for (const [name, field, kind] of FIELDS) {
    const value = header[name];
    if (value === undefined) continue;
    if (kind === 'integer') {
      const number = int64(value);
      if (number === undefined || number < 0n) return undefined;
      if (number > 0n) parts.push(key(field, WIRE_VARINT), varint(number));
    } else {
      if (typeof value !== 'string' || !HEX_PATTERN.test(value)) return undefined;
      const bytes = Buffer.from(value, 'hex');
      parts.push(key(field, WIRE_BYTES), varint(BigInt(bytes.length)), bytes);
    }
  }
  return Buffer.concat(parts);
}

/**
 * Returns the id of the block with this header, 64 hex digits; undefined when it cannot be computed. TRON: the number
 * in eight bytes, then the sha256 of the header's bytes without its first eight bytes.
 */
export function idOf(header: JsonObject): string | undefined {
  const bytes = bytesOf(header);
  const number = int64(header['number'] ?? 0);
  if (bytes === undefined || number === undefined) return undefined;
  return number.toString(16).padStart(16, '0') + createHash('sha256').update(bytes).digest('hex').slice(16);
}
