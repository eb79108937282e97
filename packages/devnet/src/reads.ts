// Read endpoints for accounts, stake and parameters. Each runs on a Context and never changes the chain.
import {
  type Account,
  type Permission,
  type Spendable,
  RESOURCES,
  SUN_PER_TRX,
  accountAt,
  delegationAt,
} from './accounts.js';
import { assetsOf } from './assets.js';
import { Base58Error, base58OfHex, hexOfBase58, isAddress } from './address.js';
import type { Context } from './fees.js';
import { type Json, type JsonNode, member, textOf } from './json.js';
import { looseAddress, looseHex, notHex } from './json-format.js';
import { parameter, parametersAt, totalsAt } from './parameters.js';
import { delegatable, increase, increaseFree, limitOf, totalLimit } from './resources.js';
import { unfreezingsLeft, withdrawable } from './staking.js';
import { tronPowerOf, votesUsed } from './voting-power.js';

/** Omits proto3 defaults, as in all output of the node. */
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

export function printPermission(permission: Permission, visible: boolean): Json {
  return sparse({
    type: PERMISSION_TYPES[permission.type],
    id: permission.id,
    permission_name: permission.name,
    threshold: permission.threshold,
    operations: permission.operations,
    keys: permission.keys.map((k) => ({ address: printAddress(k.address, visible), weight: k.weight })),
  });
}

/** wallet/getaccount: usage decays to the head; windows and empty stakes are filled in, as the node does on a read. */
export function printAccount(context: Context, account: Account, visible: boolean): Json {
  const net = increase(account.usage.BANDWIDTH, 0n, context.slot);
  const energy = increase(account.usage.ENERGY, 0n, context.slot);
  const name = Buffer.from(account.name, 'utf8');
  return sparse({
    account_name: visible ? account.name : name.toString('hex'),
    type: account.isContract ? 'Contract' : '',
    address: printAddress(account.address, visible),
    balance: account.balance,
    votes: (account.votes ?? []).map((v) =>
      sparse({ vote_address: printAddress(v.address, visible), vote_count: v.count }),
    ),
    net_usage: net.used,
    acquired_delegated_frozenV2_balance_for_bandwidth: account.acquired.BANDWIDTH,
    delegated_frozenV2_balance_for_bandwidth: account.delegated.BANDWIDTH,
    create_time: account.createMs,
    latest_opration_time: account.operationMs,
    allowance: account.allowance,
    latest_withdraw_time: account.withdrawMs,
    is_witness: account.isWitness,
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
    assetV2: assetsOf(account).map(([key, value]) => ({ key, value })),
    free_asset_net_usageV2: assetsOf(account).map(([key]) => ({ key, value: 0n })),
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
    tronPowerUsed: votesUsed(account),
    tronPowerLimit: tronPowerOf(account) / SUN_PER_TRX,
    EnergyUsed: increase(account.usage.ENERGY, 0n, slot).used,
    EnergyLimit: limitOf(state, account, 'ENERGY'),
    TotalEnergyLimit: totalLimit(state, 'ENERGY'),
    TotalEnergyWeight: totals.ENERGY,
  });
}

/** wallet/getcandelegatedmaxsize: amounts below 1 TRX read as nothing. */
export function printDelegatable(context: Context, address: string, type: number): Json {
  const account = accountAt(context.state, address);
  const resource: Spendable | undefined = type === 0 ? 'BANDWIDTH' : type === 1 ? 'ENERGY' : undefined;
  if (account === undefined || resource === undefined) return {};
  const most = delegatable(context.state, account, resource, context.slot);
  return sparse({ max_size: most < SUN_PER_TRX ? 0n : most });
}

/** Returns the account that a body names; undefined if it does not exist. */
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

/** wallet/getchainparameters: a parameter of 0 has no value. */
export function printParameters(context: Context): Json {
  const list = Object.entries(parametersAt(context.state));
  return { chainParameter: list.map(([key, value]) => sparse({ key, value })) };
}

/** wallet/getcanwithdrawunfreezeamount; timestamp 0 means the head's time. */
export function printWithdrawable(context: Context, address: string, timestampMs: bigint): Json {
  const account = accountAt(context.state, address);
  const at = timestampMs > 0n ? timestampMs : context.headMs;
  return account === undefined ? {} : sparse({ amount: withdrawable(account, at) });
}

export function printUnfreezingsLeft(context: Context, address: string): Json {
  const account = accountAt(context.state, address);
  return account === undefined ? {} : sparse({ count: unfreezingsLeft(account, context.headMs) });
}

/** wallet/validateaddress. TRON: ValidateAddressServlet, whose message for unreadable text is the exception's. */
export function validateAddress(body: JsonNode): Json {
  const given = textOf(member(body, 'address')) ?? '';
  const no = (message: string): Json => ({ result: false, message });
  const judge = (hex: string | null, format: string): Json =>
    hex !== null && isAddress(hex) ? { result: true, message: format } : no('Invalid address');
  if (given.length === 42) {
    const hex = looseHex(given);
    return hex === null ? no(notHex().message) : judge(hex, 'Hex string format');
  }
  if (given.length === 34) {
    try {
      return judge(hexOfBase58(given), 'Base58check format');
    } catch (error) {
      if (error instanceof Base58Error) return no(error.message);
      throw error;
    }
  }
  if (given.length !== 28) return no('Length error');
  const illegal = /[^A-Za-z0-9+/=]/.exec(given);
  if (illegal !== null) return no(`Illegal base64 character ${illegal[0].charCodeAt(0).toString(16)}`);
  return judge(Buffer.from(given, 'base64').toString('hex'), 'Base64 format');
}
