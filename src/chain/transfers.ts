/**
 * What a transaction moved to whom: by its own bytes, which its id stands for, and by its receipt, which nothing stands
 * for but the word of the node. Pure. What is strange in a receipt is no transfer and stops nothing: a receipt is full of
 * what third parties wrote.
 */
import { TRANSFER_EVENT } from '../domain/sizing.js';
import { addressFromBytes } from './address.js';
import { addressIn, contractIn, type ContractBytes, type ContractShape } from './contract-bytes.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';

/**
 * `log`: a transfer event of a token; `internal`: TRX that a contract sent; `destroyed`: tokens that their contract's owner
 * took from a blacklisted holder.
 */
export type TransferKind = 'native' | 'log' | 'internal' | 'destroyed';

/** One movement. Its transaction, its kind and its position name it, once and for ever. */
export interface Transfer {
  readonly kind: TransferKind;
  /**
   * Its place in the receipt, from 0. Of a log, among all that are there; of an internal transaction, among those that can
   * move their value: whether a node keeps others is a setting of it (java-tron: vm.saveFeaturedInternalTx).
   */
  readonly position: number;
  /** The contract that wrote the event; undefined of TRX. */
  readonly contract: string | undefined;
  readonly from: string;
  readonly to: string;
  /** In the smallest unit, above 0. */
  readonly amount: bigint;
  /** Of a log: whether the token kept this amount as its fee of a transfer that its sender ordered. */
  readonly isTokenFee?: true;
}

export interface TransactionTransfers {
  /** Who made it and pays its fee; undefined of types that move nothing. */
  readonly owner: string | undefined;
  readonly transfers: readonly Transfer[];
  /** Entries that move something, but not how much exactly can be read here: the receipt is to be read another way. */
  readonly isInexact: boolean;
}

/** TRON: contract types. */
const TRANSFER_TYPE = 1;
const DEPLOY_TYPE = 30;
const CALL_TYPE = 31;

/** TRON (balance_contract.proto, smart_contract.proto). */
const SHAPES: Readonly<Record<number, ContractShape>> = {
  [TRANSFER_TYPE]: { name: 'protocol.TransferContract', fields: { 1: 'bytes', 2: 'bytes', 3: 'varint' } },
  [DEPLOY_TYPE]: { name: 'protocol.CreateSmartContract', fields: { 1: 'bytes' } },
  [CALL_TYPE]: { name: 'protocol.TriggerSmartContract', fields: { 1: 'bytes', 4: 'bytes' } },
};

const SUCCESS = 'SUCCESS';
/** keccak256 of transfer(address,uint256), its first four bytes, and its two arguments. */
const TRANSFER_CALL = /^a9059cbb(?:0{24}|0{22}41)([0-9a-f]{40})([0-9a-f]{64})$/;
/** keccak256 of DestroyedBlackFunds(address,uint256). */
const DESTROYED_EVENT = '61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6';
/** TRON: what an internal transaction's note is when it moves its value; others (delegations, votes) show one too. */
const MOVING_NOTES: ReadonlySet<unknown> = new Set(['call', 'create', 'suicide'].map(hexOf));
/** A topic's address: twelve bytes in front, of which older compilers fill the last with TRON's prefix. */
const ADDRESS_TOPIC = /^0{22}(?:00|41)[0-9a-f]{40}$/;
const WORD = /^[0-9a-f]{64}$/;
const LOG_ADDRESS = /^(?:41)?([0-9a-f]{40})$/;
const ADDRESS = /^41[0-9a-f]{40}$/;

const NONE: TransactionTransfers = { owner: undefined, transfers: [], isInexact: false };

/**
 * All transfers of one transaction. `result`: `contractRet` beside it in its block; `info`: what the node says of its
 * execution. Only what succeeded moved anything.
 */
export function transfersOf(rawData: Uint8Array, result: unknown, info: JsonObject): TransactionTransfers {
  const contract = contractIn(rawData, SHAPES);
  if (contract === undefined) return NONE;
  const owner = addressIn(contract.message.bytes(1));
  const none = { ...NONE, owner };
  if (result !== SUCCESS || info['result'] === 'FAILED') return none;
  if (contract.type === TRANSFER_TYPE) {
    const [from, to] = [addressIn(contract.message.bytes(1)), addressIn(contract.message.bytes(2))];
    const amount = contract.message.int64(3);
    if (from === undefined || to === undefined || amount <= 0n) return none;
    return { ...none, transfers: [{ kind: 'native', position: 0, contract: undefined, from, to, amount }] };
  }
  const receipt = info['receipt'];
  if (!isJsonObject(receipt) || receipt['result'] !== SUCCESS) return none;
  const logged = placesOf(info['log']).flatMap(([entry, position]) => loggedTransfer(entry, position) ?? []);
  const destroyed = placesOf(info['log']).flatMap(([entry, position]) => destroyedFunds(entry, position) ?? []);
  const internal = objectsOf(info['internal_transactions'])
    .filter(({ note }) => MOVING_NOTES.has(note))
    .map((entry, position) => internalTransfer(entry, position));
  return {
    owner,
    transfers: [
      ...withTokenFee(logged, owner, orderedBy(contract)),
      ...destroyed,
      ...internal.flatMap((each) => (each === 'inexact' ? [] : (each ?? []))),
    ],
    isInexact: internal.includes('inexact'),
  };
}

