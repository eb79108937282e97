/** Parses blocks as nodes print them, reduced to the data that proofs need: identity, time and bytes. */
import { createHash } from 'node:crypto';
import { idOf } from './block-header.js';
import { NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';
import { actOf, callerIn, type OwnedAct } from './transaction-owner.js';

export interface BlockHead {
  readonly number: number;
  /** Lowercase hex; its first eight bytes are the number. */
  readonly id: string;
  readonly timestampMs: number;
}

/** A block without its transactions. */
export interface BlockHeader extends BlockHead {
  readonly parentId: string;
  /** True when the header says that there are no transactions; undefined when it says nothing about them. */
  readonly isEmpty: boolean | undefined;
}

/** A transaction of a type that our wallets make, as found in a block. */
export interface SignedAct {
  readonly act: OwnedAct;
  readonly rawData: Buffer;
  readonly signatures: readonly Buffer[];
}

/** A transaction as found in a block. */
export interface BlockTransaction {
  /** sha256 of the bytes in the block, computed here: the node's own `txID` is not trusted. */
  readonly txid: string;
  readonly succeeded: boolean;
  /** Set for the types that our wallets make. The bytes of all other types are not kept. */
  readonly signed: SignedAct | undefined;
  /** The caller of a contract, as hex of 21 bytes. */
  readonly caller?: string | undefined;
}

/** A transaction with data that is not kept in the block: all its bytes, and the result that the node reports. */
export interface GivenTransaction {
  readonly read: BlockTransaction;
  readonly rawData: Buffer;
  readonly result: unknown;
}

/** A block read from its bytes, with the bytes of all its transactions, in the order of `block.transactions`. */
export interface GivenBlock {
  readonly block: Block;
  readonly given: readonly GivenTransaction[];
}

export interface Block extends BlockHeader {
  readonly transactions: readonly BlockTransaction[];
  /** True when read from its bytes. Otherwise `transactions` are only ids as listed by the node, without content. */
  readonly isWhole: boolean;
  /** Of a list: ids of transactions that may be acts like ours. Undefined without a list. */
  readonly unknown?: readonly string[] | undefined;
}

const ID_PATTERN = /^[0-9a-f]{64}$/;
const HEX_PATTERN = /^(?:[0-9a-f]{2})+$/;
/** TRON: the maximum number of keys in a permission. */
const SIGNATURES_MAX = 5;

/** Returns the txid of raw transaction bytes (TRON: sha256). */
export function txidOf(rawData: Uint8Array): string {
  return createHash('sha256').update(rawData).digest('hex');
}

function readSignatures(list: unknown): readonly Buffer[] {
  const given: readonly unknown[] = Array.isArray(list) ? list.slice(0, SIGNATURES_MAX) : [];
  return given.flatMap((hex) => (typeof hex === 'string' && HEX_PATTERN.test(hex) ? Buffer.from(hex, 'hex') : []));
}

function readTransaction(json: JsonObject): GivenTransaction | undefined {
  const hex = json['raw_data_hex'];
  if (typeof hex !== 'string' || !HEX_PATTERN.test(hex)) return undefined;
  const rawData = Buffer.from(hex, 'hex');
  const result = objectsOf(json['ret'])[0]?.['contractRet'];
  const act = actOf(rawData);
  const read = {
    txid: txidOf(rawData),
    succeeded: result === 'SUCCESS' || result === undefined,
    ...(act === undefined && { caller: callerIn(rawData) }),
    signed: act && { act, rawData: apart(rawData), signatures: readSignatures(json['signature']) },
  };
  return { read, rawData, result };
}

/** Copies bytes into separate memory. Small buffers share a pool, so keeping one would keep its neighbours too. */
function apart(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/**
 * Returns the act in a single transaction as `node` prints it; undefined when its type is none of ours. Throws
 * NodeError.
 */
export function readSignedAct(node: string, txid: string, json: JsonObject): SignedAct | undefined {
  const read = readTransaction(json);
  if (read?.read.txid !== txid) throw new NodeError(node, 'nonsense', 'another transaction than was asked for');
  return read.read.signed;
}

/**
 * Reads a block's header from the answer of `node`. Throws NodeError when the answer is no block (an empty object
 * included).
 */
export function readHeader(node: string, json: JsonObject): BlockHeader {
  const id = json['blockID'];
  const header = isJsonObject(json['block_header']) ? json['block_header']['raw_data'] : undefined;
  if (typeof id !== 'string' || !ID_PATTERN.test(id) || !isJsonObject(header)) {
    throw new NodeError(node, 'nonsense', 'no block in the answer');
  }
  const number = int64(header['number']);
  const timestamp = int64(header['timestamp']);
  const parentId = header['parentHash'];
  if (number === undefined || timestamp === undefined || typeof parentId !== 'string') {
    throw new NodeError(node, 'nonsense', 'a block without number, time or parent');
  }
  if (BigInt(`0x${id.slice(0, 16)}`) !== number) {
    throw new NodeError(node, 'nonsense', 'a block whose id and number differ');
  }
  // Rental ends are computed from block times, and forks are found by parents. Both are trustworthy only if they match
  // the id. The genesis block's id is not computed like the others, and its time and parent are never used.
  if (number > 0n && (idOf(header) ?? id) !== id) {
    throw new NodeError(node, 'nonsense', 'a block whose header is not the one that its id stands for');
  }
  const root = header['txTrieRoot'];
  const isEmpty = typeof root === 'string' ? /^0*$/.test(root) : undefined;
  return { number: Number(number), id, parentId, timestampMs: Number(timestamp), isEmpty };
}

function isContradicted({ isEmpty }: BlockHeader, count: number): boolean {
  return isEmpty !== undefined && isEmpty !== (count === 0);
}

/** Reads a block from the answer of `node`. Throws NodeError when it is no block or any transaction is unreadable. */
export function readBlock(node: string, json: JsonObject): Block {
  return readGivenBlock(node, json).block;
}

/** Does the same as `readBlock` and returns the bytes of all transactions too. */
export function readGivenBlock(node: string, json: JsonObject): GivenBlock {
  const header = readHeader(node, json);
  const list = json['transactions'] ?? [];
  const given = objectsOf(list).flatMap((transaction) => readTransaction(transaction) ?? []);
  // TRON: the root of an empty block is zero. An omitted transaction could be ours.
  const count = Array.isArray(list) ? list.length : -1;
  if (given.length !== count || isContradicted(header, count)) {
    if (header.number > 0) throw new NodeError(node, 'nonsense', 'a block whose transactions cannot all be read');
  }
  return { block: { ...header, transactions: given.map(({ read }) => read), isWhole: true }, given };
}

/**
 * Returns true if a transaction succeeded, by the node's report on its execution. TRON: a missing result is a success.
 */
export function hasSucceeded(info: JsonObject): boolean {
  const receipt = isJsonObject(info['receipt']) ? info['receipt']['result'] : undefined;
  return info['result'] !== 'FAILED' && (receipt === undefined || receipt === 'SUCCESS');
}

/**
 * Builds a block from the execution report of its transactions. TRON (gettransactioninfobyblocknum): one entry per
 * transaction, with a contract address where a contract was called or created. Throws NodeError.
 */
export function listedBlock(node: string, header: BlockHeader, infos: unknown): Block {
  const list: readonly unknown[] = Array.isArray(infos) ? infos : [];
  if (!Array.isArray(infos) || isContradicted(header, list.length)) {
    throw new NodeError(node, 'nonsense', 'no list of a block');
  }
  const unknown: string[] = [];
  const transactions = list.map((info: unknown): BlockTransaction => {
    const txid = isJsonObject(info) ? info['id'] : undefined;
    if (!isJsonObject(info) || typeof txid !== 'string' || !ID_PATTERN.test(txid)) {
      throw new NodeError(node, 'nonsense', 'a list of a block with no transaction in it');
    }
    if (int64(info['blockNumber']) !== BigInt(header.number)) {
      throw new NodeError(node, 'nonsense', 'a list of another block');
    }
    const succeeded = hasSucceeded(info);
    if (succeeded && info['contract_address'] === undefined) unknown.push(txid);
    return { txid, succeeded, signed: undefined };
  });
  return { ...header, transactions, isWhole: false, unknown };
}
