/** What a node's solid chain says of a wallet's delegations. `{}` means none: the wallet itself is known to exist. */
import { NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf } from './json.js';
import type { TronNode } from './node.js';

/** What `wallet` has delegated for energy in all; TRON: delegated_frozenV2_balance_for_energy. */
export async function solidDelegatedSun(node: TronNode, wallet: string): Promise<bigint> {
  const json = await node.solid('walletsolidity/getaccount', { address: wallet, visible: true });
  if (json['address'] !== wallet) throw new NodeError(node.name, 'nonsense', 'a pool wallet that is not on chain');
  const resource = isJsonObject(json['account_resource']) ? json['account_resource'] : {};
  return amount(node, resource['delegated_frozenV2_balance_for_energy']);
}

/** The addresses to which `wallet` has delegated anything. */
export async function solidReceivers(node: TronNode, wallet: string): Promise<ReadonlySet<string>> {
  const json = await node.solid('walletsolidity/getdelegatedresourceaccountindexv2', { value: wallet, visible: true });
  const to = json['toAccounts'];
  return new Set(Array.isArray(to) ? to.filter((entry) => typeof entry === 'string') : []);
}

/** What `from` has delegated to `to` for energy, locked and unlocked. */
export async function solidDelegationSun(node: TronNode, from: string, to: string): Promise<bigint> {
  const body = { fromAddress: from, toAddress: to, visible: true };
  const json = await node.solid('walletsolidity/getdelegatedresourcev2', body);
  let total = 0n;
  for (const row of objectsOf(json['delegatedResource'])) total += amount(node, row['frozen_balance_for_energy']);
  return total;
}

function amount(node: TronNode, value: unknown): bigint {
  const read = int64(value);
  if (read === undefined) throw new NodeError(node.name, 'nonsense', 'an amount that is no integer');
  return read;
}