interface OrderedTransfer {
  readonly to: string;
  readonly amount: bigint;
}

/** The transfer that a call orders by its own bytes, which the transaction's id vouches for. */
function orderedBy({ type, message }: ContractBytes): OrderedTransfer | undefined {
  const [, to, amount] =
    TRANSFER_CALL.exec(type === CALL_TYPE ? Buffer.from(message.bytes(4)).toString('hex') : '') ?? [];
  return to === undefined || amount === undefined
    ? undefined
    : { to: addressOf(`41${to}`), amount: BigInt(`0x${amount}`) };
}

/**
 * Marks the fee of the token itself: the caller ordered one transfer, less arrived, and a second event of the same
 * token takes exactly what is missing to a third address. A contract that moves a caller's tokens by an allowance
 * orders no transfer, so nothing that it moves is a fee.
 */
function withTokenFee(
  logged: readonly Transfer[],
  owner: string | undefined,
  ordered: OrderedTransfer | undefined,
): readonly Transfer[] {
  if (ordered === undefined) return logged;
  const sent = logged.filter(({ from }) => from === owner);
  const [arrived, ...more] = sent.filter(({ to }) => to === ordered.to);
  const [fee, ...others] = sent.filter(({ to }) => to !== ordered.to);
  if (arrived === undefined || fee === undefined || more.length + others.length > 0) return logged;
  if (fee.contract !== arrived.contract || fee.amount + arrived.amount !== ordered.amount) return logged;
  return logged.map((each) => (each === fee ? { ...fee, isTokenFee: true } : each));
}

/** Entries with their places, of which one that is no object takes one too. */
function placesOf(list: unknown): [JsonObject, number][] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  return entries.flatMap((entry, position): [JsonObject, number][] => (isJsonObject(entry) ? [[entry, position]] : []));
}

/** TRC20: sender and receiver are indexed, the value is the data. */
function loggedTransfer(log: JsonObject, position: number): Transfer | undefined {
  const topics: readonly unknown[] = Array.isArray(log['topics']) ? log['topics'] : [];
  const [event, from, to] = topics;
  const { address, data } = log;
  if (event !== TRANSFER_EVENT || topics.length !== 3) return undefined;
  if (typeof from !== 'string' || typeof to !== 'string' || typeof address !== 'string' || typeof data !== 'string') {
    return undefined;
  }
  const contract = LOG_ADDRESS.exec(address)?.[1];
  if (!ADDRESS_TOPIC.test(from) || !ADDRESS_TOPIC.test(to) || contract === undefined || !WORD.test(data))
    return undefined;
  const amount = BigInt(`0x${data}`);
  if (amount === 0n) return undefined;
  return {
    kind: 'log',
    position,
    contract: addressOf(`41${contract}`),
    from: addressOf(`41${from.slice(24)}`),
    to: addressOf(`41${to.slice(24)}`),
    amount,
  };
}

/** Tokens that were destroyed at a holder: the event has no receiver, so the contract stands for it. */
function destroyedFunds({ address, topics, data }: JsonObject, position: number): Transfer | undefined {
  if (!Array.isArray(topics) || typeof address !== 'string' || typeof data !== 'string') return undefined;
  // The holder is the second topic where the contract indexes it; else it comes first in the data, as on Ethereum.
  const [event, ...indexed] = topics as readonly unknown[];
  const words = [...indexed, ...(data.match(/.{64}/g) ?? [])];
  const [holder, amount] = words;
  const contract = LOG_ADDRESS.exec(address)?.[1];
  if (event !== DESTROYED_EVENT || words.length !== 2 || contract === undefined) return undefined;
  if (typeof holder !== 'string' || typeof amount !== 'string') return undefined;
  if (!ADDRESS_TOPIC.test(holder) || !WORD.test(amount) || BigInt(`0x${amount}`) === 0n) return undefined;
  const token = addressOf(`41${contract}`);
  return {
    kind: 'destroyed',
    position,
    contract: token,
    from: addressOf(`41${holder.slice(24)}`),
    to: token,
    amount: BigInt(`0x${amount}`),
  };
}

/** TRX that a contract sent. TRON: TRC10 tokens are further values of the same entry, with an id. */
function internalTransfer(entry: JsonObject, position: number): Transfer | 'inexact' | undefined {
  const { caller_address: from, transferTo_address: to, rejected, callValueInfo } = entry;
  if (rejected !== undefined && rejected !== false) return undefined;
  if (typeof from !== 'string' || typeof to !== 'string' || !ADDRESS.test(from) || !ADDRESS.test(to)) return undefined;
  const values = objectsOf(callValueInfo).filter(({ tokenId }) => tokenId === undefined);
  const [value, ...more] = values;
  if (value === undefined || more.length > 0) return undefined;
  const amount = int64(value['callValue']);
  if (amount === undefined) return typeof value['callValue'] === 'number' ? 'inexact' : undefined;
  if (amount <= 0n) return undefined;
  return { kind: 'internal', position, contract: undefined, from: addressOf(from), to: addressOf(to), amount };
}

function addressOf(hex: string): string {
  return addressFromBytes(Buffer.from(hex, 'hex'));
}

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex');
}
