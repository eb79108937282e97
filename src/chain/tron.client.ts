/**
 * Every read of the chain that the service makes, typed and checked. What `{}` means differs by endpoint and is
 * decided here, once. TRON: HTTP API of java-tron 4.8.
 */
import { sun, type Sun } from '../domain/units.js';
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
import { assertMeant, sumOfRows } from './solid-delegations.js';

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
  /** Of it, what is delegated to others. */
  readonly delegatedEnergySun: Sun;
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

/** Where and in which block a transaction was included, by a node's word. */
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

/** Reads int64 members; absent is zero, anything that is no integer is nonsense. */
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
  const resource = isJsonObject(json['account_resource']) ? json['account_resource'] : {};
  const frozen = objectsOf(json['frozenV2']).find((entry) => entry['type'] === 'ENERGY');
  const delegated = int64(resource['delegated_frozenV2_balance_for_energy']);
  const own = int64(frozen?.['amount']);
  const balance = int64(json['balance']);
  if (delegated === undefined || own === undefined || balance === undefined) throw nonsense(node, 'account amounts');
  const owner = json['owner_permission'];
  const witness = json['witness_permission'];
  return {
    address,
    isContract: json['type'] === 'Contract',
    balanceSun: sun(balance),
    stakedForEnergySun: sun(own + delegated),
    delegatedEnergySun: sun(delegated),
    permissions: [
      ...(isJsonObject(owner) ? [readPermission(node, owner, 0)] : []),
      ...(isJsonObject(witness) ? [readPermission(node, witness, 1)] : []),
      ...objectsOf(json['active_permission']).map((entry) => readPermission(node, entry, 2)),
    ],
  };
}

export class TronClient {
  constructor(readonly pool: NodePool) {}

  /** The account, or undefined when the chain has none at this address. */
  async account(address: string): Promise<ChainAccount | undefined> {
    return this.pool.ask(ACCOUNT_PATH, (node) => accountOf(node, address));
  }

  /** Resources of an account that exists; `{}` (no account) is refused as nonsense. */
  async accountResources(address: string): Promise<AccountResources> {
    return this.pool.ask('wallet/getaccountresource', (node) => resourcesOf(node, address));
  }

  /**
   * The chain parameters that all nodes which can be asked agree on. Throws ChainUnavailableError when none names
   * believable ones, or when they contradict each other.
   */
  async chainParameters(bounds: ParameterBounds): Promise<ChainParameters> {
    const answers = await this.pool.askEach('wallet/getchainparameters', async (node) =>
      readChainParameters(node.name, await node.full('wallet/getchainparameters', {}), bounds),
    );
    return agreedParameters(answers);
  }

  /**
   * Runs an unsigned call on the head's state; nothing is signed, broadcast or charged. TRON: a busy node gives up on
   * small calls now and then for want of CPU time, so that is asked once more, of another node where there is one; and so
   * is an outcome that is not `isEnough`.
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
    // The first answer stands where nobody gives a second one.
    return this.pool.ask(CONSTANT_CALL_PATH, run, asked).catch(() => outcome);
  }

  /** The freshest head. */
  async head(): Promise<BlockHead> {
    return this.pool.ask('wallet/getnowblock', async (node) => node.readHead());
  }

  /** One block of the full node's chain with its transactions; undefined when it is not there yet. */
  async block(number: number): Promise<Block | undefined> {
    return this.pool.ask('wallet/getblockbynum', async (node) => blockOf(node, number));
  }
}

/** The account as `node` has it, or undefined when its chain has none at this address. */
export async function accountOf(node: TronNode, address: string): Promise<ChainAccount | undefined> {
  return readAccount(node, address, await node.full(ACCOUNT_PATH, accountQuestion(address)));
}

/** Resources of an account that exists, by one node's word. */
export async function resourcesOf(node: TronNode, address: string): Promise<AccountResources> {
  const json = await node.full('wallet/getaccountresource', { address, visible: true });
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
  // Every existing account answers with the network's totals.
  if (read.totalEnergyLimit <= 0n) throw nonsense(node, 'resources without the network totals');
  return read;
}

