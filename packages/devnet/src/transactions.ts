// Transactions: parsing from JSON or hex, ids, signature checks against the owner's permissions, and printing. TRON:
// Util.packTransaction, TransactionCapsule.validateSignature.
import secp256k1 from 'secp256k1';
import { accountAt, activePermissionOf, ownerPermissionOf, permissionOf, type Permission } from './accounts.js';
import { addressOfPublicKey, base58OfHex, deployedAddress, sha256Hex } from './address.js';
import { BroadcastError, NodeError, nullPointer } from './errors.js';
import { int, list, num, sub, text, texts } from './fields.js';
import { looseHex, mergeJson, notHex, printMessage } from './json-format.js';
import { type Json, type JsonNode, member, textOf } from './json.js';
import { CONTRACT_TYPES, type Message, type Value, decode, encode, enumName } from './schema.js';
import type { Reader } from './state.js';

export interface Tx {
  readonly id: string;
  readonly raw: Buffer;
  readonly signatures: readonly string[];
  readonly data: Message;
  /** Type of its one contract. */
  readonly type: string;
  readonly body: Message;
  /** Any text whose part after the last slash names the type; printed unchanged. */
  readonly typeUrl: string;
  readonly permissionId: number;
  readonly owner: string;
  readonly expirationMs: bigint;
  /** Size of the whole transaction on the wire, with signatures. */
  readonly size: number;
}

const TYPE_URL = 'type.googleapis.com/protocol.';

function unreadable(type: string): Error {
  return new NodeError('java.lang.IllegalArgumentException', `No enum constant for contract type ${type}`);
}

function assemble(raw: Buffer, data: Message, signatures: readonly string[], body: Message | undefined): Tx {
  const contract = list(data, 'contract')[0] ?? {};
  const type = enumName('ContractType', num(contract, 'type'));
  if (type === undefined) throw unreadable(String(num(contract, 'type')));
  const parameter = sub(contract, 'parameter') ?? {};
  const content = body ?? decode(type, Buffer.from(text(parameter, 'value'), 'hex'));
  return {
    id: sha256Hex(raw),
    raw,
    signatures,
    data,
    type,
    body: content,
    typeUrl: text(parameter, 'type_url'),
    permissionId: num(contract, 'Permission_id'),
    owner: text(content, 'owner_address'),
    expirationMs: int(data, 'expiration'),
    size: wireSize(raw.length) + signatures.reduce((n, s) => n + wireSize(s.length / 2), 0),
  };
}

function wireSize(length: number): number {
  return 1 + (length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4) + length;
}

/**
 * A stored transaction: raw_data and signatures with one character per byte. The strings are copies: a slice of a
 * pooled buffer or of a request's body would keep all of it alive while the chain runs.
 */
export interface Packed {
  readonly raw: string;
  readonly signatures: readonly string[];
}

export function packTx(tx: Tx): Packed {
  return {
    raw: tx.raw.toString('latin1'),
    signatures: tx.signatures.map((s) => Buffer.from(s, 'hex').toString('latin1')),
  };
}

export function unpackTx({ raw, signatures }: Packed): Tx {
  const bytes = Buffer.from(raw, 'latin1');
  const signed = signatures.map((s) => Buffer.from(s, 'latin1').toString('hex'));
  return assemble(bytes, decode('raw', bytes), signed, undefined);
}

/** Builds an unsigned transaction with one contract. */
export function buildTx(
  type: string,
  body: Message,
  permissionId: number,
  fields: Readonly<Record<string, Value>>,
): Tx {
  const value = encode(type, body).toString('hex');
  const contract: Message = {
    type: CONTRACT_TYPES[type] ?? 0,
    parameter: { type_url: TYPE_URL + type, value },
    Permission_id: permissionId,
  };
  const data: Message = { ...fields, contract: [contract] };
  return assemble(encode('raw', data), data, [], body);
}

/** Parses the body of broadcasttransaction: raw_data and signature; ignores raw_data_hex and txID. */
export function txOfJson(node: JsonNode, source: string, visible: boolean): Tx {
  const rawNode = member(node, 'raw_data');
  if (rawNode?.kind !== 'object')
    throw nullPointer(
      'Cannot invoke "com.alibaba.fastjson.JSONObject.getJSONArray(String)" because "<local3>" is null',
    );
  const contracts = member(rawNode, 'contract');
  if (contracts?.kind !== 'array')
    throw nullPointer('Cannot invoke "com.alibaba.fastjson.JSONArray.iterator()" because "<local4>" is null');
  const packed = contracts.items.flatMap((item) => packContract(item, visible) ?? []);
  const data: Message = { ...outerFields(rawNode, source), contract: packed.map((p) => p.contract) };
  const signed = member(node, 'signature');
  const signatures = signed?.kind === 'array' ? signed.items.map((item) => looseHex(textOf(item) ?? '') ?? '') : [];
  if (packed.length === 0) return emptyTx(data, signatures);
  return assemble(encode('raw', data), data, signatures, packed[0]?.body);
}

