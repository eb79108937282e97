// Contracts that pay others inside a transaction. Parameters follow four bytes of any selector.
import { addressWord, word } from '../client.js';
import { assemble, deployable } from './assembler.js';

/** One call of a `caller`: the receiver as 42 hex characters, sun, call data as hex. */
export interface Call {
  readonly to: string;
  readonly value?: number;
  readonly data?: string;
}

/** Returns the parameter of a `caller`: to, value, length and padded data of each call. */
export function callsOf(...calls: readonly Call[]): string {
  return calls
    .map(({ to, value = 0, data = '' }) => {
      const padding = '0'.repeat((64 - (data.length % 64)) % 64);
      return addressWord(to) + word(value) + word(data.length / 2) + data + padding;
    })
    .join('');
}

/** Makes every call of its parameter, in order. On a failure it reverts all, or continues with the next. */
function caller(afterCall: string): string {
  return deployable(
    assemble(`
      4                                       ; p
      next:
        CALLDATASIZE DUP2 LT ISZERO @end JUMPI
        DUP1 64 ADD CALLDATALOAD              ; p length
        DUP1 DUP3 96 ADD 0 CALLDATACOPY       ; memory from 0: the data
        0 0 DUP3 0                            ; no output; all of the data
        DUP6 32 ADD CALLDATALOAD              ; value
        DUP7 CALLDATALOAD                     ; to
        GAS CALL
        ${afterCall}
        31 ADD 5 SHR 5 SHL ADD 96 ADD         ; p of the next
        @next JUMP
      end: STOP`),
  );
}

export const STRICT_CALLER = caller('@ok JUMPI 0 0 REVERT ok:');
export const CATCHING_CALLER = caller('POP');

/** Accepts nothing: every call reverts. */
export const REFUSER = deployable(assemble('0 0 REVERT'));

/** Accepts nothing and uses up all the energy it was given. */
export const BURNER = deployable(assemble('INVALID'));

/** Destroys itself. Its balance goes to the address in the first parameter. */
export const SELF_DESTRUCTOR = deployable(assemble('4 CALLDATALOAD SELFDESTRUCT'));

/** Runs the code of the address in the first parameter as its own, with the remaining bytes as data. */
export const BORROWER = deployable(
  assemble(`
    36 CALLDATASIZE SUB                       ; length
    DUP1 36 0 CALLDATACOPY
    0 0 DUP3 0 4 CALLDATALOAD GAS DELEGATECALL
    0 MSTORE 32 0 RETURN`),
);

/** Sends a TRC10 token it holds: to, token id, amount. Returns 1 on success, else 0. */
export const TOKEN_SENDER = deployable(
  assemble(`
    0 0 0 0 36 CALLDATALOAD 68 CALLDATALOAD 4 CALLDATALOAD GAS CALLTOKEN
    0 MSTORE 32 0 RETURN`),
);

/** Stores the value and the id of the TRC10 token that came with a call in slots 0 and 1. */
export const TOKEN_TAKER = deployable(assemble('CALLTOKENVALUE 0 SSTORE CALLTOKENID 1 SSTORE STOP'));

export type StakeOperation = 'freeze' | 'unfreeze' | 'withdraw' | 'delegate' | 'undelegate';
const STAKE_CODES: Record<StakeOperation, number> = {
  freeze: 0xda,
  unfreeze: 0xdb,
  withdraw: 0xdd,
  delegate: 0xde,
  undelegate: 0xdf,
};

/** Returns the parameter of a `STAKER`: operation, amount, resource and receiver. */
export function stakeCall(
  operation: StakeOperation,
  amount: number,
  to = `41${'00'.repeat(20)}`,
  resource = 1,
): string {
  return word(STAKE_CODES[operation]) + addressWord(to) + word(amount) + word(resource);
}

/** Holds stake and delegates it. Returns the opcode's result. */
export const STAKER = deployable(
  assemble(`
    36 CALLDATALOAD 68 CALLDATALOAD 100 CALLDATALOAD   ; receiver amount resource
    4 CALLDATALOAD 0xda EQ @freeze JUMPI
    4 CALLDATALOAD 0xdb EQ @unfreeze JUMPI
    4 CALLDATALOAD 0xdd EQ @withdraw JUMPI
    4 CALLDATALOAD 0xde EQ @delegate JUMPI
    4 CALLDATALOAD 0xdf EQ @undelegate JUMPI
    0 0 REVERT
    freeze: FREEZEBALANCEV2 @done JUMP
    unfreeze: UNFREEZEBALANCEV2 @done JUMP
    withdraw: WITHDRAWEXPIREUNFREEZE @done JUMP
    delegate: DELEGATERESOURCE @done JUMP
    undelegate: UNDELEGATERESOURCE @done JUMP
    done: 0 MSTORE 32 0 RETURN`),
);
