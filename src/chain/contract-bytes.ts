/**
 * The one contract in a transaction's raw bytes, as the chain reads it: its type, its permission and its message. Pure;
 * what the chain could not have executed is none.
 */
import { addressFromBytes } from './address.js';
import { NotProtobufError, readFields, type Fields, type Wanted } from './protobuf.js';

/** TRON (Tron.proto, Transaction.raw, Contract; google.protobuf.Any). */
const RAW: Wanted = { 11: 'bytes' };
const CONTRACT: Wanted = { 1: 'varint', 2: 'bytes', 5: 'varint' };
const ANY: Wanted = { 1: 'bytes', 2: 'bytes' };

const ADDRESS_BYTES = 21;
const ADDRESS_PREFIX = 0x41;

export interface ContractBytes {
  /** TRON's contract type number. */
  readonly type: number;
  /** Of the owner's permissions, the one it was made through; 0 is the owner's own. */
  readonly permissionId: number;
  /** Its message, by the fields that its type has. */
  readonly message: Fields;
}

/** A contract type: the name of its message, and the fields that are read of it. */
export interface ContractShape {
  readonly name: string;
  readonly fields: Wanted;
}

/** The contract in `rawData` when it is of one of `shapes`, by type number; undefined when it is of none. */
export function contractIn(
  rawData: Uint8Array,
  shapes: Readonly<Record<number, ContractShape>>,
): ContractBytes | undefined {
  try {
    return readContract(rawData, shapes);
  } catch (error) {
    if (error instanceof NotProtobufError) return undefined;
    throw error;
  }
}

function readContract(rawData: Uint8Array, shapes: Readonly<Record<number, ContractShape>>): ContractBytes | undefined {
  const [bytes, ...more] = readFields(rawData, RAW).all(11);
  // TRON: a transaction with any other number of contracts is in no block.
  if (bytes === undefined || more.length > 0) return undefined;
  const contract = readFields(bytes, CONTRACT);
  const type = contract.int32(1);
  const shape = shapes[type];
  if (shape === undefined) return undefined;
  const any = contract.message(2, ANY);
  if (nameIn(any.bytes(1)) !== shape.name) return undefined;
  return { type, permissionId: contract.int32(5), message: readFields(any.bytes(2), shape.fields) };
}

/** TRON (Any.is): the type is what stands after the last slash, whatever is before it. */
function nameIn(url: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(url);
    const at = text.lastIndexOf('/');
    return at < 0 ? undefined : text.slice(at + 1);
  } catch {
    // protobuf (Java) refuses text that is no UTF-8.
    return undefined;
  }
}

export function isAddressBytes(bytes: Uint8Array): boolean {
  return bytes.length === ADDRESS_BYTES && bytes[0] === ADDRESS_PREFIX;
}

/** The address in a field of a message; undefined when it holds none. */
export function addressIn(bytes: Uint8Array): string | undefined {
  return isAddressBytes(bytes) ? addressFromBytes(bytes) : undefined;
}