/**
 * Returns raw_data without its contracts. TRON: unreadable raw_data leaves a null transaction, which causes the error.
 */
function outerFields(rawNode: JsonNode & { kind: 'object' }, source: string): Message {
  try {
    return mergeJson('raw', withoutContracts(rawNode), source, false);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    throw nullPointer(
      'Cannot invoke "org.tron.protos.Protocol$Transaction.getRawData()" because "transaction" is null',
    );
  }
}

/** Returns a transaction without a contract: it has an id but can never be executed. */
function emptyTx(data: Message, signatures: readonly string[]): Tx {
  const raw = encode('raw', data);
  return {
    id: sha256Hex(raw),
    raw,
    signatures,
    data,
    type: '',
    body: {},
    typeUrl: '',
    permissionId: 0,
    owner: '',
    expirationMs: 0n,
    size: raw.length,
  };
}

function withoutContracts(node: JsonNode & { kind: 'object' }): JsonNode {
  const fields = new Map(node.fields);
  fields.delete('contract');
  return { ...node, fields };
}

/** Parses one contract of raw_data. Returns undefined for an unreadable one, which the node only logs. */
function packContract(node: JsonNode, visible: boolean): { contract: Message; body: Message } | undefined {
  const type = textOf(member(node, 'type')) ?? '';
  const parameter = member(node, 'parameter');
  const value = member(parameter, 'value');
  if (CONTRACT_TYPES[type] === undefined || value === undefined) return undefined;
  let body: Message;
  try {
    body = mergeJson(type, value, value.raw, visible);
  } catch (error) {
    if (error instanceof NodeError) return undefined;
    throw error;
  }
  const permissionId = Number.parseInt(textOf(member(node, 'Permission_id')) ?? '0', 10);
  const contract: Message = {
    type: CONTRACT_TYPES[type] ?? 0,
    parameter: { type_url: textOf(member(parameter, 'type_url')) ?? '', value: encode(type, body).toString('hex') },
    Permission_id: Number.isSafeInteger(permissionId) ? permissionId : 0,
  };
  return { contract, body };
}

/**
 * Parses the hex of broadcasthex. Throws NodeError for text that is not hex, ProtobufError for an invalid transaction.
 */
export function txOfHex(hex: string): Tx {
  const bare = hex.startsWith('0x') ? hex.slice(2) : hex;
  if (!/^([0-9a-fA-F]{2})*$/.test(bare)) throw notHex();
  const outer = decode('Transaction', Buffer.from(bare, 'hex'));
  const raw = Buffer.from(text(outer, 'raw_data'), 'hex');
  const data = decode('raw', raw);
  const signatures = texts(outer, 'signature');
  return list(data, 'contract').length === 0 ? emptyTx(data, signatures) : assemble(raw, data, signatures, undefined);
}

/** Prints raw_data as the node does, with the contract's parameter decoded. */
function printRaw(tx: Tx, visible: boolean): Json {
  const printed = printMessage('raw', tx.data, visible) as Record<string, Json>;
  if (tx.type === '') return printed;
  const contract = {
    parameter: { value: printMessage(tx.type, tx.body, visible), type_url: tx.typeUrl },
    type: tx.type,
    ...(tx.permissionId === 0 ? {} : { Permission_id: tx.permissionId }),
  };
  return { ...printed, contract: [contract] };
}

/** Prints a transaction as the node does. `ret` appears for broadcast ones. */
export function printTx(tx: Tx, visible: boolean, ret?: Json): Record<string, Json> {
  return {
    ...(ret === undefined ? { visible } : { ret: [ret] }),
    ...(tx.signatures.length === 0 ? {} : { signature: tx.signatures }),
    ...(tx.type === 'CreateSmartContract' ? { contract_address: deployedAddress(tx.id, tx.owner) } : {}),
    txID: tx.id,
    raw_data: printRaw(tx, visible),
    raw_data_hex: tx.raw.toString('hex'),
  };
}

function signatureError(message: string): BroadcastError {
  return new BroadcastError('SIGERROR', `Validate signature error: ${message}`);
}

/** A signature that is malformed, that no key can have made, or that the permission does not allow. */
export class SignatureFault extends Error {
  constructor(
    readonly kind: 'format' | 'recovery' | 'permission',
    message: string,
  ) {
    super(message);
  }
}

const SIGNATURE_BYTES_MIN = 65;
const SIGNATURE_BYTES_MAX = 68;

