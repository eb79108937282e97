/**
 * A block's id as made of its header: what binds a block's time and parent to its id. A node that reports another time of
 * the same block is caught by this alone. Pure.
 */
import { createHash } from 'node:crypto';
import { int64, type JsonObject } from './json.js';

/**
 * TRON: BlockHeader.raw, by field number; what java-tron 4.8 prints of a block of the main network. A header with any
 * other field is not judged, since its bytes cannot be known here.
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

/** The header's protobuf; undefined when it has something in it that is not known here. */
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
 * The id of the block with this header, 64 hex digits; undefined when it cannot be computed.
 * TRON: the number in eight bytes, then the hash of the header's bytes from its ninth byte on.
 */
export function idOf(header: JsonObject): string | undefined {
  const bytes = bytesOf(header);
  const number = int64(header['number'] ?? 0);
  if (bytes === undefined || number === undefined) return undefined;
  return number.toString(16).padStart(16, '0') + createHash('sha256').update(bytes).digest('hex').slice(16);
}
