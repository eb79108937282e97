/** Blocks as nodes print them, reduced to what proofs need: who they are, when, and which bytes they hold. */
import { createHash } from 'node:crypto';
import { idOf } from './block-header.js';
import { NodeFault } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';

export interface BlockHead {
  readonly number: number;
  /** Lowercase hex; its first eight bytes are the number. */
  readonly id: string;
  readonly timestampMs: number;
}

/** A transaction as found in a block. */
export interface BlockTransaction {
  /** sha256 of the bytes in the block, computed here: the node's own `txID` is not trusted. */
  readonly txid: string;
  readonly rawData: Buffer;
  readonly succeeded: boolean;
  readonly signatures: readonly Buffer[];
}

export interface Block extends BlockHead {
  readonly parentId: string;
  readonly transactions: readonly BlockTransaction[];
}

const ID_PATTERN = /^[0-9a-f]{64}$/;
const HEX_PATTERN = /^(?:[0-9a-f]{2})+$/;
/** TRON: as many as a permission may have keys. */
const SIGNATURES_MAX = 5;

/** The txid of raw transaction bytes (TRON: sha256). */
export function txidOf(rawData: Uint8Array): string {
  return createHash('sha256').update(rawData).digest('hex');
}

function readSignatures(list: unknown): readonly Buffer[] {
  const given: readonly unknown[] = Array.isArray(list) ? list.slice(0, SIGNATURES_MAX) : [];
  return given.flatMap((hex) => (typeof hex === 'string' && HEX_PATTERN.test(hex) ? Buffer.from(hex, 'hex') : []));
}

function readTransaction(json: JsonObject): BlockTransaction | undefined {
  const hex = json['raw_data_hex'];
  if (typeof hex !== 'string' || !HEX_PATTERN.test(hex)) return undefined;
  const rawData = Buffer.from(hex, 'hex');
  const result = objectsOf(json['ret'])[0]?.['contractRet'];
  return {
    txid: txidOf(rawData),
    rawData,
    succeeded: result === 'SUCCESS' || result === undefined,
    signatures: readSignatures(json['signature']),
  };
}

/** A block of `node`'s answer; throws NodeFault when it is not one (an empty object included). */
export function readBlock(node: string, json: JsonObject): Block {
  const id = json['blockID'];
  const header = isJsonObject(json['block_header']) ? json['block_header']['raw_data'] : undefined;
  if (typeof id !== 'string' || !ID_PATTERN.test(id) || !isJsonObject(header)) {
    throw new NodeFault(node, 'nonsense', 'no block in the answer');
  }
  const number = int64(header['number']);
  const timestamp = int64(header['timestamp']);
  const parentId = header['parentHash'];
  if (number === undefined || timestamp === undefined || typeof parentId !== 'string') {
    throw new NodeFault(node, 'nonsense', 'a block without number, time or parent');
  }
  if (BigInt(`0x${id.slice(0, 16)}`) !== number) {
    throw new NodeFault(node, 'nonsense', 'a block whose id and number differ');
  }
  // Rentals are counted by block times, forks told by parents: both are only as good as the id they belong to. The first
  // block was written down, not made like the others, and no time or parent of it is ever used.
  if (number > 0n && (idOf(header) ?? id) !== id) {
    throw new NodeFault(node, 'nonsense', 'a block whose header is not the one that its id stands for');
  }
  let unread: readonly JsonObject[] = objectsOf(json['transactions']);
  let transactions: readonly BlockTransaction[] = [];
  return {
    number: Number(number),
    id,
    parentId,
    timestampMs: Number(timestamp),
    // Most blocks are asked for as heads: what is in them is read when somebody looks.
    get transactions() {
      if (unread.length > 0) transactions = unread.flatMap((transaction) => readTransaction(transaction) ?? []);
      unread = [];
      return transactions;
    },
  };
}
