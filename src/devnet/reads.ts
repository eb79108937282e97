// The read endpoints about accounts, stake and parameters. Each runs on a Context and never changes the chain.
import {
  type Account,
  type Permission,
  type Spendable,
  RESOURCES,
  SUN_PER_TRX,
  accountAt,
  delegationAt,
} from './accounts.js';
import { Base58Error, base58OfHex, hexOfBase58 } from './address.js';
import type { Context } from './fees.js';
import { type Json, type JsonNode, integerOf, member, textOf } from './json.js';
import { looseAddress } from './json-format.js';
import { parameter, parametersAt, totalsAt } from './parameters.js';
import { delegatable, increase, increaseFree, limitOf, totalLimit } from './resources.js';
import { unfreezingsLeft, withdrawable } from './staking.js';

/** Leaves out proto3 defaults, as everything the node prints does. */
export function sparse(fields: Readonly<Record<string, Json | undefined>>): Record<string, Json> {
  const out: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === 0n || value === 0 || value === '' || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    out[name] = value;
  }
  return out;
}

export function printAddress(hex: string, visible: boolean): string {
  return visible ? base58OfHex(hex) : hex;
}

const PERMISSION_TYPES = ['', 'Witness', 'Active'] as const;

function printPermission(permission: Permission, visible: boolean): Json {
  return sparse({
    type: PERMISSION_TYPES[permission.type],
    id: permission.id,
    permission_name: permission.name,
    threshold: permission.threshold,
    operations: permission.operations,
    keys: permission.keys.map((k) => ({ address: printAddress(k.address, visible), weight: k.weight })),
  });
}

/** wallet/getaccount: usage decayed to the head, windows and empty stakes filled in, as the node does on reading. */
export function printAccount(context: Context, account: Account, visible: boolean): Json {
  const net = increase(account.usage.BANDWIDTH, 0n, context.slot);
  const energy = increase(account.usage.ENERGY, 0n, context.slot);
  const name = Buffer.from(account.name, 'utf8');
  return sparse({
    account_name: visible ? account.name : name.toString('hex'),
    type: account.isContract ? 'Contract' : '',
    address: printAddress(account.address, visible),
    balance: account.balance,
    net_usage: net.used,
    acquired_delegated_frozenV2_balance_for_bandwidth: account.acquired.BANDWIDTH,
    delegated_frozenV2_balance_for_bandwidth: account.delegated.BANDWIDTH,
    create_time: account.createMs,
    latest_opration_time: account.operationMs,
    free_net_usage: increaseFree(account.freeNetUsed, 0n, account.freeNetSlot, context.slot),
    latest_consume_time: account.usage.BANDWIDTH.slot * 3000n,
    latest_consume_free_time: account.freeNetSlot * 3000n,
    net_window_size: net.window,
    net_window_optimized: true,
    account_resource: sparse({
      energy_usage: energy.used,
      latest_consume_time_for_energy: account.usage.ENERGY.slot * 3000n,
      energy_window_size: energy.window,
      delegated_frozenV2_balance_for_energy: account.delegated.ENERGY,
      acquired_delegated_frozenV2_balance_for_energy: account.acquired.ENERGY,
      energy_window_optimized: true,
    }),
    owner_permission: account.owner === null ? undefined : printPermission(account.owner, visible),
    active_permission: account.actives.map((p) => printPermission(p, visible)),
    frozenV2: RESOURCES.map((r) => sparse({ type: r === 'BANDWIDTH' ? '' : r, amount: account.frozen[r] })),
    unfrozenV2: account.unfreezing.map((u) =>
      sparse({
        type: u.resource === 'BANDWIDTH' ? '' : u.resource,
        unfreeze_amount: u.amount,
        unfreeze_expire_time: u.expireMs,
      }),
    ),
    old_tron_power: account.oldTronPower,
    asset_optimized: account.isGenesis,
  });
}

