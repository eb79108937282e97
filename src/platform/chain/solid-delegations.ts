/**
 * Reads a wallet's delegations from a node's solid chain. `{}` means none, since the wallet itself is known to exist.
 */
import type { Resource } from '../../domain/resource.js';
import { accountQuestion } from './account-question.js';
import { NodeError } from './errors.js';
import { int64, isJsonObject, type JsonObject } from './json.js';
import type { TronNode } from './node.js';

/** TRON: the member of a row of getdelegatedresourcev2. */
const BALANCES = { ENERGY: 'frozen_balance_for_energy', BANDWIDTH: 'frozen_balance_for_bandwidth' } as const;

/** Returns the total that `wallet` has delegated of a resource, in sun. */
export async function solidDelegatedSun(node: TronNode, wallet: string, resource: Resource): Promise<bigint> {
  const question = accountQuestion(wallet);
  const json = await node.postSolid('walletsolidity/getaccount', question);
  if (json['address'] !== question.address)
    throw new NodeError(node.name, 'nonsense', 'a pool wallet that is not on chain');
  return amount(node, delegatedBalanceIn(json, resource));
}

/** Returns the member of an account that has its delegated stake. TRON: energy is inside `account_resource`. */
export function delegatedBalanceIn(account: JsonObject, resource: Resource): unknown {
  if (resource === 'BANDWIDTH') return account['delegated_frozenV2_balance_for_bandwidth'];
  const { account_resource: inside } = account;
  return isJsonObject(inside) ? inside['delegated_frozenV2_balance_for_energy'] : undefined;
}

/** Returns the addresses to which `wallet` has delegated anything, of either resource. */
export async function solidReceivers(node: TronNode, wallet: string): Promise<ReadonlySet<string>> {
  const json = await node.postSolid('walletsolidity/getdelegatedresourceaccountindexv2', {
    value: wallet,
    visible: true,
  });
  assertMeant(node, json, ['account', 'fromAccounts', 'toAccounts']);
  const { account = wallet, toAccounts: to = [] } = json;
  if (account !== wallet) throw new NodeError(node.name, 'nonsense', 'the delegations of another address');
  if (!Array.isArray(to) || !to.every((entry) => typeof entry === 'string')) {
    throw new NodeError(node.name, 'nonsense', 'receivers that are no addresses');
  }
  return new Set(to);
}

/** Returns the stake of a resource that `from` has delegated to `to`, locked and unlocked. */
export async function solidDelegationSun(
  node: TronNode,
  from: string,
  to: string,
  resource: Resource,
): Promise<bigint> {
  const body = { fromAddress: from, toAddress: to, visible: true };
  return sumOfRows(node, await node.postSolid('walletsolidity/getdelegatedresourcev2', body), resource);
}

/**
 * Returns the delegated stake of a resource in an answer of getdelegatedresourcev2. Throws NodeError for any other
 * answer.
 */
export function sumOfRows(node: TronNode, json: JsonObject, resource: Resource): bigint {
  assertMeant(node, json, ['delegatedResource']);
  const { delegatedResource: rows = [] } = json;
  if (!Array.isArray(rows) || !rows.every(isJsonObject)) {
    throw new NodeError(node.name, 'nonsense', 'delegations that are none');
  }
  return rows.reduce((sum, row) => sum + amount(node, row[BALANCES[resource]]), 0n);
}

/**
 * Throws NodeError for an answer that is neither empty nor has any of these members. TRON omits zeros, so a gateway's
 * refusal with HTTP 200 would read as zero.
 */
export function assertMeant(node: TronNode, json: JsonObject, members: readonly string[]): void {
  if (Object.keys(json).length === 0 || members.some((name) => name in json)) return;
  throw new NodeError(node.name, 'nonsense', `an answer without ${members.join(', ')}`);
}

function amount(node: TronNode, value: unknown): bigint {
  const read = int64(value);
  if (read === undefined) throw new NodeError(node.name, 'nonsense', 'an amount that is no integer');
  return read;
}
