// A contract that stakes, votes and takes its reward, and the data of its calls.
import { addressWord, word } from '../client.js';
import { assemble, deployable } from './assembler.js';

/**
 * Runs one operation, named by the first parameter. The next four are VOTEWITNESS's own, in the order in which they are
 * pushed; what follows them is memory from 0.
 */
export const VOTER = deployable(
  assemble(`
    164 CALLDATASIZE SUB 164 0 CALLDATACOPY
    36 CALLDATALOAD 68 CALLDATALOAD 100 CALLDATALOAD 132 CALLDATALOAD
    4 CALLDATALOAD 0xd8 EQ @vote JUMPI
    4 CALLDATALOAD 0xd9 EQ @withdraw JUMPI
    4 CALLDATALOAD 0xda EQ @freeze JUMPI
    4 CALLDATALOAD 0xdb EQ @unfreeze JUMPI
    4 CALLDATALOAD 0xff EQ @destroy JUMPI
    4 CALLDATALOAD 5 EQ @reward JUMPI
    0 0 REVERT
    vote: VOTEWITNESS @done JUMP
    withdraw: WITHDRAWREWARD @done JUMP
    freeze: POP POP FREEZEBALANCEV2 @done JUMP
    unfreeze: POP POP UNFREEZEBALANCEV2 @done JUMP
    destroy: POP POP POP SELFDESTRUCT
    reward: 32 0 0 0 0x1000005 GAS STATICCALL POP 0 MLOAD @done JUMP
    done: 0 MSTORE 32 0 RETURN`),
);

/** Calls the address in the first parameter with the remaining bytes. Returns its success, then its output. */
function relay(opcode: string): string {
  return deployable(
    assemble(`
    36 CALLDATASIZE SUB DUP1 36 0 CALLDATACOPY
    0 0 DUP3 0 4 CALLDATALOAD 200000 ${opcode}
    RETURNDATASIZE 0 32 RETURNDATACOPY 0 MSTORE
    RETURNDATASIZE 32 ADD 0 RETURN`),
  );
}
export const DELEGATING_RELAY = relay('DELEGATECALL');
export const STATIC_RELAY = relay('STATICCALL');

/** Parameters of VOTEWITNESS that differ from those of well-formed votes. */
export interface VoteArguments {
  readonly witnessLength?: number;
  readonly amountLength?: number;
}

/** Returns the parameter of a vote; witnesses in hex. */
export function voteCall(
  votes: readonly (readonly [witness: string, count: bigint])[],
  odd: VoteArguments = {},
): string {
  const length = votes.length;
  const witnesses = word(odd.witnessLength ?? length) + votes.map(([witness]) => addressWord(witness)).join('');
  const amounts =
    word(odd.amountLength ?? length) + votes.map(([, count]) => word(BigInt.asUintN(256, count))).join('');
  const at = [0, odd.witnessLength ?? length, witnesses.length / 2, odd.amountLength ?? length];
  return word(0xd8) + at.map(word).join('') + witnesses + amounts;
}

/** Returns the parameter of another operation. */
export function voterCall(operation: 'withdraw' | 'freeze' | 'unfreeze' | 'reward', amount = 0): string {
  const code = { withdraw: 0xd9, freeze: 0xda, unfreeze: 0xdb, reward: 5 }[operation];
  // Amount and resource: 1 is energy.
  return word(code) + word(amount) + word(1) + word(0) + word(0);
}

/** Returns the parameter that destroys the contract. */
export function destroyCall(heir: string): string {
  return word(0xff) + addressWord(heir) + word(0).repeat(3);
}
