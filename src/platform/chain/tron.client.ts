/**
 * Typed and checked reads of the chain. The meaning of `{}` differs by endpoint and is decided here. TRON: HTTP API of
 * java-tron 4.8.
 */
import type { Resource } from '../../domain/resource.js';
import { sun, type Sun } from '../../domain/units.js';
import {
  agreedParameters,
  readChainParameters,
  type ChainParameters,
  type ParameterBounds,
} from './chain-parameters.js';
import { accountQuestion } from './account-question.js';
import { addressFromHex, addressToHex } from './address.js';
import { NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';
import { hasSucceeded, type Block, type BlockHead, type BlockHeader, type SignedAct } from './block.js';
import type { PortName } from './node-blocks.js';
import { readCallOutcome, type CallOutcome, type ContractCall } from './contract-call.js';
import type { NodePool } from './node-pool.js';
import type { TronNode } from './node.js';
import { assertMeant, delegatedBalanceIn, sumOfRows } from './solid-delegations.js';

export interface Permission {
  readonly id: number;
  readonly name: string;
  readonly threshold: bigint;
  /** 64 hex digits, one bit per contract type; absent for the owner permission, which may do everything. */
  readonly operations: string | undefined;
  readonly keys: readonly { readonly address: string; readonly weight: bigint }[];
}

export interface ChainAccount {
  readonly address: string;
  readonly isContract: boolean;
  readonly balanceSun: Sun;
  /** Own stake for energy, delegated or not. */
  readonly stakedForEnergySun: Sun;
  /** The part of it that is delegated to others. */
  readonly delegatedEnergySun: Sun;
  /** Own stake for bandwidth, delegated or not. */
  readonly stakedForBandwidthSun: Sun;
  readonly delegatedBandwidthSun: Sun;
  readonly permissions: readonly Permission[];
}

export interface AccountResources {
  readonly energyUsed: bigint;
  readonly energyLimit: bigint;
  readonly netUsed: bigint;
  readonly netLimit: bigint;
  readonly freeNetUsed: bigint;
  readonly freeNetLimit: bigint;
  readonly totalEnergyLimit: bigint;
  readonly totalEnergyWeight: bigint;
  readonly totalNetLimit: bigint;
  readonly totalNetWeight: bigint;
}

/** The block of a transaction and its result, as one node reports them. */
export interface TransactionPlace {
  readonly blockNumber: number;
  readonly feeSun: Sun;
  readonly succeeded: boolean;
}

export const CONSTANT_CALL_PATH = 'wallet/triggerconstantcontract';
export const ACCOUNT_PATH = 'wallet/getaccount';

function nonsense(node: TronNode, what: string): NodeError {
  return new NodeError(node.name, 'nonsense', what);
}

/** Reads int64 members. Absent is zero; anything but an integer throws NodeError. */
function amounts<K extends string>(node: TronNode, json: JsonObject, names: Readonly<Record<K, string>>) {
  const read = {} as Record<K, bigint>;
  for (const [key, name] of Object.entries(names) as [K, string][]) {
    const value = int64(json[name]);
    if (value === undefined) throw nonsense(node, `${name} is no integer`);
    read[key] = value;
  }
  return read;
}

function readPermission(node: TronNode, json: JsonObject, fallbackId: number): Permission {
  return {
    id: typeof json['id'] === 'number' ? json['id'] : fallbackId,
    name: typeof json['permission_name'] === 'string' ? json['permission_name'] : '',
    threshold: int64(json['threshold']) ?? 0n,
    operations: typeof json['operations'] === 'string' ? json['operations'] : undefined,
    keys: objectsOf(json['keys']).flatMap((key) =>
      typeof key['address'] === 'string'
        ? [{ address: keyAddress(node, key['address']), weight: int64(key['weight']) ?? 0n }]
        : [],
    ),
  };
}

const HEX_ADDRESS = /^41[0-9a-f]{40}$/;

function keyAddress(node: TronNode, hex: string): string {
  if (!HEX_ADDRESS.test(hex)) throw nonsense(node, 'a permission whose key is no address');
  return addressFromHex(hex);
}

function readAccount(node: TronNode, address: string, json: JsonObject): ChainAccount | undefined {
  if (Object.keys(json).length === 0) return undefined;
  // Guards against an answer about another address, or an error page that parsed.
  if (json['address'] !== addressToHex(address)) throw nonsense(node, 'an account of another address');
  const forEnergy = stakeIn(node, json, 'ENERGY');
  const forBandwidth = stakeIn(node, json, 'BANDWIDTH');
  const balance = int64(json['balance']);
  if (balance === undefined) throw nonsense(node, 'account amounts');
  const owner = json['owner_permission'];
  const witness = json['witness_permission'];
  return {
    address,
    isContract: json['type'] === 'Contract',
    balanceSun: sun(balance),
    stakedForEnergySun: forEnergy.staked,
    delegatedEnergySun: forEnergy.delegated,
    stakedForBandwidthSun: forBandwidth.staked,
    delegatedBandwidthSun: forBandwidth.delegated,
    permissions: [
      ...(isJsonObject(owner) ? [readPermission(node, owner, 0)] : []),
      ...(isJsonObject(witness) ? [readPermission(node, witness, 1)] : []),
      ...objectsOf(json['active_permission']).map((entry) => readPermission(node, entry, 2)),
    ],
  };
}

/** TRON: an entry of `frozenV2` without a type is stake for bandwidth. */
function stakeIn(node: TronNode, account: JsonObject, resource: Resource): { staked: Sun; delegated: Sun } {
  const entries = objectsOf(account['frozenV2']);
  const own = int64(entries.find((entry) => (entry['type'] ?? 'BANDWIDTH') === resource)?.['amount']);
  const delegated = int64(delegatedBalanceIn(account, resource));
  if (delegated === undefined || own === undefined) throw nonsense(node, 'account amounts');
  return { staked: sun(own + delegated), delegated: sun(delegated) };
}

export class TronClient {
  constructor(readonly pool: NodePool) {}

  /** Returns the account, or undefined when the chain has none at this address. */
  async account(address: string): Promise<ChainAccount | undefined> {
    return this.pool.ask(ACCOUNT_PATH, (node) => accountOf(node, address));
  }

  /** Returns the resources of an existing account. Throws for `{}` (no account). */
  async accountResources(address: string): Promise<AccountResources> {
    return this.pool.ask('wallet/getaccountresource', (node) => resourcesOf(node, address));
  }

  /**
   * Returns the chain parameters that the nodes agree on. Throws ChainUnavailableError when no node reports believable
   * ones, or when nodes contradict each other without a majority.
   */
  async chainParameters(bounds: ParameterBounds): Promise<ChainParameters> {
    const answers = await this.pool.askEach('wallet/getchainparameters', async (node) =>
      readChainParameters(node.name, await node.postFull('wallet/getchainparameters', {}), bounds),
    );
    return agreedParameters(answers);
  }

  /**
   * Runs an unsigned call on the head's state, without signing, broadcasting or cost. TRON: a busy node occasionally
   * lacks the CPU time for a small call. Such a timeout, or an outcome that is not `isEnough`, is retried once, on
   * another node if possible.
   */
  async simulate(call: ContractCall, isEnough: (outcome: CallOutcome) => boolean = () => true): Promise<CallOutcome> {
    let asked: TronNode | undefined;
    const run = async (node: TronNode): Promise<CallOutcome> => {
      asked = node;
      return simulateAt(node, call);
    };
    const outcome = await this.pool.ask(CONSTANT_CALL_PATH, run);
    if (!isEnough(outcome)) return this.pool.ask(CONSTANT_CALL_PATH, run, asked).catch(() => outcome);
    if (outcome.kind !== 'refused' || outcome.refusal !== 'timeout') return outcome;
    // Keeps the first answer when the second attempt fails.
    return this.pool.ask(CONSTANT_CALL_PATH, run, asked).catch(() => outcome);
  }

  /** Returns the freshest head. */
  async head(): Promise<BlockHead> {
    return this.pool.ask('wallet/getnowblock', async (node) => node.readHead());
  }

  /** Returns one block of the full node's chain with its transactions; undefined when it does not exist yet. */
  async block(number: number): Promise<Block | undefined> {
    return this.pool.ask('wallet/getblockbynum', async (node) => blockOf(node, number));
  }
}

/** Returns the account as `node` has it, or undefined when its chain has none at this address. */
export async function accountOf(node: TronNode, address: string): Promise<ChainAccount | undefined> {
  return readAccount(node, address, await node.postFull(ACCOUNT_PATH, accountQuestion(address)));
}

/** Returns the resources of an existing account, as one node reports them. Throws NodeError. */
export async function resourcesOf(node: TronNode, address: string): Promise<AccountResources> {
  const json = await node.postFull('wallet/getaccountresource', { address, visible: true });
  const read = amounts(node, json, {
    energyUsed: 'EnergyUsed',
    energyLimit: 'EnergyLimit',
    netUsed: 'NetUsed',
    netLimit: 'NetLimit',
    freeNetUsed: 'freeNetUsed',
    freeNetLimit: 'freeNetLimit',
    totalEnergyLimit: 'TotalEnergyLimit',
    totalEnergyWeight: 'TotalEnergyWeight',
    totalNetLimit: 'TotalNetLimit',
    totalNetWeight: 'TotalNetWeight',
  });
  // Every existing account's answer includes the network's totals.
  if (read.totalEnergyLimit <= 0n) throw nonsense(node, 'resources without the network totals');
  return read;
}

/**
 * Returns the energy that an existing account can use, by `node`'s head and pending transactions. An optional request
 * (see `TronNode.aside`): nothing may depend on the answer.
 */
export async function usableEnergyAside(node: TronNode, address: string): Promise<bigint> {
  const json = await node.postAside('wallet/getaccountresource', { address, visible: true });
  const names = { used: 'EnergyUsed', limit: 'EnergyLimit', total: 'TotalEnergyLimit' };
  const { used, limit, total } = amounts(node, json, names);
  if (total <= 0n) throw nonsense(node, 'resources without the network totals');
  return limit > used ? limit - used : 0n;
}

/** TRON: the resource's number in requests that take no name. */
const RESOURCE_NUMBERS = { BANDWIDTH: 0, ENERGY: 1 } as const;

/**
 * Returns the stake that `address` could delegate of a resource now, by `node`'s head and pending transactions. TRON: for
 * bandwidth it leaves out what the delegation itself may cost.
 */
export async function canDelegateMaxOf(node: TronNode, address: string, resource: Resource): Promise<Sun> {
  const body = { owner_address: address, type: RESOURCE_NUMBERS[resource], visible: true };
  const json = await node.postFull('wallet/getcandelegatedmaxsize', body);
  assertMeant(node, json, ['max_size']);
  return sun(amounts(node, json, { max: 'max_size' }).max);
}

async function simulateAt(node: TronNode, call: ContractCall): Promise<CallOutcome> {
  return readCallOutcome(
    node.name,
    await node.postFull(CONSTANT_CALL_PATH, {
      owner_address: call.ownerAddress,
      contract_address: call.contractAddress,
      ...(call.functionSelector === undefined ? {} : { function_selector: call.functionSelector }),
      ...(call.parameter === undefined ? {} : { parameter: call.parameter }),
      ...(call.data === undefined ? {} : { data: call.data }),
      // TRON takes int64 as a JSON integer; the value fits one (docs/interface.md §8).
      ...(call.callValue === undefined ? {} : { call_value: Number(call.callValue) }),
      visible: true,
    }),
  );
}

/** Returns a block by number as `node` has it; undefined when its chain is not that high. Cached in the process. */
export async function blockOf(node: TronNode, number: number): Promise<Block | undefined> {
  return node.blocks.block('full', number);
}

/** Returns a final block by number from `node`'s solid port; undefined when its solid head is not that high. */
export async function solidBlockOf(node: TronNode, number: number): Promise<Block | undefined> {
  return node.blocks.block('solid', number);
}

/** Returns the header of a block of `node`'s chain; undefined when its chain is not that high. */
export async function headerOf(node: TronNode, number: number): Promise<BlockHeader | undefined> {
  return node.blocks.header('full', number);
}

/** Returns the header of a final block of `node`; undefined when its solid head is not that high. */
export async function solidHeaderOf(node: TronNode, number: number): Promise<BlockHeader | undefined> {
  return node.blocks.header('solid', number);
}

/** Returns the solid head of one node. */
export async function solidHeadOf(node: TronNode): Promise<BlockHeader> {
  return node.blocks.head('solid');
}

/** Returns the stake of a resource that `from` has delegated to `to`, by `node`'s head and pending transactions. */
export async function delegatedSunAt(node: TronNode, from: string, to: string, resource: Resource): Promise<Sun> {
  const body = { fromAddress: from, toAddress: to, visible: true };
  return sun(sumOfRows(node, await node.postFull('wallet/getdelegatedresourcev2', body), resource));
}

/** Returns the act in a transaction as `node` knows it; undefined when its type is none of ours. Throws NodeError. */
export async function signedActOf(node: TronNode, port: PortName, txid: string): Promise<SignedAct | undefined> {
  return node.blocks.signedAct(port, txid);
}

/** Returns the place of a transaction in `node`'s chain; undefined when the node knows none. */
export async function placeOf(node: TronNode, txid: string): Promise<TransactionPlace | undefined> {
  return readPlace(node, txid, await node.postFull('wallet/gettransactioninfobyid', { value: txid }));
}

/** Returns the place of a transaction in `node`'s solid chain; undefined when it has none. */
export async function solidPlaceOf(node: TronNode, txid: string): Promise<TransactionPlace | undefined> {
  return readPlace(node, txid, await node.postSolid('walletsolidity/gettransactioninfobyid', { value: txid }));
}

function readPlace(node: TronNode, txid: string, json: JsonObject): TransactionPlace | undefined {
  if (Object.keys(json).length === 0) return undefined;
  if (json['id'] !== txid) throw nonsense(node, 'information on another transaction');
  const { block, fee } = amounts(node, json, { block: 'blockNumber', fee: 'fee' });
  return { blockNumber: Number(block), feeSun: sun(fee), succeeded: hasSucceeded(json) };
}
