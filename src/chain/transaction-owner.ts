/**
 * Whose act a transaction is and what it does, as the chain reads its bytes: delegations, undelegations and account
 * creations, for finding acts of our wallets that we have no record of. Pure; what the chain could not have executed is
 * nobody's. Says nothing of who signed: that is the signature's.
 */
import { sun, type Sun } from '../domain/units.js';
import { addressFromBytes } from './address.js';
import { NotProtobufError, readFields, type Wanted } from './protobuf.js';

export interface OwnedAct {
  readonly owner: string;
  /** TRON's contract type number: 57 delegate, 58 undelegate, 0 create account. */
  readonly type: number;
  /** Of the owner's permissions, the one it was made through; 0 is the owner's own. */
  readonly permissionId: number;
  readonly receiver: string | undefined;
  /** Of a delegation or undelegation. */
  readonly amountSun: Sun | undefined;
  /** Of a delegation or undelegation: whether it is energy. */
  readonly isEnergy: boolean;
  readonly isLocked: boolean;
}

export const DELEGATE_TYPE = 57;
export const UNDELEGATE_TYPE = 58;
export const CREATE_ACCOUNT_TYPE = 0;

const ENERGY = 1;
const ADDRESS_BYTES = 21;
const ADDRESS_PREFIX = 0x41;

/** TRON (Tron.proto, Transaction.raw, Contract; google.protobuf.Any). */
const RAW: Wanted = { 11: 'bytes' };
const CONTRACT: Wanted = { 1: 'varint', 2: 'bytes', 5: 'varint' };
const ANY: Wanted = { 1: 'bytes', 2: 'bytes' };

interface Shape {
  readonly name: string;
  readonly fields: Wanted;
  readonly receiver: number;
}

/** TRON (balance_contract.proto, account_contract.proto); the owner is field 1 of each. */
const SHAPES: Readonly<Record<number, Shape>> = {
  [DELEGATE_TYPE]: {
    name: 'protocol.DelegateResourceContract',
    fields: { 1: 'bytes', 2: 'varint', 3: 'varint', 4: 'bytes', 5: 'varint', 6: 'varint' },
    receiver: 4,
  },
  [UNDELEGATE_TYPE]: {
    name: 'protocol.UnDelegateResourceContract',
    fields: { 1: 'bytes', 2: 'varint', 3: 'varint', 4: 'bytes' },
    receiver: 4,
  },
  [CREATE_ACCOUNT_TYPE]: {
    name: 'protocol.AccountCreateContract',
    fields: { 1: 'bytes', 2: 'bytes' },
    receiver: 2,
  },
};

/** Reads the act in raw_data; undefined when the chain would not take the bytes for such an act. */
export function actOf(rawData: Uint8Array): OwnedAct | undefined {
  try {
    return readAct(rawData);
  } catch (error) {
    if (error instanceof NotProtobufError) return undefined;
    throw error;
  }
}

function readAct(rawData: Uint8Array): OwnedAct | undefined {
  const [bytes, ...more] = readFields(rawData, RAW).all(11);
  // TRON: a transaction with any other number of contracts is in no block.
  if (bytes === undefined || more.length > 0) return undefined;
  const contract = readFields(bytes, CONTRACT);
  const type = contract.int32(1);
  const shape = SHAPES[type];
  if (shape === undefined) return undefined;
  const any = contract.message(2, ANY);
  if (nameIn(any.bytes(1)) !== shape.name) return undefined;
  const parts = readFields(any.bytes(2), shape.fields);
  const owner = addressOf(parts.bytes(1));
  if (owner === undefined) return undefined;
  const isDelegation = type !== CREATE_ACCOUNT_TYPE;
  return {
    owner,
    type,
    permissionId: contract.int32(5),
    receiver: addressOf(parts.bytes(shape.receiver)),
    amountSun: isDelegation ? sun(parts.int64(3)) : undefined,
    isEnergy: isDelegation && parts.int32(2) === ENERGY,
    isLocked: type === DELEGATE_TYPE && parts.int64(5) !== 0n,
  };
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

function addressOf(bytes: Uint8Array): string | undefined {
  return bytes.length === ADDRESS_BYTES && bytes[0] === ADDRESS_PREFIX ? addressFromBytes(bytes) : undefined;
}
