/** Pure rules for the permission of a pool wallet's hot key: exactly the operations of its role. */
import type { ChainAccount, Permission } from '../../platform/chain/tron.client.js';

export type WalletRole = 'pool' | 'activation';
export const WALLET_ROLES: readonly WalletRole[] = ['pool', 'activation'];

/** TRON: one bit per contract type, byte t>>3, bit t&7; 32 bytes. */
const OPERATION_BYTES = 32;

/** TRON: DelegateResource 57 and UnDelegateResource 58; AccountCreate 0. */
const ROLE_TYPES: Readonly<Record<WalletRole, readonly number[]>> = { pool: [57, 58], activation: [0] };

/** TRON: contract types by number, to name the operations of a permission. */
const TYPE_NAMES: Readonly<Record<number, string>> = {
  0: 'AccountCreate',
  1: 'Transfer',
  2: 'TransferAsset',
  4: 'VoteWitness',
  5: 'WitnessCreate',
  6: 'AssetIssue',
  8: 'WitnessUpdate',
  9: 'ParticipateAssetIssue',
  10: 'AccountUpdate',
  11: 'FreezeBalance',
  12: 'UnfreezeBalance',
  13: 'WithdrawBalance',
  14: 'UnfreezeAsset',
  15: 'UpdateAsset',
  16: 'ProposalCreate',
  17: 'ProposalApprove',
  18: 'ProposalDelete',
  19: 'SetAccountId',
  30: 'CreateSmartContract',
  31: 'TriggerSmartContract',
  33: 'UpdateSetting',
  41: 'ExchangeCreate',
  42: 'ExchangeInject',
  43: 'ExchangeWithdraw',
  44: 'ExchangeTransaction',
  45: 'UpdateEnergyLimit',
  46: 'AccountPermissionUpdate',
  48: 'ClearABI',
  49: 'UpdateBrokerage',
  51: 'ShieldedTransfer',
  52: 'MarketSellAsset',
  53: 'MarketCancelOrder',
  54: 'FreezeBalanceV2',
  55: 'UnfreezeBalanceV2',
  56: 'WithdrawExpireUnfreeze',
  57: 'DelegateResource',
  58: 'UnDelegateResource',
  59: 'CancelAllUnfreezeV2',
};

/** Returns the operations mask of a role as 64 hex digits. */
export function operationsOf(role: WalletRole): string {
  const mask = Buffer.alloc(OPERATION_BYTES);
  for (const type of ROLE_TYPES[role]) mask[type >> 3] = (mask[type >> 3] ?? 0) | (1 << (type & 7));
  return mask.toString('hex');
}

function typesOf(operations: string): number[] {
  const mask = Buffer.from(operations, 'hex');
  return [...mask].flatMap((byte, index) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte & (1 << bit)) !== 0).map((bit) => index * 8 + bit),
  );
}

/** Suitability of a permission for a role; `says` is a clause for a message. */
export type PermissionVerdict =
  { readonly kind: 'exact' } | { readonly kind: 'wide' | 'missing' | 'narrow' | 'key'; readonly says: string };

/**
 * Judges a permission of `account`: `keyAddress` alone must be able to act with it, and only within the role. `wide`
 * works but is dangerous; every other verdict except `exact` cannot work.
 */
export function judgePermission(
  account: ChainAccount,
  permissionId: number,
  keyAddress: string,
  role: WalletRole,
): PermissionVerdict {
  const permission = permissionOf(account, permissionId, keyAddress);
  if (permission === undefined) {
    const ids = account.permissions.map((each) => each.id.toString()).join(', ');
    return {
      kind: 'missing',
      says: `has no permission ${permissionId.toString()} (it has ${ids === '' ? 'none' : ids})`,
    };
  }
  const weight = permission.keys.find((key) => key.address === keyAddress)?.weight;
  if (weight === undefined) {
    return { kind: 'key', says: `does not name the key of ${keyAddress} in permission ${permissionId.toString()}` };
  }
  if (weight < permission.threshold) {
    const says = `gives the key weight ${weight.toString()}, but permission ${permissionId.toString()} requires ${permission.threshold.toString()}`;
    return { kind: 'key', says };
  }
  if (permission.operations === undefined) {
    return {
      kind: 'wide',
      says: `lets the key do everything: permission ${permissionId.toString()} is the owner permission`,
    };
  }
  const allowed = typesOf(permission.operations);
  const lacking = ROLE_TYPES[role].filter((type) => !allowed.includes(type));
  if (lacking.length > 0) {
    const names = lacking.map((type) => TYPE_NAMES[type] ?? type.toString()).join(', ');
    return { kind: 'narrow', says: `does not allow ${names} in permission ${permissionId.toString()}` };
  }
  const excess = allowed.filter((type) => !ROLE_TYPES[role].includes(type));
  if (excess.length > 0) {
    const names = excess.map((type) => TYPE_NAMES[type] ?? `type ${type.toString()}`).join(', ');
    return { kind: 'wide', says: `also allows ${names} in permission ${permissionId.toString()}` };
  }
  return { kind: 'exact' };
}

/**
 * An account that never changed its permissions has none in the node's answer; its own key then holds the owner
 * permission.
 */
function permissionOf(account: ChainAccount, id: number, keyAddress: string): Permission | undefined {
  const found = account.permissions.find((permission) => permission.id === id);
  if (found !== undefined || id !== 0) return found;
  const keys = keyAddress === account.address ? [{ address: keyAddress, weight: 1n }] : [];
  return { id: 0, name: 'owner', threshold: 1n, operations: undefined, keys };
}
