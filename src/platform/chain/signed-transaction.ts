/**
 * Builds our transactions locally from known parts, derives their ids, and parses the bytes back before they are used.
 * Never signs bytes made by a node. Besides transfer-transaction.ts, the only importer of tronweb.
 */
import { utils } from 'tronweb';
import { invariant } from '../../domain/errors.js';
import type { Resource } from '../../domain/resource.js';
import { sun, type Sun } from '../../domain/units.js';
import { addressToHex } from './address.js';
import { txidOf, type BlockHead } from './block.js';
import { ForeignTypeError, readRawData, UnreadableError, type RawData, type SignableType } from './raw-data.js';

/** The action of one of our transactions. Lock is always false. */
export type ChainAction =
  | {
      readonly type: 'delegate' | 'undelegate';
      readonly owner: string;
      readonly receiver: string;
      readonly amountSun: Sun;
      readonly resource: Resource;
    }
  | { readonly type: 'activate'; readonly owner: string; readonly receiver: string };

export interface BuildTerms {
  readonly permissionId: number;
  /** A solid block: if a revertible one were reverted, the transaction would become invalid with it. */
  readonly reference: BlockHead;
  readonly expiresAtMs: number;
  /** TRON does not validate it. It makes two equal actions two different transactions. */
  readonly timestampMs: number;
}

export interface BuiltTransaction {
  readonly rawData: Buffer;
  readonly txid: string;
}

/** The content of raw transaction bytes, as far as our own transactions use it. */
export interface ParsedTransaction {
  readonly action: ChainAction;
  readonly permissionId: number;
  readonly expiresAtMs: number;
}

const REF_BYTES = /^[0-9a-f]{4}$/;

/**
 * Builds `action` as an unsigned transaction. Deterministic: the same arguments give the same bytes. Uses tronweb's
 * encoder without its builder: 48 to 70 µs a transaction instead of 213 to 238. An independent parser checks the bytes
 * in place of the builder's address checks.
 */
export function buildTransaction(action: ChainAction, terms: BuildTerms): BuiltTransaction {
  const refBlockBytes = (terms.reference.number & 0xffff).toString(16).padStart(4, '0');
  invariant(REF_BYTES.test(refBlockBytes), 'a reference is two bytes of the block number');
  const { type, value } = contractOf(action);
  const encodable = utils.transaction.txJsonToPb({
    visible: false,
    raw_data: {
      contract: [{ type, parameter: { value }, Permission_id: terms.permissionId }],
      ref_block_bytes: refBlockBytes,
      ref_block_hash: terms.reference.id.slice(16, 32),
      expiration: terms.expiresAtMs,
      timestamp: terms.timestampMs,
    },
  }) as Encodable;
  const rawData = Buffer.from(encodable.getRawData().serializeBinary());
  const says = readRawData(rawData);
  invariant(says.type === type && says.owner === action.owner && says.receiver === action.receiver, 'built as asked');
  invariant(says.permissionId === terms.permissionId, 'built bytes carry the permission asked for');
  if (action.type !== 'activate') {
    invariant(says.amountSun === action.amountSun && !says.isLocked, 'built as asked');
    invariant(says.resource === action.resource, 'built bytes move the resource asked for');
  }
  return { rawData, txid: txidOf(rawData) };
}

/** The used part of the protobuf Transaction that tronweb's encoder returns. */
interface Encodable {
  getRawData(): { serializeBinary(): Uint8Array };
}

const CONTRACTS = {
  delegate: 'DelegateResourceContract',
  undelegate: 'UnDelegateResourceContract',
  activate: 'AccountCreateContract',
} as const;

function contractOf(action: ChainAction): { readonly type: SignableType; readonly value: object } {
  const type = CONTRACTS[action.type];
  const owner = addressToHex(action.owner);
  const receiver = addressToHex(action.receiver);
  invariant(owner !== receiver, 'a wallet does nothing for itself');
  if (action.type === 'activate') return { type, value: { owner_address: owner, account_address: receiver } };
  // tronweb takes a number here. A stake beyond 2^53 sun (nine thousand million TRX) in one leg is a bug.
  const amount = Number(action.amountSun);
  invariant(Number.isSafeInteger(amount) && amount > 0, 'a delegation is some stake and fits a JSON integer');
  const { resource } = action;
  return { type, value: { owner_address: owner, receiver_address: receiver, balance: amount, resource } };
}

export function sameAction(a: ChainAction, b: ChainAction): boolean {
  if (a.type !== b.type || a.owner !== b.owner || a.receiver !== b.receiver) return false;
  if (a.type === 'activate' || b.type === 'activate') return true;
  return a.amountSun === b.amountSun && a.resource === b.resource;
}

const TYPES = {
  DelegateResourceContract: 'delegate',
  UnDelegateResourceContract: 'undelegate',
  AccountCreateContract: 'activate',
} as const;

/**
 * Parses raw bytes as one of our actions. Returns undefined for anything else (locked, other type) and for any byte that
 * our builder would not write.
 */
export function parseTransaction(rawData: Buffer): ParsedTransaction | undefined {
  try {
    const says = readRawData(rawData);
    const action = actionOf(says);
    const expiresAtMs = Number(says.expiresAtMs);
    if (action === undefined || !Number.isSafeInteger(expiresAtMs)) return undefined;
    return { action, permissionId: says.permissionId, expiresAtMs };
  } catch (error) {
    if (error instanceof UnreadableError || error instanceof ForeignTypeError) return undefined;
    throw error;
  }
}

function actionOf(says: RawData): ChainAction | undefined {
  const { owner, receiver, amountSun, resource } = says;
  const type = TYPES[says.type];
  if (type === 'activate') return { type, owner, receiver };
  if (amountSun === undefined || resource === undefined || says.isLocked) return undefined;
  return { type, owner, receiver, amountSun: sun(amountSun), resource };
}

const SIGNATURE_BYTES = 65;

function lengthDelimited(tag: number, body: Uint8Array): Buffer {
  const size: number[] = [];
  for (let rest = body.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      size.push(rest);
      break;
    }
    size.push((rest & 0x7f) | 0x80);
  }
  return Buffer.concat([Buffer.of(tag, ...size), body]);
}

/** Returns the protobuf Transaction (raw_data = 1, signature = 2) as hex, with exactly the recorded bytes. */
export function signedTransactionHex(rawData: Uint8Array, signature: Uint8Array): string {
  invariant(signature.length === SIGNATURE_BYTES, 'a signature has 65 bytes');
  return Buffer.concat([lengthDelimited(0x0a, rawData), lengthDelimited(0x12, signature)]).toString('hex');
}
