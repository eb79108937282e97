/**
 * Words the reason for a failed call, in the contract's own text if it gives one. Pure. The data comes from a third
 * party's contract, so every length is checked and nothing but its text is used.
 */
import { cutText } from '../../platform/support/foreign-text.js';

/** TRON returns a revert's reason as the ABI payload in `constant_result[0]`. */
const ERROR_SELECTOR = '08c379a0';
const PANIC_SELECTOR = '4e487b71';
const WORD_DIGITS = 64;
const SELECTOR_DIGITS = 8;
const WORDS_MAX = 1000;

export const NO_REASON = 'The call reverted without a reason.';

/** Solidity's panic codes (Solidity docs, "Panic via assert and Error via require"). */
const PANICS: Readonly<Record<string, string>> = {
  '0': 'a generic panic of the compiler',
  '1': 'an assertion that does not hold',
  '11': 'an arithmetic overflow or underflow',
  '12': 'a division or modulo by zero',
  '21': 'a conversion to an enum value that does not exist',
  '22': 'incorrectly encoded storage data',
  '31': 'removing from an empty array',
  '32': 'an array index out of bounds',
  '41': 'allocating too much memory',
  '51': 'calling an uninitialised internal function',
};

/** Returns the reason of a revert from its data (hex, no 0x); never empty (docs/interface.md §8). */
export function reasonOfRevert(dataHex: string): string {
  const data = dataHex.toLowerCase();
  if (data === '') return NO_REASON;
  const selector = data.slice(0, SELECTOR_DIGITS);
  const payload = data.slice(SELECTOR_DIGITS);
  if (selector.length < SELECTOR_DIGITS) return 'The call reverted with data that gives no reason.';
  if (selector === ERROR_SELECTOR) return errorText(payload) ?? NO_REASON;
  if (selector === PANIC_SELECTOR) {
    const code = word(payload, 0)?.toString(16);
    const known = code === undefined ? undefined : PANICS[code];
    if (code === undefined) return 'The call reverted with a panic that gives no code.';
    return `The call panicked (0x${code.padStart(2, '0')}): ${known ?? 'a code that Solidity does not define'}.`;
  }
  return `The call reverted with the custom error 0x${selector}.`;
}

function word(payload: string, offsetDigits: number): bigint | undefined {
  const digits = payload.slice(offsetDigits, offsetDigits + WORD_DIGITS);
  return digits.length === WORD_DIGITS ? BigInt(`0x${digits}`) : undefined;
}

/** Returns the string of Error(string); undefined if the encoding holds none. */
function errorText(payload: string): string | undefined {
  const offset = word(payload, 0);
  if (offset === undefined || offset > BigInt(payload.length)) return undefined;
  const start = Number(offset) * 2;
  const length = word(payload, start);
  if (length === undefined || length > BigInt(payload.length)) return undefined;
  const from = start + WORD_DIGITS;
  const digits = payload.slice(from, from + Number(length) * 2);
  if (digits.length !== Number(length) * 2) return undefined;
  const text = Buffer.from(digits, 'hex')
    .toString('utf8')
    // Control and formatting characters would let a contract forge lines in a caller's log.
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  if (text === '') return undefined;
  return text.length > WORDS_MAX ? `${cutText(text, WORDS_MAX)}…` : text;
}

/** TRON: meanings of java-tron's VM exceptions. Their own messages are specific to a node and are not shown. */
const FAULTS: Readonly<Record<string, string>> = {
  IllegalOperationException: 'The call runs into an invalid instruction, as of a failed assertion.',
  OutOfEnergyException: 'The call needs more energy than any call may use.',
  OutOfMemoryException: 'The call needs more memory than any call may use.',
  BadJumpDestinationException: 'The contract jumps to a place that does not exist.',
  StackTooSmallException: 'The contract takes more from its stack than is on it.',
  StackTooLargeException: 'The contract puts more on its stack than fits.',
  PrecompiledContractException: 'A built-in contract that the call uses fails.',
  TransferException: 'A transfer inside the call fails.',
  StaticCallModificationException: 'The contract changes state inside a read-only call.',
  InvalidCodeException: 'The call would deploy invalid code.',
  ReturnDataCopyIllegalBoundsException: 'The contract reads beyond the data a call returned.',
  JVMStackOverFlowException: 'The call nests too deeply.',
};

/** Returns the reason of a VM fault by java-tron's exception name; never empty. */
export function reasonOfFault(fault: string): string {
  return (Object.hasOwn(FAULTS, fault) ? FAULTS[fault] : undefined) ?? 'The call fails inside the contract.';
}
