/**
 * How much energy a token transfer needs, by its receiver's state on chain. Pure: encodes the two calls and
 * reads their answers; who asks the chain is not its affair.
 */
import type { Energy } from './units.js';

export type RecipientState = 'warm' | 'cold' | 'unknown';

/** Energy of one transfer of the reference token: to an address that holds it, and to one that does not. */
export interface SizingFigures {
  readonly warmEnergy: Energy;
  readonly coldEnergy: Energy;
}

/** What was seen of a receiver; undefined = it could not be read. */
export interface ReceiverLook {
  readonly tokenBalance: bigint | undefined;
  readonly isOnChain: boolean | undefined;
}

export interface Recipient {
  readonly state: RecipientState;
  readonly needsActivation: boolean;
}

/**
 * The receiver's state (docs/interface.md §7). An address that is not on chain but holds tokens (a token credits any
 * address) counts as cold: that never sizes too small.
 */
export function recipientOf(look: ReceiverLook): Recipient {
  if (look.isOnChain === false) return { state: 'cold', needsActivation: true };
  if (look.tokenBalance === undefined) return { state: 'unknown', needsActivation: false };
  return { state: look.tokenBalance > 0n ? 'warm' : 'cold', needsActivation: false };
}

/** A receiver that could not be read is sized as cold (docs/interface.md §7). */
export function energyFor(state: RecipientState, figures: SizingFigures): Energy {
  return state === 'warm' ? figures.warmEnergy : figures.coldEnergy;
}

const WORD_DIGITS = 64;
const ADDRESS_HEX = /^41[0-9a-f]{40}$/i;
const WORDS = /^(?:[0-9a-fA-F]{64})+$/;

export const BALANCE_OF = 'balanceOf(address)';
export const TRANSFER = 'transfer(address,uint256)';

/** ABI: an address as one word, without TRON's 0x41. Takes `41…` hex. */
export function addressWord(addressHex: string): string {
  if (!ADDRESS_HEX.test(addressHex)) throw new TypeError('not an address in 41… hex');
  return addressHex.slice(2).toLowerCase().padStart(WORD_DIGITS, '0');
}

/** ABI: a non-negative integer below 2^256 as one word. */
export function uintWord(value: bigint): string {
  return value.toString(16).padStart(WORD_DIGITS, '0');
}

/** The first word of a call's result; undefined when there is none, as of a contract that is no token. */
export function firstWord(resultHex: string): bigint | undefined {
  return WORDS.test(resultHex) ? BigInt(`0x${resultHex.slice(0, WORD_DIGITS)}`) : undefined;
}

/**
 * Whether a transfer that did not revert also says it worked: old tokens return nothing, others false instead of
 * reverting, and the energy of a refused transfer measures nothing.
 */
export function transferWorked(resultHex: string): boolean {
  return resultHex === '' || firstWord(resultHex) === 1n;
}