/** Refuses signatures of another length before anything else. TRON: Wallet.broadcastTransaction since 4.8.2. */
export function checkSignatureSizes({ signatures }: Tx): void {
  for (const signature of signatures) {
    const size = signature.length / 2;
    if (size < SIGNATURE_BYTES_MIN || size > SIGNATURE_BYTES_MAX)
      throw signatureError(`Signature size is ${String(size)}`);
  }
}

/** TRON (Any.is): the part before the last slash is arbitrary. */
export function isOfItsType({ type, typeUrl }: Tx): boolean {
  return typeUrl.includes('/') && typeUrl.slice(typeUrl.lastIndexOf('/') + 1) === `protocol.${type}`;
}

const RECOVERY_ERROR = 'java.lang.IllegalArgumentException: Invalid point compression';
const FIELD_ORDER = BigInt('0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f');
const GROUP_ORDER = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');

/** Recovers the signer's address. Throws SignatureFault with java-tron's message. */
export function signerOf(id: string, signature: string): string {
  const bytes = Buffer.from(signature, 'hex');
  if (bytes.length < 65) throw new SignatureFault('format', `Signature size is ${String(bytes.length)}`);
  let header = bytes[64] ?? 0;
  if (header < 27) header += 27;
  if (header > 34) throw new SignatureFault('recovery', `Header byte out of range: ${String(header)}`);
  const recovery = (header - 27) & 3;
  try {
    const key = secp256k1.ecdsaRecover(bytes.subarray(0, 64), recovery, Buffer.from(id, 'hex'), false);
    return addressOfPublicKey(key);
  } catch {
    const r = BigInt(`0x${signature.slice(0, 64)}`);
    const x = recovery >= 2 ? r + GROUP_ORDER : r;
    const message = x >= FIELD_ORDER ? 'Could not recover public key from signature' : RECOVERY_ERROR;
    throw new SignatureFault('recovery', message);
  }
}

function permissionFor(state: Reader, tx: Tx): Permission | undefined {
  const account = accountAt(state, tx.owner);
  if (account !== undefined) return permissionOf(account, tx.permissionId);
  if (tx.permissionId === 0) return ownerPermissionOf(tx.owner);
  return tx.permissionId === 2 ? activePermissionOf(tx.owner) : undefined;
}

/** Returns true if an active permission allows the transaction's contract type. */
export function allows(permission: Permission, tx: Tx): boolean {
  const type = CONTRACT_TYPES[tx.type] ?? 0;
  const byte = Number.parseInt(permission.operations.slice((type >> 3) * 2, (type >> 3) * 2 + 2), 16);
  return ((byte >> (type & 7)) & 1) === 1;
}

/** Recovered signers by transaction: a mempool transaction is checked again in its block. */
const signersCache = new WeakMap<Tx, readonly string[]>();

/** Checks a transaction's signatures against the owner's permission. Throws BroadcastError SIGERROR. */
export function checkSignatures(state: Reader, tx: Tx): void {
  if (tx.signatures.length === 0 || tx.type === '') throw signatureError('miss sig or contract');
  if (tx.signatures.length > 5) throw signatureError('too many signatures');
  const permission = permissionFor(state, tx);
  if (permission === undefined) throw signatureError("permission isn't exit");
  if (tx.permissionId !== 0) {
    if (permission.type !== 2) throw signatureError('Permission type is error');
    if (!allows(permission, tx)) throw signatureError('Permission denied');
  }
  try {
    if (weigh(permission, tx).weight < permission.threshold) throw signatureError('sig error');
  } catch (error) {
    throw error instanceof SignatureFault ? signatureError(error.message) : error;
  }
}

/**
 * Returns the signers and the sum of their keys' weights. Throws SignatureFault. TRON: TransactionCapsule.checkWeight.
 */
export function weigh(
  permission: Permission,
  tx: Tx,
): { readonly signers: readonly string[]; readonly weight: bigint } {
  if (tx.signatures.length > permission.keys.length)
    throw new SignatureFault(
      'permission',
      `Signature count is ${String(tx.signatures.length)} more than key counts of permission : ${String(permission.keys.length)}`,
    );
  const known = signersCache.get(tx);
  const signers = new Set<string>();
  let weight = 0n;
  tx.signatures.forEach((signature, i) => {
    const signer = known?.[i] ?? signerOf(tx.id, signature);
    const key = permission.keys.find((k) => k.address === signer);
    if (key === undefined || key.weight === 0n)
      throw new SignatureFault(
        'permission',
        `${signature} is signed by ${base58OfHex(signer)} but it is not contained of permission.`,
      );
    if (signers.has(signer)) throw new SignatureFault('permission', `${base58OfHex(signer)} has signed twice!`);
    signers.add(signer);
    weight += key.weight;
  });
  if (known === undefined) signersCache.set(tx, [...signers]);
  return { signers: [...signers], weight };
}
