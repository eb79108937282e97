/**
 * Extracts the transfers of a transaction from its bytes, which its id covers, and from its receipt, for which only the
 * node vouches. Third parties write much of a receipt, so a malformed entry is no transfer and no error. Pure.
 */
import { TRANSFER_EVENT } from '../../domain/sizing.js';
import { addressFromBytes } from './address.js';
import { addressIn, contractIn, type ContractBytes, type ContractShape } from './contract-bytes.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';

/**
 * `log`: a transfer event of a token. `internal`: TRX sent by a contract. `destroyed`: tokens that the token's owner
 * took from a blacklisted holder.
 */
export type TransferKind = 'native' | 'log' | 'internal' | 'destroyed';

/** One movement, permanently identified by its transaction, kind and position. */
export interface Transfer {
  readonly kind: TransferKind;
  /**
   * Its place in the receipt, from 0. A log counts among all logs. An internal transaction counts among those that can
   * move value, because keeping the others is a node setting (java-tron: vm.saveFeaturedInternalTx).
   */
  readonly position: number;
  /** The contract that wrote the event; undefined for TRX. */
  readonly contract: string | undefined;
  readonly from: string;
  readonly to: string;
  /** In the smallest unit, above 0. */
  readonly amount: bigint;
  /** Of a log: true if the token kept this amount as its fee of a transfer that the sender ordered. */
  readonly isTokenFee?: true;
}

export interface TransactionTransfers {
  /** The account that made it and pays its fee; undefined for types that move nothing. */
  readonly owner: string | undefined;
  readonly transfers: readonly Transfer[];
  /**
   * True if an internal transfer's amount exceeds exact numbers here: the caller reads the receipt with an exact
   * parser.
   */
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
/** A call of transfer(address,uint256): the first four bytes of its keccak256, then both arguments. */
const TRANSFER_CALL = /^a9059cbb(?:0{24}|0{22}41)([0-9a-f]{40})([0-9a-f]{64})$/;
/** keccak256 of DestroyedBlackFunds(address,uint256). */
const DESTROYED_EVENT = '61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6';
/** TRON: notes of internal transactions that move their value. Others (delegations, votes) show a value too. */
const MOVING_NOTES: ReadonlySet<unknown> = new Set(['call', 'create', 'suicide'].map(hexOf));
/** An address topic has twelve bytes in front. Older compilers put TRON's prefix into the last of them. */
const ADDRESS_TOPIC = /^0{22}(?:00|41)[0-9a-f]{40}$/;
const WORD = /^[0-9a-f]{64}$/;
const LOG_ADDRESS = /^(?:41)?([0-9a-f]{40})$/;
const ADDRESS = /^41[0-9a-f]{40}$/;

const NONE: TransactionTransfers = { owner: undefined, transfers: [], isInexact: false };

/**
 * Returns all transfers of one transaction. `result`: its `contractRet` in the block. `info`: the node's execution
 * report. Only successful transactions move anything.
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

/** Returns the transfer that a call orders in its own bytes, which the transaction's id covers. */
function orderedBy({ type, message }: ContractBytes): OrderedTransfer | undefined {
  const [, to, amount] =
    TRANSFER_CALL.exec(type === CALL_TYPE ? Buffer.from(message.bytes(4)).toString('hex') : '') ?? [];
  return to === undefined || amount === undefined
    ? undefined
    : { to: addressOf(`41${to}`), amount: BigInt(`0x${amount}`) };
}

/**
 * Marks the fee of the token itself. The caller ordered one transfer and less arrived. A second event of the same token
 * moves exactly the difference to a third address. A contract that moves a caller's tokens by an allowance orders no
 * transfer, so none of its movements is a fee.
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

/** Returns object entries with their positions. A malformed entry takes a position too. */
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

/** Returns tokens destroyed at a holder. The event has no receiver, so the contract takes its place. */
function destroyedFunds({ address, topics, data }: JsonObject, position: number): Transfer | undefined {
  if (!Array.isArray(topics) || typeof address !== 'string' || typeof data !== 'string') return undefined;
  // The holder is the second topic where the contract indexes it. Otherwise it comes first in the data, as on Ethereum.
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

/** Returns TRX sent by a contract. TRON: TRC10 tokens are further values of the same entry, with an id. */
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
