/**
 * Computes the energy that a token transfer needs, from its receiver's state on chain. Pure: encodes the two calls and
 * decodes their answers; callers query the chain.
 */
import type { Energy } from './units.js';

export type RecipientState = 'warm' | 'cold' | 'unknown';

/** Energy of one transfer of the reference token: to an address that holds it, and to one that does not. */
export interface SizingFigures {
  readonly warmEnergy: Energy;
  readonly coldEnergy: Energy;
}

/** The values read of a receiver; undefined if unreadable. */
export interface ReceiverReading {
  readonly tokenBalance: bigint | undefined;
  readonly isOnChain: boolean | undefined;
}

export interface Recipient {
  readonly state: RecipientState;
  readonly needsActivation: boolean;
}

/**
 * Returns the receiver's state (docs/interface.md §7). An address that is not on chain but holds tokens (a token
 * credits any address) counts as cold: the result is never too small.
 */
export function recipientOf(reading: ReceiverReading): Recipient {
  if (reading.isOnChain === false) return { state: 'cold', needsActivation: true };
  if (reading.tokenBalance === undefined) return { state: 'unknown', needsActivation: false };
  return { state: reading.tokenBalance > 0n ? 'warm' : 'cold', needsActivation: false };
}

/** Returns the energy for a state. An unreadable receiver is sized as cold (docs/interface.md §7). */
export function energyFor(state: RecipientState, figures: SizingFigures): Energy {
  return state === 'warm' ? figures.warmEnergy : figures.coldEnergy;
}

const WORD_DIGITS = 64;
const ADDRESS_HEX = /^41[0-9a-f]{40}$/i;
const WORDS = /^(?:[0-9a-fA-F]{64})+$/;

export const BALANCE_OF = 'balanceOf(address)';
export const TRANSFER = 'transfer(address,uint256)';

/** ABI: encodes an address as one word, without TRON's 0x41. Takes `41…` hex. */
export function addressWord(addressHex: string): string {
  if (!ADDRESS_HEX.test(addressHex)) throw new TypeError('not an address in 41… hex');
  return addressHex.slice(2).toLowerCase().padStart(WORD_DIGITS, '0');
}

/** ABI: encodes a non-negative integer below 2^256 as one word. */
export function uintWord(value: bigint): string {
  return value.toString(16).padStart(WORD_DIGITS, '0');
}

/** Returns the first word of a call's result; undefined if there is none, as from a contract that is not a token. */
export function firstWord(resultHex: string): bigint | undefined {
  return WORDS.test(resultHex) ? BigInt(`0x${resultHex.slice(0, WORD_DIGITS)}`) : undefined;
}

/** One event of a contract from a receipt or a constant call: hex without 0x. */
export interface EventLog {
  readonly topics: readonly string[];
  readonly data: string;
}

/** keccak256 of Transfer(address,address,uint256). */
export const TRANSFER_EVENT = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** An indexed address: eleven zero bytes, a zero byte or TRON's 0x41 (older compilers), and the address. */
const ADDRESS_TOPIC = /^0{22}(?:00|41)([0-9a-f]{40})$/;

/**
 * Returns true if the events of a call that did not revert prove a token transfer between two addresses (`41…` hex).
 * The return value proves nothing: `transfer` of main-net USDT returns false on success, and so does a token that
 * refuses without a revert. Neither the amount nor the emitting contract is compared. A token may keep a fee, and a
 * deprecated token forwards to its successor, whose contract then emits the event.
 */
export function showsTransfer(logs: readonly EventLog[], fromHex: string, toHex: string): boolean {
  return logs.some(({ topics, data }) => {
    const [event, from, to] = topics;
    if (event !== TRANSFER_EVENT || topics.length !== 3) return false;
    return isAddressTopic(from, fromHex) && isAddressTopic(to, toHex) && (firstWord(data) ?? 0n) > 0n;
  });
}

function isAddressTopic(topic: string | undefined, addressHex: string): boolean {
  return topic !== undefined && ADDRESS_TOPIC.exec(topic)?.[1] === addressHex.slice(2).toLowerCase();
}