/**
 * What an existing account can use of energy by `node`'s word: of its head, and of what is pending there. Asked aside:
 * nothing may hang on the answer.
 */
export async function usableEnergyAside(node: TronNode, address: string): Promise<bigint> {
  const json = await node.aside('wallet/getaccountresource', { address, visible: true });
  const names = { used: 'EnergyUsed', limit: 'EnergyLimit', total: 'TotalEnergyLimit' };
  const { used, limit, total } = amounts(node, json, names);
  if (total <= 0n) throw nonsense(node, 'resources without the network totals');
  return limit > used ? limit - used : 0n;
}

/** What `address` could delegate for energy right now, by the head's state of `node` and its pending transactions. */
export async function canDelegateMaxOf(node: TronNode, address: string): Promise<Sun> {
  const body = { owner_address: address, type: 1, visible: true };
  const json = await node.full('wallet/getcandelegatedmaxsize', body);
  assertMeant(node, json, ['max_size']);
  return sun(amounts(node, json, { max: 'max_size' }).max);
}

async function simulateAt(node: TronNode, call: ContractCall): Promise<CallOutcome> {
  return readCallOutcome(
    node.name,
    await node.full(CONSTANT_CALL_PATH, {
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

/** A block by number as `node` has it; undefined when its chain is not that high. Read once per process. */
export async function blockOf(node: TronNode, number: number): Promise<Block | undefined> {
  return node.blocks.block('full', number);
}

/** A final block by number as `node`'s solid port has it; undefined when its solid head is not that high. */
export async function solidBlockOf(node: TronNode, number: number): Promise<Block | undefined> {
  return node.blocks.block('solid', number);
}

/** The header of a block of `node`'s chain; undefined when its chain is not that high. */
export async function headerOf(node: TronNode, number: number): Promise<BlockHeader | undefined> {
  return node.blocks.header('full', number);
}

/** The header of a final block of `node`; undefined when its solid head is not that high. */
export async function solidHeaderOf(node: TronNode, number: number): Promise<BlockHeader | undefined> {
  return node.blocks.header('solid', number);
}

/** The solid head of one node. */
export async function solidHeadOf(node: TronNode): Promise<BlockHeader> {
  return node.blocks.head('solid');
}

/** What `from` has delegated to `to` for energy by the head's state of `node`, what is pending there included. */
export async function delegatedSunAt(node: TronNode, from: string, to: string): Promise<Sun> {
  const body = { fromAddress: from, toAddress: to, visible: true };
  return sun(sumOfRows(node, await node.full('wallet/getdelegatedresourcev2', body)));
}

/** The act in a transaction as `node` knows it; undefined when it is of no type of ours. Throws NodeFault. */
export async function signedActOf(node: TronNode, port: PortName, txid: string): Promise<SignedAct | undefined> {
  return node.blocks.signedAct(port, txid);
}

/** Where `node` has a transaction in a block of its chain; undefined when it knows none. */
export async function placeOf(node: TronNode, txid: string): Promise<TransactionPlace | undefined> {
  return readPlace(node, txid, await node.full('wallet/gettransactioninfobyid', { value: txid }));
}

/** Where `node` has a transaction in its solid chain; undefined when its solid chain has none. */
export async function solidPlaceOf(node: TronNode, txid: string): Promise<TransactionPlace | undefined> {
  return readPlace(node, txid, await node.solid('walletsolidity/gettransactioninfobyid', { value: txid }));
}

function readPlace(node: TronNode, txid: string, json: JsonObject): TransactionPlace | undefined {
  if (Object.keys(json).length === 0) return undefined;
  if (json['id'] !== txid) throw nonsense(node, 'information on another transaction');
  const { block, fee } = amounts(node, json, { block: 'blockNumber', fee: 'fee' });
  return { blockNumber: Number(block), feeSun: sun(fee), succeeded: hasSucceeded(json) };
}
