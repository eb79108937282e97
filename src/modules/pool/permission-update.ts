/**
 * The accountpermissionupdate that gives a hot key the permission of its role. TRON replaces all permissions by an
 * update, so the plan carries every existing one over. The owner's cold key signs it, and this service never sees that
 * key.
 */
import type { ChainAccount, Permission } from '../../platform/chain/tron.client.js';
import { OperatorError } from '../../domain/operator-error.js';
import { operationsOf, type WalletRole } from './wallet-permission.js';

/** TRON: active permissions have ids from 2 on, in their order; an account has at most eight. */
const ACTIVE_ID_FIRST = 2;
const ACTIVES_MAX = 8;
const WITNESS_ID = 1;

interface PermissionJson {
  readonly type: 0 | 1 | 2;
  readonly permission_name: string;
  readonly threshold: number;
  readonly operations?: string;
  readonly keys: readonly { readonly address: string; readonly weight: number }[];
}

/** The body of POST /wallet/accountpermissionupdate. */
export interface PermissionUpdate {
  readonly owner_address: string;
  readonly owner: PermissionJson;
  readonly witness?: PermissionJson;
  readonly actives: readonly PermissionJson[];
  readonly visible: true;
}

export interface PlannedUpdate {
  readonly update: PermissionUpdate;
  /** The id of the role's permission after the update. */
  readonly permissionId: number;
  /** True if the update replaces an earlier permission of ours, false if it adds one. */
  readonly isReplacing: boolean;
}

/** Our permission's name on chain. A permission of the same name counts as an earlier one of ours. */
function permissionName(role: WalletRole): string {
  return role === 'pool' ? 'energy-delegate' : 'energy-activate';
}

/** Plans the update. Throws OperatorError if the account has no space for another permission. */
export function planUpdate(account: ChainAccount, role: WalletRole, keyAddress: string): PlannedUpdate {
  const actives = account.permissions.filter((permission) => permission.id >= ACTIVE_ID_FIRST);
  const ours: PermissionJson = {
    type: 2,
    permission_name: permissionName(role),
    threshold: 1,
    operations: operationsOf(role),
    keys: [{ address: keyAddress, weight: 1 }],
  };
  const earlier = actives.findIndex((permission) => permission.name === ours.permission_name);
  if (earlier < 0 && actives.length >= ACTIVES_MAX) {
    throw new OperatorError(
      `${account.address} has ${ACTIVES_MAX.toString()} active permissions, the maximum of TRON.`,
    );
  }
  const carried = actives.map((permission) => toJson(permission, 2));
  const at = earlier < 0 ? carried.length : earlier;
  carried[at] = ours;
  const owner = account.permissions.find((permission) => permission.id === 0);
  const witness = account.permissions.find((permission) => permission.id === WITNESS_ID);
  return {
    update: {
      owner_address: account.address,
      owner: owner === undefined ? defaultOwner(account.address) : toJson(owner, 0),
      ...(witness === undefined ? {} : { witness: toJson(witness, 1) }),
      actives: carried,
      visible: true,
    },
    permissionId: ACTIVE_ID_FIRST + at,
    isReplacing: earlier >= 0,
  };
}

/** TRON: the owner permission of an account that never set its permissions. */
function defaultOwner(address: string): PermissionJson {
  return { type: 0, permission_name: 'owner', threshold: 1, keys: [{ address, weight: 1 }] };
}

function toJson(permission: Permission, type: 0 | 1 | 2): PermissionJson {
  return {
    type,
    permission_name: permission.name,
    threshold: Number(permission.threshold),
    ...(permission.operations === undefined || type !== 2 ? {} : { operations: permission.operations }),
    keys: permission.keys.map(({ address, weight }) => ({ address, weight: Number(weight) })),
  };
}