/** wallet/getaccountresource */
export function printResources(context: Context, account: Account): Json {
  const { state, slot } = context;
  const totals = totalsAt(state);
  return sparse({
    freeNetUsed: increaseFree(account.freeNetUsed, 0n, account.freeNetSlot, slot),
    freeNetLimit: parameter(state, 'getFreeNetLimit'),
    NetUsed: increase(account.usage.BANDWIDTH, 0n, slot).used,
    NetLimit: limitOf(state, account, 'BANDWIDTH'),
    TotalNetLimit: totalLimit(state, 'BANDWIDTH'),
    TotalNetWeight: totals.BANDWIDTH,
    TotalTronPowerWeight: totals.TRON_POWER,
    tronPowerLimit: account.frozen.TRON_POWER / SUN_PER_TRX,
    EnergyUsed: increase(account.usage.ENERGY, 0n, slot).used,
    EnergyLimit: limitOf(state, account, 'ENERGY'),
    TotalEnergyLimit: totalLimit(state, 'ENERGY'),
    TotalEnergyWeight: totals.ENERGY,
  });
}

/** wallet/getcandelegatedmaxsize: below 1 TRX is nothing. */
export function printDelegatable(context: Context, body: JsonNode, visible: boolean): Json {
  const account = accountNamed(context, body, 'owner_address', visible);
  const type = integerOf(member(body, 'type')) ?? 0n;
  const resource: Spendable | undefined = type === 0n ? 'BANDWIDTH' : type === 1n ? 'ENERGY' : undefined;
  if (account === undefined || resource === undefined) return {};
  const most = delegatable(context.state, account, resource, context.slot);
  return sparse({ max_size: most < SUN_PER_TRX ? 0n : most });
}

/** The account a body names; undefined when it names none that exists. */
export function accountNamed(context: Context, body: JsonNode, name: string, visible: boolean): Account | undefined {
  const address = looseAddress(body, name, visible);
  return address === undefined ? undefined : accountAt(context.state, address);
}

/** wallet/getdelegatedresourcev2: the unlocked row, then the locked one. */
export function printDelegations(context: Context, from: string, to: string, visible: boolean): Json {
  const rows = [delegationAt(context.state, from, to, false), delegationAt(context.state, from, to, true)];
  return sparse({
    delegatedResource: rows.flatMap((row) =>
      row === undefined
        ? []
        : [
            sparse({
              from: printAddress(row.from, visible),
              to: printAddress(row.to, visible),
              frozen_balance_for_bandwidth: row.amount.BANDWIDTH,
              frozen_balance_for_energy: row.amount.ENERGY,
              expire_time_for_bandwidth: row.expireMs.BANDWIDTH,
              expire_time_for_energy: row.expireMs.ENERGY,
            }),
          ],
    ),
  });
}

/** wallet/getchainparameters: a parameter that is 0 has no value. */
export function printParameters(context: Context): Json {
  const list = Object.entries(parametersAt(context.state));
  return { chainParameter: list.map(([key, value]) => sparse({ key, value })) };
}

/** wallet/getcanwithdrawunfreezeamount; timestamp 0 or absent = the head's time. */
export function printWithdrawable(context: Context, body: JsonNode, visible: boolean): Json {
  const account = accountNamed(context, body, 'owner_address', visible);
  const given = integerOf(member(body, 'timestamp')) ?? 0n;
  return account === undefined ? {} : sparse({ amount: withdrawable(account, given > 0n ? given : context.headMs) });
}

export function printUnfreezingsLeft(context: Context, body: JsonNode, visible: boolean): Json {
  const account = accountNamed(context, body, 'owner_address', visible);
  return account === undefined ? {} : sparse({ count: unfreezingsLeft(account, context.headMs) });
}

/** wallet/validateaddress. TRON: ValidateAddressServlet. */
export function validateAddress(body: JsonNode): Json {
  const text = textOf(member(body, 'address')) ?? '';
  const no = (message: string): Json => ({ result: false, message });
  if (text.length === 42) {
    if (!/^[0-9a-fA-F]+$/.test(text)) return no('Invalid address');
    return text.startsWith('41') ? { result: true, message: 'Hex string format' } : no('Invalid address');
  }
  if (text.length === 34) {
    try {
      return hexOfBase58(text) === null ? no('Invalid address') : { result: true, message: 'Base58check format' };
    } catch (error) {
      if (error instanceof Base58Error) return no('Invalid address');
      throw error;
    }
  }
  if (text.length === 28) {
    const hex = Buffer.from(text, 'base64').toString('hex');
    return hex.length === 42 && hex.startsWith('41')
      ? { result: true, message: 'Base64 format' }
      : no('Invalid address');
  }
  return no('Length error');
}
