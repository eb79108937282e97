/**
 * Reads the chain's messages with the protobuf library. Where the JavaScript library differs from the nodes' (Java,
 * 3.25), the nodes' rules apply, and what they reject is rejected. Pure.
 */
import protobuf from 'google-protobuf';

/** The bytes are no message that a node could have read. */
export class NotProtobufError extends Error {
  override readonly name = 'NotProtobufError';
}

/** Wanted fields by number. A field in another wire type is skipped like an unknown one. */
export type Wanted = Readonly<Record<number, 'varint' | 'bytes'>>;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;
/** protobuf (Java) rejects deeper nesting. */
const DEPTH_MAX = 100;

type Reader = InstanceType<typeof protobuf.BinaryReader>;
type Values = Map<number, (bigint | Uint8Array)[]>;

/** The wanted fields of one message, each with all its values in order. */
export class Fields {
  constructor(private readonly values: ReadonlyMap<number, readonly (bigint | Uint8Array)[]>) {}

  /** Returns the last value of a single field; 0 when absent. */
  int64(number: number): bigint {
    const value = this.values.get(number)?.at(-1);
    return typeof value === 'bigint' ? BigInt.asIntN(64, value) : 0n;
  }

  /** Also for enums. Longer numbers lose their upper bits. */
  int32(number: number): number {
    return Number(BigInt.asIntN(32, this.int64(number)));
  }

  bytes(number: number): Uint8Array {
    return this.all(number).at(-1) ?? new Uint8Array();
  }

  all(number: number): readonly Uint8Array[] {
    return (this.values.get(number) ?? []).filter((value) => value instanceof Uint8Array);
  }

  /** Reads a single field that is a message. Several occurrences are merged, as if their bytes were concatenated. */
  message(number: number, wanted: Wanted): Fields {
    const merged: Values = new Map();
    for (const part of this.all(number)) readInto(merged, part, wanted);
    return new Fields(merged);
  }
}

/** Reads a message. Throws NotProtobufError. */
export function readFields(bytes: Uint8Array, wanted: Wanted): Fields {
  const values: Values = new Map();
  readInto(values, bytes, wanted);
  return new Fields(values);
}

function readInto(values: Values, bytes: Uint8Array, wanted: Wanted): void {
  const keep = (number: number, value: bigint | Uint8Array): void => {
    const known = values.get(number);
    if (known === undefined) values.set(number, [value]);
    else known.push(value);
  };
  try {
    // The library reads to the end of its input, which is a view of exactly this message.
    const reader = new protobuf.BinaryReader(bytes);
    while (next(reader)) {
      const number = reader.getFieldNumber();
      const wire = reader.getWireType();
      const form = wanted[number];
      if (form === 'bytes' && wire === BYTES) keep(number, reader.readBytes());
      else if (form === 'varint' && wire === VARINT) keep(number, BigInt(reader.readUint64String()));
      else skip(reader, 1);
    }
  } catch (error) {
    throw new NotProtobufError('no protobuf message', { cause: error });
  }
}

/** protobuf: no field has the number 0. The library accepts it. */
function next(reader: Reader): boolean {
  if (!reader.nextField()) return false;
  if (reader.getFieldNumber() === 0) throw new NotProtobufError('a field 0');
  return true;
}

/**
 * Skips a field like the library, but rejects input that Java rejects: overlong numbers, field 0 in groups, too deep
 * nesting.
 */
function skip(reader: Reader, depth: number): void {
  switch (reader.getWireType()) {
    case VARINT:
      reader.readUint64();
      return;
    case BYTES:
      reader.readBytes();
      return;
    case FIXED64:
    case FIXED32:
      reader.skipField();
      return;
    case START_GROUP:
      skipGroup(reader, depth);
      return;
    default:
      throw new NotProtobufError('the end of a group that did not begin');
  }
}

function skipGroup(reader: Reader, depth: number): void {
  if (depth > DEPTH_MAX) throw new NotProtobufError('nested too deep');
  const number = reader.getFieldNumber();
  while (next(reader)) {
    if (reader.getWireType() !== END_GROUP) skip(reader, depth + 1);
    else if (reader.getFieldNumber() === number) return;
    else throw new NotProtobufError('the end of another group');
  }
  throw new NotProtobufError('a group without end');
}
