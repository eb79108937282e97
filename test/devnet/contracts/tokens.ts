// TRC20 tokens, honest and lying. The deployer (of a genesis contract: its origin) holds the whole supply.
import { addressWord, word } from '../client.js';
import { assemble, deployable } from './assembler.js';

export interface TokenRules {
  readonly symbol?: string;
  /** False: a transfer moves nothing. */
  readonly moves?: boolean;
  /** False: a transfer emits no event. */
  readonly emits?: boolean;
  /** The share that a transfer keeps. Its event names the amount that arrived. */
  readonly feePercent?: number;
  /** True: the event names the amount sent, regardless of the amount that arrived. */
  readonly logsSent?: boolean;
  /** True: a transfer fails after all of it was done and logged. */
  readonly fails?: boolean;
  /** The word that `transfer` returns (1); main-net USDT returns 0. */
  readonly answers?: number;
}

export const SUPPLY = 1_000_000_000_000_000;
/** keccak256 of Transfer(address,address,uint256) */
export const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** Returns call data of transfer(address,uint256), for a `caller`. */
export function transferData(to: string, amount: number): string {
  return `a9059cbb${addressWord(to)}${word(amount)}`;
}

/** Returns bytecode to deploy of a token with 6 decimals whose storage is balances by address. */
export function tokenCode(rules: TokenRules = {}): string {
  const { symbol = 'USDT', moves = true, emits = true, feePercent = 0, logsSent = false, fails = false } = rules;
  const { answers = 1 } = rules;
  const name = Buffer.from(symbol, 'utf8').toString('hex');
  const move = `
    DUP2 CALLER SLOAD LT @fail JUMPI          ; less than amount
    DUP2 CALLER SLOAD SUB CALLER SSTORE
    DUP1 4 CALLDATALOAD SLOAD ADD 4 CALLDATALOAD SSTORE`;
  const emit = `
    ${logsSent ? 'DUP2' : 'DUP1'} 0 MSTORE
    4 CALLDATALOAD CALLER 0x${TRANSFER_TOPIC} 32 0 LOG3`;
  const runtime = assemble(`
    0 CALLDATALOAD 224 SHR
    DUP1 0xa9059cbb EQ @transfer JUMPI
    DUP1 0x70a08231 EQ @balance JUMPI
    DUP1 0x95d89b41 EQ @symbol JUMPI
    DUP1 0x313ce567 EQ @decimals JUMPI
    fail: 0 0 REVERT
    balance: 4 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN
    decimals: 6 0 MSTORE 32 0 RETURN
    symbol: 32 0 MSTORE ${String(name.length / 2)} 32 MSTORE 0x${name.padEnd(64, '0')} 64 MSTORE 96 0 RETURN
    transfer:
      36 CALLDATALOAD                         ; amount
      100 DUP2 ${String(feePercent)} MUL DIV  ; amount fee
      DUP2 SUB                                ; amount received
      ${moves ? move : ''}
      ${emits ? emit : ''}
      ${fails ? '@fail JUMP' : ''}
      ${String(answers)} 0 MSTORE 32 0 RETURN`);
  return deployable(runtime, `${String(SUPPLY)} CALLER SSTORE`);
}
