/**
 * Strictly parses raw_data, the bytes that a TRON signature covers, for the code that builds and signs them. Shares no
 * code with the builder. An unknown, repeated or malformed field rejects the whole, because nodes would read it and a
 * signature would cover it.
 */
import type { Resource } from '../../domain/resource.js';
import { addressFromBytes } from './address.js';

export type SignableType = 'DelegateResourceContract' | 'UnDelegateResourceContract' | 'AccountCreateContract';

/** The content of raw_data. */
export interface RawData {
  readonly type: SignableType;
  readonly permissionId: number;
  readonly timestampMs: bigint;
  readonly expiresAtMs: bigint;
  readonly owner: string;
  readonly receiver: string;
  /** Absent for an activation. */
  readonly amountSun: bigint | undefined;
  readonly resource: Resource | undefined;
  readonly isLocked: boolean;
}

/** The reason why bytes are unreadable; the message is for the operator's log. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** The bytes are a transaction of a type that none of our roles signs. */
export class ForeignTypeError extends Error {
  override readonly name = 'ForeignTypeError';
}

/** TRON (Tron.proto, Transaction.Contract.ContractType): the type number and the message in `parameter`. */
const TYPES: ReadonlyMap<bigint, SignableType> = new Map([
  [0n, 'AccountCreateContract'],
  [57n, 'DelegateResourceContract'],
  [58n, 'UnDelegateResourceContract'],
]);

const URL_PREFIX = 'type.googleapis.com/protocol.';
const RAW_DATA_BYTES_MAX = 1024;
const PERMISSION_MAX = 9n;

type Wire = 'varint' | 'bytes';
type Shape = Readonly<Record<number, Wire>>;
type Fields = ReadonlyMap<number, bigint | Buffer>;

// The fields of our own transactions. Every other field (memo, scripts, fee limit, provider …) is rejected as unknown.
const RAW: Shape = { 1: 'bytes', 4: 'bytes', 8: 'varint', 11: 'bytes', 14: 'varint' };
const CONTRACT: Shape = { 1: 'varint', 2: 'bytes', 5: 'varint' };
const ANY: Shape = { 1: 'bytes', 2: 'bytes' };
const DELEGATION: Shape = { 1: 'bytes', 2: 'varint', 3: 'varint', 4: 'bytes', 5: 'varint', 6: 'varint' };
const UNDELEGATION: Shape = { 1: 'bytes', 2: 'varint', 3: 'varint', 4: 'bytes' };
const CREATION: Shape = { 1: 'bytes', 2: 'bytes' };

/** Parses a transaction's raw_data. Throws UnreadableError or ForeignTypeError unless every byte is understood. */
export function readRawData(rawData: Buffer): RawData {
  if (rawData.length === 0 || rawData.length > RAW_DATA_BYTES_MAX) throw new UnreadableError('too long or empty');
  const raw = readMessage(rawData, RAW, 'raw_data');
  for (const needed of [1, 4, 8, 11]) {
    if (!raw.has(needed)) throw new UnreadableError(`raw_data lacks field ${needed.toString()}`);
  }
  const contract = readMessage(bytesOf(raw, 11), CONTRACT, 'contract');
  const type = TYPES.get(intOf(contract, 1));
  if (type === undefined) throw new ForeignTypeError(`contract type ${intOf(contract, 1).toString()}`);
  const any = readMessage(bytesOf(contract, 2), ANY, 'parameter');
  // Nodes dispatch by the type number and decode by the URL, so the two must match.
  if (bytesOf(any, 1).toString('latin1') !== URL_PREFIX + type) throw new UnreadableError('type and type URL differ');
  const permissionId = intOf(contract, 5);
  if (permissionId > PERMISSION_MAX) throw new UnreadableError('permission id');
  return {
    type,
    permissionId: Number(permissionId),
    timestampMs: intOf(raw, 14),
    expiresAtMs: intOf(raw, 8),
    ...readParameter(type, bytesOf(any, 2)),
  };
}

type Parameter = Pick<RawData, 'owner' | 'receiver' | 'amountSun' | 'resource' | 'isLocked'>;

function readParameter(type: SignableType, value: Buffer): Parameter {
  if (type === 'AccountCreateContract') {
    const creation = readMessage(value, CREATION, type);
    return {
      owner: addressOf(creation, 1),
      receiver: addressOf(creation, 2),
      amountSun: undefined,
      resource: undefined,
      isLocked: false,
    };
  }
  const fields = readMessage(value, type === 'DelegateResourceContract' ? DELEGATION : UNDELEGATION, type);
  const resource = intOf(fields, 2);
  if (resource > 1n) throw new UnreadableError('resource');
  return {
    owner: addressOf(fields, 1),
    receiver: addressOf(fields, 4),
    amountSun: intOf(fields, 3),
    resource: resource === 1n ? 'ENERGY' : 'BANDWIDTH',
    isLocked: intOf(fields, 5) !== 0n || intOf(fields, 6) !== 0n,
  };
}

function readMessage(bytes: Buffer, shape: Shape, what: string): Fields {
  const fields = new Map<number, bigint | Buffer>();
  let at = 0;
  let last = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 63n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new UnreadableError(`${what} ends in the middle`);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      // Nodes accept overlong encodings of a number, but our builder never writes them.
      if (byte === 0 && shift > 0n) throw new UnreadableError(`${what} holds a number longer than needed`);
      return value;
    }
    // A tenth byte encodes a negative number, and no field here is negative.
    throw new UnreadableError(`${what} holds a number beyond 63 bits`);
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Number(tag >> 3n);
    const wire = tag & 7n;
    const expected = shape[number];
    if (expected === undefined) throw new UnreadableError(`${what} has a field ${number.toString()}`);
    if (fields.has(number)) throw new UnreadableError(`${what} has field ${number.toString()} twice`);
    if (number < last) throw new UnreadableError(`${what} has field ${number.toString()} out of order`);
    last = number;
    if (wire !== (expected === 'varint' ? 0n : 2n))
      throw new UnreadableError(`${what} has field ${number.toString()} in another form`);
    if (expected === 'varint') {
      const value = varint();
      // protobuf omits zeros. Nodes accept an explicit zero all the same.
      if (value === 0n) throw new UnreadableError(`${what} holds a zero`);
      fields.set(number, value);
      continue;
    }
    const length = varint();
    if (length > BigInt(bytes.length - at)) throw new UnreadableError(`${what} ends in the middle`);
    fields.set(number, bytes.subarray(at, at + Number(length)));
    at += Number(length);
  }
  return fields;
}

/** Protobuf: an absent number is zero. */
function intOf(fields: Fields, number: number): bigint {
  const value = fields.get(number);
  return typeof value === 'bigint' ? value : 0n;
}

function bytesOf(fields: Fields, number: number): Buffer {
  const value = fields.get(number);
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

function addressOf(fields: Fields, number: number): string {
  try {
    return addressFromBytes(bytesOf(fields, number));
  } catch {
    throw new UnreadableError('an address');
  }
}
