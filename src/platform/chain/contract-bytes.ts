/**
 * Reads the single contract in a transaction's raw bytes as the chain does: type, permission and message. Bytes that
 * the chain could not have executed hold no contract. Pure.
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
  /** The owner's permission that was used; 0 is the owner permission itself. */
  readonly permissionId: number;
  /** The contract's message, with the fields of its type. */
  readonly message: Fields;
}

/** A contract type: the name of its message, and the fields to read. */
export interface ContractShape {
  readonly name: string;
  readonly fields: Wanted;
}

/** Returns the contract in `rawData` if its type number is among `shapes`; undefined otherwise. */
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
  // TRON: no block contains a transaction with any other number of contracts.
  if (bytes === undefined || more.length > 0) return undefined;
  const contract = readFields(bytes, CONTRACT);
  const type = contract.int32(1);
  const shape = shapes[type];
  if (shape === undefined) return undefined;
  const any = contract.message(2, ANY);
  if (nameIn(any.bytes(1)) !== shape.name) return undefined;
  return { type, permissionId: contract.int32(5), message: readFields(any.bytes(2), shape.fields) };
}

/** TRON (Any.is): the type is the text after the last slash; the text before it does not matter. */
function nameIn(url: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(url);
    const at = text.lastIndexOf('/');
    return at < 0 ? undefined : text.slice(at + 1);
  } catch {
    // protobuf (Java) rejects text that is not UTF-8.
    return undefined;
  }
}

export function isAddressBytes(bytes: Uint8Array): boolean {
  return bytes.length === ADDRESS_BYTES && bytes[0] === ADDRESS_PREFIX;
}

/** Returns the address in a field of a message; undefined when the field holds none. */
export function addressIn(bytes: Uint8Array): string | undefined {
  return isAddressBytes(bytes) ? addressFromBytes(bytes) : undefined;
}
