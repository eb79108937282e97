/**
 * Reads one transaction with its receipt from a node, whether it succeeded or failed: what it used, what it burnt, and
 * who took part in it. One node vouches for the receipt, so no decision about money may rest on it.
 */
import { addressFromHex } from './address.js';
import { txidOf } from './block.js';
import { addressIn, contractIn, type ContractBytes, type ContractShape } from './contract-bytes.js';
import { NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';
import type { TronNode } from './node.js';
import { readFields } from './protobuf.js';
import { transfersOf } from './transfers.js';

export const TRANSACTION_PATH = 'wallet/gettransactionbyid';
export const RECEIPT_PATH = 'wallet/gettransactioninfobyid';
export const SOLID_RECEIPT_PATH = 'walletsolidity/gettransactioninfobyid';
export const ENERGY_PRICES_PATH = 'wallet/getenergyprices';

/** Types of transactions that have a report. */
export type ReportedKind = 'account-creation' | 'transfer' | 'asset-transfer' | 'deployment' | 'call';

interface ReportedShape extends ContractShape {
  readonly kind: ReportedKind;
  readonly owner: number;
  /** Number of the field with the recipient, or with the called contract. */
  readonly target?: number;
}

/** TRON (account_contract, balance_contract, asset_issue_contract, smart_contract.proto), by contract type. */
const SHAPES: Readonly<Record<number, ReportedShape>> = {
  0: {
    kind: 'account-creation',
    name: 'protocol.AccountCreateContract',
    fields: { 1: 'bytes', 2: 'bytes' },
    owner: 1,
    target: 2,
  },
  1: {
    kind: 'transfer',
    name: 'protocol.TransferContract',
    fields: { 1: 'bytes', 2: 'bytes' },
    owner: 1,
    target: 2,
  },
  2: {
    kind: 'asset-transfer',
    name: 'protocol.TransferAssetContract',
    fields: { 2: 'bytes', 3: 'bytes' },
    owner: 2,
    target: 3,
  },
  30: { kind: 'deployment', name: 'protocol.CreateSmartContract', fields: { 1: 'bytes' }, owner: 1 },
  31: {
    kind: 'call',
    name: 'protocol.TriggerSmartContract',
    fields: { 1: 'bytes', 2: 'bytes', 3: 'varint', 4: 'bytes' },
    owner: 1,
    target: 2,
  },
};
/** TRON (Tron.proto, Transaction.raw): memo, and the most that a call may burn for energy. */
const RAW = { 10: 'bytes', 18: 'varint' } as const;
const HEX = /^(?:[0-9a-f]{2})+$/;
const HEX_OR_EMPTY = /^(?:[0-9a-f]{2})*$/;
const RESULT = /^[A-Z_]{1,40}$/;
/** `timestamp in ms`:`sun`, separated by commas. */
const PRICE = /^(\d{1,15}):(\d{1,15})$/;

/** Execution of a transaction, as its receipt reports it. */
export interface Execution {
  readonly blockNumber: number;
  readonly blockTimestampMs: number;
  readonly isSolid: boolean;
  /** TRON's contractResult, e.g. `SUCCESS`, `REVERT`, `OUT_OF_ENERGY`. */
  readonly result: string;
  /** All energy of the call, with the surcharge of a busy contract. */
  readonly energy: bigint;
  /** The surcharge of a busy contract within `energy`. */
  readonly penalty: bigint;
  /** The parts of `energy` from the owner's staked or rented energy, and from the contract's deployer. */
  readonly stakedEnergy: bigint;
  readonly deployerEnergy: bigint;
  readonly energyBurnSun: bigint;
  readonly bandwidth: bigint;
  readonly bandwidthBurnSun: bigint;
  /** Everything that was burnt, the parts above included. */
  readonly burnSun: bigint;
  /** Return data of the call; the reason after a revert. Hex. */
  readonly output: string;
  /** Senders and receivers of the transfers that it made. */
  readonly movers: readonly string[];
}

export interface TransactionReport {
  readonly txid: string;
  readonly kind: ReportedKind;
  /** The account that made it and pays for it. */
  readonly owner: string;
  /** The recipient, or the called contract. */
  readonly target: string | undefined;
  /** Calldata of a call, hex. */
  readonly data: string;
  readonly feeLimitSun: bigint;
  readonly hasMemo: boolean;
  readonly signatures: number;
  /** Undefined until it is in a block. */
  readonly execution: Execution | undefined;
}

/**
 * Returns the transaction as `node` has it; undefined if the node does not know it, or for another type of transaction.
 * Throws NodeError.
 */
export async function transactionReportOf(node: TronNode, txid: string): Promise<TransactionReport | undefined> {
  const json = await node.postFull(TRANSACTION_PATH, { value: txid });
  if (Object.keys(json).length === 0) return undefined;
  const hex = json['raw_data_hex'];
  const rawData = typeof hex === 'string' && HEX.test(hex) ? Buffer.from(hex, 'hex') : Buffer.alloc(0);
  if (txidOf(rawData) !== txid) throw nonsense(node, 'another transaction than was asked for');
  const contract = contractIn(rawData, SHAPES);
  const shape = contract && SHAPES[contract.type];
  if (contract === undefined || shape === undefined) return undefined;
  const owner = addressIn(contract.message.bytes(shape.owner));
  if (owner === undefined) return undefined;
  const raw = readFields(rawData, RAW);
  const signatures = json['signature'];
  const isCall = shape.kind === 'call';
  return {
    txid,
    kind: shape.kind,
    owner,
    target: shape.target === undefined ? undefined : addressIn(contract.message.bytes(shape.target)),
    data: isCall ? dataOf(contract) : '',
    feeLimitSun: raw.int64(18),
    hasMemo: raw.bytes(10).length > 0,
    signatures: Array.isArray(signatures) ? signatures.length : 0,
    execution: await executionOf(node, txid, rawData, objectsOf(json['ret'])[0]?.['contractRet']),
  };
}

const dataOf = ({ message }: ContractBytes): string => Buffer.from(message.bytes(4)).toString('hex');

async function executionOf(
  node: TronNode,
  txid: string,
  rawData: Uint8Array,
  contractRet: unknown,
): Promise<Execution | undefined> {
  const solid = await node.postSolid(SOLID_RECEIPT_PATH, { value: txid });
  const isSolid = Object.keys(solid).length > 0;
  const info = isSolid ? solid : await node.postFull(RECEIPT_PATH, { value: txid });
  if (Object.keys(info).length === 0) return undefined;
  if (info['id'] !== txid) throw nonsense(node, 'information on another transaction');
  const { transfers } = transfersOf(rawData, contractRet ?? 'SUCCESS', info);
  return {
    ...readExecution(node, info, contractRet),
    isSolid,
    movers: transfers.flatMap(({ from, to }) => [from, to]),
  };
}

function readExecution(node: TronNode, info: JsonObject, contractRet: unknown): Omit<Execution, 'isSolid' | 'movers'> {
  const receipt = isJsonObject(info['receipt']) ? info['receipt'] : {};
  const amount = (json: JsonObject, name: string): bigint => {
    const value = int64(json[name]);
    if (value === undefined || value < 0n) throw nonsense(node, `a receipt without a believable ${name}`);
    return value;
  };
  const results: readonly unknown[] = Array.isArray(info['contractResult']) ? info['contractResult'] : [];
  const output = results[0] ?? '';
  const result = receipt['result'] ?? contractRet ?? (info['result'] === 'FAILED' ? 'FAILED' : 'SUCCESS');
  if (typeof result !== 'string' || !RESULT.test(result)) throw nonsense(node, 'a receipt with another result');
  return {
    blockNumber: Number(amount(info, 'blockNumber')),
    blockTimestampMs: Number(amount(info, 'blockTimeStamp')),
    result,
    energy: amount(receipt, 'energy_usage_total'),
    penalty: amount(receipt, 'energy_penalty_total'),
    stakedEnergy: amount(receipt, 'energy_usage'),
    deployerEnergy: amount(receipt, 'origin_energy_usage'),
    energyBurnSun: amount(receipt, 'energy_fee'),
    bandwidth: amount(receipt, 'net_usage'),
    bandwidthBurnSun: amount(receipt, 'net_fee'),
    burnSun: amount(info, 'fee'),
    output: typeof output === 'string' && HEX_OR_EMPTY.test(output) ? output : '',
  };
}

/**
 * Returns the price of one energy in sun that a block's transactions paid; undefined if the node's history does not
 * reach it. Throws NodeError.
 */
export async function energyPriceIn(node: TronNode, blockNumber: number): Promise<bigint | undefined> {
  const { prices } = await node.postFull(ENERGY_PRICES_PATH, {});
  if (typeof prices !== 'string') throw nonsense(node, 'no history of energy prices');
  // TRON (MaintenanceManager.applyBlock): the first block at or after the time of a change changes the price, after its
  // transactions. With missed slots it is a later one than that time, so the time of its parent decides.
  const parent = await node.blocks.header('full', blockNumber - 1);
  let price: bigint | undefined;
  for (const entry of prices.split(',')) {
    const [, since, sun] = PRICE.exec(entry) ?? [];
    if (since === undefined || sun === undefined) throw nonsense(node, 'a history of energy prices that is none');
    if (parent !== undefined && Number(since) <= parent.timestampMs) price = BigInt(sun);
  }
  return price;
}

/** A successful call of a contract, with the surcharge that the contract had then. */
export interface SurchargedCall {
  readonly txid: string;
  readonly energy: bigint;
  readonly penalty: bigint;
}

/** Returns a successful call of `contract` in a block of `node`'s chain; undefined if the block has none. */
export async function callIn(
  node: TronNode,
  blockNumber: number,
  contract: string,
): Promise<SurchargedCall | undefined> {
  const infos = await node.blocks.json('full', 'gettransactioninfobyblocknum', blockNumber);
  for (const info of objectsOf(infos)) {
    const { id, contract_address: called, receipt } = info;
    if (typeof id !== 'string' || typeof called !== 'string' || !isJsonObject(receipt)) continue;
    if (!/^41[0-9a-f]{40}$/.test(called) || addressFromHex(called) !== contract || receipt['result'] !== 'SUCCESS')
      continue;
    const [energy, penalty] = [int64(receipt['energy_usage_total']), int64(receipt['energy_penalty_total'])];
    if (energy !== undefined && penalty !== undefined && penalty >= 0n && energy > penalty)
      return { txid: id, energy, penalty };
  }
  return undefined;
}

const nonsense = (node: TronNode, says: string): NodeError => new NodeError(node.name, 'nonsense', says);
