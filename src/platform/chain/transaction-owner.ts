/**
 * Reads the owner and the action of a transaction from its bytes, as the chain does: delegations, undelegations and
 * account creations. Used to find unrecorded acts of our wallets. Bytes that the chain could not have executed have no
 * act. The signer is not checked here. Pure.
 */
import type { Resource } from '../../domain/resource.js';
import { sun, type Sun } from '../../domain/units.js';
import { addressIn, contractIn, isAddressBytes, type ContractShape } from './contract-bytes.js';

export interface OwnedAct {
  readonly owner: string;
  /** TRON's contract type number: 57 delegate, 58 undelegate, 0 create account. */
  readonly type: number;
  /** The owner's permission that was used; 0 is the owner permission itself. */
  readonly permissionId: number;
  readonly receiver: string | undefined;
  /** Only of a delegation or undelegation. */
  readonly amountSun: Sun | undefined;
  /** Only of a delegation or undelegation; undefined for a resource that the chain does not delegate. */
  readonly resource: Resource | undefined;
  readonly isLocked: boolean;
}

export const DELEGATE_TYPE = 57;
export const UNDELEGATE_TYPE = 58;
export const CREATE_ACCOUNT_TYPE = 0;

/** TRON (common.proto): by the number of the resource. */
const RESOURCES: readonly (Resource | undefined)[] = ['BANDWIDTH', 'ENERGY'];

interface ActShape extends ContractShape {
  /** The number of the receiver's field. */
  readonly receiver: number;
}

/** TRON (balance_contract.proto, account_contract.proto). The owner is field 1 of each. */
const SHAPES: Readonly<Record<number, ActShape>> = {
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

/** TRON (smart_contract.proto): types that use energy. Only field 1, the owner, is read. */
const CALLS: Readonly<Record<number, ContractShape>> = {
  30: { name: 'protocol.CreateSmartContract', fields: { 1: 'bytes' } },
  31: { name: 'protocol.TriggerSmartContract', fields: { 1: 'bytes' } },
};

/**
 * Returns the 21 bytes of the account that calls or creates a contract in raw_data, as hex; undefined for other types.
 */
export function callerIn(rawData: Uint8Array): string | undefined {
  const owner = contractIn(rawData, CALLS)?.message.bytes(1);
  return owner !== undefined && isAddressBytes(owner) ? Buffer.from(owner).toString('hex') : undefined;
}

/** Reads the act in raw_data; undefined when the chain would not execute the bytes as such an act. */
export function actOf(rawData: Uint8Array): OwnedAct | undefined {
  const contract = contractIn(rawData, SHAPES);
  const shape = contract && SHAPES[contract.type];
  if (contract === undefined || shape === undefined) return undefined;
  const { type, permissionId, message } = contract;
  const owner = addressIn(message.bytes(1));
  if (owner === undefined) return undefined;
  const isDelegation = type !== CREATE_ACCOUNT_TYPE;
  return {
    owner,
    type,
    permissionId,
    receiver: addressIn(message.bytes(shape.receiver)),
    amountSun: isDelegation ? sun(message.int64(3)) : undefined,
    resource: isDelegation ? RESOURCES[message.int32(2)] : undefined,
    isLocked: type === DELEGATE_TYPE && message.int64(5) !== 0n,
  };
}
