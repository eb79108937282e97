/**
 * Whose act a transaction is, read from its bytes, whatever its type: who owns it, what it does, and for delegations
 * to whom and how much. For finding acts of our wallets that we have no record of. Pure; unreadable bytes are nobody's.
 */
import { sun, type Sun } from '../money/units.js';
import { addressFromBytes } from './address.js';

export interface OwnedAct {
  readonly owner: string;
  /** TRON's contract type number: 57 delegate, 58 undelegate, 0 create account, … */
  readonly type: number;
  /** Of the owner's permissions, the one it was made through; 0 is the owner's own. */
  readonly permissionId: number;
  /** Of a delegation, undelegation or account creation. */
  readonly receiver: string | undefined;
  readonly amountSun: Sun | undefined;
  /** Of a delegation or undelegation: whether it is energy. */
  readonly isEnergy: boolean;
  readonly isLocked: boolean;
}

export const DELEGATE_TYPE = 57;
export const UNDELEGATE_TYPE = 58;
export const CREATE_ACCOUNT_TYPE = 0;

/** TRON (Tron.proto): contracts whose owner is not their first field. */
const OWNER_FIELD: Readonly<Record<number, number>> = { 2: 2, 10: 2, 19: 2 };
const ADDRESS_BYTES = 21;

type Fields = ReadonlyMap<number, bigint | Buffer>;

/** Reads the act in raw_data; undefined when the bytes are no transaction with one contract and an owner. */
export function actOf(rawData: Buffer): OwnedAct | undefined {
  const contract = bytesIn(readFields(rawData), 11);
  const fields = contract && readFields(contract);
  const any = fields && bytesIn(fields, 2);
  const value = any && bytesIn(readFields(any), 2);
  if (fields === undefined || value === undefined) return undefined;
  const type = Number(numberIn(fields, 1));
  const parts = readFields(value);
  const owner = addressIn(parts, OWNER_FIELD[type] ?? 1);
  if (owner === undefined) return undefined;
  const isDelegation = type === DELEGATE_TYPE || type === UNDELEGATE_TYPE;
  return {
    owner,
    type,
    permissionId: Number(numberIn(fields, 5)),
    receiver: isDelegation ? addressIn(parts, 4) : type === CREATE_ACCOUNT_TYPE ? addressIn(parts, 2) : undefined,
    amountSun: isDelegation ? sun(numberIn(parts, 3)) : undefined,
    isEnergy: isDelegation && numberIn(parts, 2) === 1n,
    isLocked: type === DELEGATE_TYPE && numberIn(parts, 5) !== 0n,
  };
}

/** Protobuf's fields by number; of a repeated one the last, as nodes read a single one. Stops at what it cannot read. */
function readFields(bytes: Buffer): Fields {
  const fields = new Map<number, bigint | Buffer>();
  let at = 0;
  const varint = (): bigint | undefined => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) return undefined;
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag === undefined) break;
    const number = Number(tag >> 3n);
    const wire = Number(tag & 7n);
    if (wire === 1 || wire === 5) {
      at += wire === 1 ? 8 : 4;
      continue;
    }
    const value = wire === 0 || wire === 2 ? varint() : undefined;
    if (value === undefined) break;
    if (wire === 0) {
      fields.set(number, value);
      continue;
    }
    if (value > BigInt(bytes.length - at)) break;
    fields.set(number, bytes.subarray(at, at + Number(value)));
    at += Number(value);
  }
  return fields;
}

function bytesIn(fields: Fields, number: number): Buffer | undefined {
  const value = fields.get(number);
  return Buffer.isBuffer(value) ? value : undefined;
}

function numberIn(fields: Fields, number: number): bigint {
  const value = fields.get(number);
  return typeof value === 'bigint' ? value : 0n;
}

function addressIn(fields: Fields, number: number): string | undefined {
  const value = bytesIn(fields, number);
  return value?.length === ADDRESS_BYTES && value[0] === 0x41 ? addressFromBytes(value) : undefined;
}
