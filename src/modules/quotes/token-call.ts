/** Decodes calls of a TRC20 token: sender, recipient and amount. Pure. */
import { addressFromHex } from '../../platform/chain/address.js';
import type { ContractCall } from '../../platform/chain/contract-call.js';

export interface TokenCall {
  readonly kind: 'transfer' | 'transferFrom' | 'approve';
  /** Owner of the tokens, or of the allowance. */
  readonly from: string;
  /** The recipient; of an approval, the spender. */
  readonly to: string;
  readonly value: bigint;
  /** Of `transferFrom`: the account that spends an allowance of `from`. */
  readonly spender?: string;
}

/** keccak256 of each signature, its first four bytes. */
const SELECTORS = {
  'transfer(address,uint256)': 'a9059cbb',
  'transferFrom(address,address,uint256)': '23b872dd',
  'approve(address,uint256)': '095ea7b3',
} as const;
const WORDS = { a9059cbb: 2, '23b872dd': 3, '095ea7b3': 2 } as const;
type Selector = keyof typeof WORDS;

const SELECTOR_DIGITS = 8;
const WORD_DIGITS = 64;
/** Twelve bytes in front of an address; old compilers put TRON's 0x41 into the last of them. */
const ADDRESS_WORD = /^[0-9a-f]{22}(?:00|41)([0-9a-f]{40})$/;

/** Returns the call behind either form of a request; undefined for any other call, and for truncated arguments. */
export function tokenCallOf(call: ContractCall): TokenCall | undefined {
  const data = calldataOf(call);
  const selector = data?.slice(0, SELECTOR_DIGITS);
  if (data === undefined || !isSelector(selector)) return undefined;
  const words = Array.from({ length: WORDS[selector] }, (_, index) => {
    const start = SELECTOR_DIGITS + index * WORD_DIGITS;
    return data.slice(start, start + WORD_DIGITS);
  });
  const last = words.at(-1) ?? '';
  if (last.length < WORD_DIGITS) return undefined;
  const addresses = words.slice(0, -1).map(addressOf);
  const [first, second] = addresses;
  const value = BigInt(`0x${last}`);
  if (first === undefined) return undefined;
  if (selector !== SELECTORS['transferFrom(address,address,uint256)']) {
    const kind = selector === SELECTORS['approve(address,uint256)'] ? 'approve' : 'transfer';
    return { kind, from: call.ownerAddress, to: first, value };
  }
  if (second === undefined) return undefined;
  return { kind: 'transferFrom', from: first, to: second, value, spender: call.ownerAddress };
}

function calldataOf({ data, functionSelector, parameter = '' }: ContractCall): string | undefined {
  if (functionSelector === undefined) return data?.toLowerCase();
  if (!Object.hasOwn(SELECTORS, functionSelector)) return undefined;
  return SELECTORS[functionSelector as keyof typeof SELECTORS] + parameter.toLowerCase();
}

function isSelector(text: string | undefined): text is Selector {
  return text !== undefined && Object.hasOwn(WORDS, text);
}

function addressOf(word: string): string | undefined {
  const hex = ADDRESS_WORD.exec(word)?.[1];
  return hex === undefined ? undefined : addressFromHex(`41${hex}`);
}
