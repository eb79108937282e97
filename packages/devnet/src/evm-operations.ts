// TRON's own opcodes, and Ethereum opcodes that behave differently on TRON: self-destruct, TRC10 tokens. Those of stake
// and votes are in evm-stake.ts and evm-votes.ts. TRON: OperationActions, Program. Prices are in energy.ts.
import { Address } from '@ethereumjs/util';
import { accountAt, newAccount, putAccount } from './accounts.js';
import { TOKEN_ID_MIN, assetBalance, assetsOf, checkTokenTransfer, moveToken } from './assets.js';
import { contractAt } from './contract-store.js';
import { leaveVoting } from './contract-votes.js';
import { TransferHalt, VmHalt } from './energy.js';
import { NodeError } from './errors.js';
import { type Action, LONG_MAX, addressOf, contextOf, refresh, selfOf } from './evm-actions.js';
import type { Run, RunState } from './evm-meter.js';
import { STAKE_OPERATIONS } from './evm-stake.js';
import { VOTE_OPERATIONS } from './evm-votes.js';
import type { InternalTransaction } from './internal-transactions.js';
import { isPrecompiled } from './precompiles.js';
import { canBeInherited, inherit } from './staking.js';

const STIPEND = 2_300n;

/**
 * SELFDESTRUCT: transfers everything to the given account and creates it if needed. TRON: Program.suicide deletes the
 * contract; with itself as heir, everything is lost. By TIP-6780 (Program.suicide2) only a contract made in the same
 * transaction is deleted. Any other keeps its account, code and storage; with itself as heir it keeps everything. With
 * votes of contracts, its reward is paid first and its votes end (Program.withdrawRewardAndCancelVote).
 */
const selfDestruct: Action = async (run, state) => {
  const self = selfOf(state);
  const context = contextOf(run);
  const owner = accountAt(context.state, self);
  if (owner === undefined) return;
  if (!canBeInherited(owner, context.headMs)) {
    state.interpreter.revert(new Uint8Array(0));
    return;
  }
  const to = addressOf(state.stack.pop());
  const survives = run.rules.restrictedSelfDestruct && !run.vmState.creating.has(self);
  const isHeirless = survives && to === self;
  if (!survives) endVotes(run, self);
  const { balance } = accountAt(context.state, self) ?? owner;
  const internal = run.note({ caller: self, to, value: balance, note: 'suicide', tokens: assetsOf(owner) });
  if (survives && !isHeirless) endVotes(run, self);
  if (!isHeirless) bequeath(run, self, to, internal);
  await refresh(run, state);
  if (survives) state.interpreter.finish(new Uint8Array(0));
  else await state.interpreter.selfDestruct(new Address(Buffer.from(to.slice(2), 'hex')));
};

function endVotes(run: Run, self: string): void {
  if (run.rules.vote) leaveVoting(contextOf(run), self, run.request.block.timeMs);
}

/** Moves TRX, tokens and stake of a self-destructing contract to its heir. */
function bequeath(run: Run, self: string, to: string, internal: InternalTransaction): void {
  const context = contextOf(run);
  const owner = accountAt(context.state, self);
  if (owner === undefined) return;
  internal.value = owner.balance;
  if (to !== self) {
    const heir = accountAt(context.state, to) ?? newAccount(to, 'normal', context.headMs);
    putAccount(context.state, { ...heir, balance: heir.balance + owner.balance });
    for (const [id, amount] of assetsOf(owner)) moveToken(context.state, self, to, id, amount, context.headMs);
  }
  const left = accountAt(context.state, self) ?? owner;
  putAccount(context.state, { ...left, balance: 0n });
  const released = inherit(context, self, to === self ? undefined : to);
  if (released === 0n) return;
  run.note({ caller: self, to, value: released, note: 'withdrawExpireUnfreezeWhileSuiciding' });
  internal.value += released;
}

function halt(state: RunState, message: string): TransferHalt {
  return new TransferHalt(message, state.env.depth === 0);
}

/** CALL: TRON halts a contract that pays itself. */
const call: Action = (run, state, original) => {
  const { _store: store, _len: height } = state.stack;
  const [to = 0n, value = 0n] = [store[height - 2], store[height - 3]];
  if (value > 0n && state.env.contract.balance >= value) {
    const receiver = addressOf(to);
    if (receiver === selfOf(state)) throw halt(state, 'transfer trx failed: Cannot transfer TRX to yourself.');
    // TRON (MUtil.transfer): a call of a precompiled contract creates no account for the value.
    const isMissing = isPrecompiled(to, run.rules) && accountAt(run.vmState.top, receiver) === undefined;
    if (isMissing) throw new VmHalt('Program$BytecodeExecutionException', 'transfer failure', 'UNKNOWN');
  }
  return original();
};

/** CALLTOKEN: a call that sends a TRC10 token instead of TRX. */
function callToken(plainCall: (state: RunState) => Promise<void>): Action {
  return async (run, state) => {
    const { stack } = state;
    const [energy, toWord, value, tokenId] = [stack.pop(), stack.pop(), stack.pop(), stack.pop()];
    const [from, to, id] = [selfOf(state), addressOf(toWord), String(tokenId)];
    if (tokenId <= TOKEN_ID_MIN || tokenId > LONG_MAX)
      throw halt(state, 'validateForSmartContract failure:not valid token id');
    if (value > LONG_MAX) throw halt(state, 'endowment out of long range');
    if (value > 0n) {
      state.interpreter.addStipend(STIPEND);
      state.messageGasLimit = (state.messageGasLimit ?? 0n) + STIPEND;
    }
    const { top } = run.vmState;
    if (assetBalance(accountAt(top, from), id) < value) {
      for (let i = 0; i < 4; i++) stack.pop();
      state.messageGasLimit = undefined;
      state.returnBytes = new Uint8Array(0);
      stack.push(0n);
      return;
    }
    if (value > 0n)
      try {
        checkTokenTransfer(top, from, to, id, value);
      } catch (error) {
        throw error instanceof NodeError ? halt(state, `transfer trc10 failed: ${error.message}`) : error;
      }
    stack.push(0n);
    stack.push(toWord);
    stack.push(energy);
    await run.bringing({ from, to, id, value }, () => plainCall(state));
  };
}

const tokenBalance: Action = (run, state) => {
  const id = state.stack.pop();
  const address = addressOf(state.stack.pop());
  if (id <= TOKEN_ID_MIN || id > LONG_MAX) throw halt(state, 'validateForSmartContract failure:not valid token id');
  state.stack.push(assetBalance(accountAt(run.vmState.top, address), String(id)));
};

function pushing(value: (run: Run) => bigint): Action {
  return (run, state) => {
    state.stack.push(value(run));
  };
}

/** BLOBHASH: a transaction of TRON carries no blobs (TIP-745). */
const blobHash: Action = (_run, state) => {
  state.stack.pop();
  state.stack.push(0n);
};

/** TRON (ProgramInvokeImpl.getCoinbase): the word holds 41 above the witness's address. */
function addressWord(address: string): bigint {
  return address === '' ? 0n : BigInt(`0x${address}`);
}

const isContract: Action = (run, state) => {
  const address = addressOf(state.stack.pop());
  const isOne = contractAt(run.vmState.top, address) !== undefined || run.vmState.creating.has(address);
  state.stack.push(isOne ? 1n : 0n);
};

/** The bits above an address, as TRON's own words have them: Program.createContractImpl, getCoinbase. */
const PREFIX = 0x41n << 160n;

/** CREATE and CREATE2: TRON pushes all 21 bytes of the new address. */
function creating(resetsReturnData: (run: Run) => boolean): Action {
  return async (run, state, original) => {
    const before = state.returnBytes;
    await original();
    const { stack } = state;
    const made = stack.pop();
    stack.push(made === 0n ? 0n : made | PREFIX);
    if (state.returnBytes.length === 0 && !resetsReturnData(run)) state.returnBytes = before;
  };
}

/** BLOCKHASH: the id of one of the last 256 blocks. TRON: Program.getBlockHash. */
const blockHash: Action = (run, state) => {
  const wanted = state.stack.pop();
  const { number, idOf } = run.request.block;
  const id = wanted < number && wanted + 256n >= number ? idOf(Number(wanted)) : undefined;
  state.stack.push(id === undefined ? 0n : BigInt(`0x${id}`));
};

/**
 * Adds to a call opcode what TRON does after a call of a precompiled contract. `outAt` is the stack position of the
 * output's offset. TRON: Program.callToPrecompiledAddress.
 */
function calling(outAt: number, action: Action): Action {
  return async (run, state, original) => {
    const { _store: store, _len: height } = state.stack;
    const target = store[height - 2] ?? 0n;
    run.calledWord = target;
    if (!isPrecompiled(target, run.rules)) return action(run, state, original);
    const out = store[height - outAt] ?? 0n;
    await action(run, state, original);
    run.throwHalt();
    // Before the self-destruct restriction, the whole output was written, however much the caller had asked for.
    const { returnBytes } = state;
    if (run.rules.restrictedSelfDestruct || returnBytes.length === 0) return;
    state.memory.write(Number(out), returnBytes.length, returnBytes);
    const words = (out + BigInt(returnBytes.length) + 31n) / 32n;
    if (words > state.memoryWordCount) state.memoryWordCount = words;
  };
}

const plain: Action = (_run, _state, original) => original();

/** Returns the opcodes that differ from @ethereumjs/evm's, by code. `plainCall` is its CALL. */
export function tronOperations(plainCall: (state: RunState) => Promise<void>): ReadonlyMap<number, Action> {
  return new Map<number, Action>([
    [0x3a, pushing((run) => (run.version === 1 ? run.request.energyFee : 0n))],
    [0x40, blockHash],
    [0x41, pushing((run) => addressWord(run.request.block.witness))],
    [0x49, blobHash],
    [0x4a, pushing(() => 0n)],
    [0xd0, calling(7, callToken(plainCall))],
    [0xd1, tokenBalance],
    [0xd2, pushing((run) => run.token.value)],
    [0xd3, pushing((run) => BigInt(run.token.id))],
    [0xd4, isContract],
    ...VOTE_OPERATIONS,
    ...STAKE_OPERATIONS,
    [0xf0, creating(() => true)],
    [0xf1, calling(6, call)],
    [0xf2, calling(6, plain)],
    [0xf4, calling(5, plain)],
    [0xf5, creating((run) => run.rules.osaka)],
    [0xfa, calling(5, plain)],
    [0xff, selfDestruct],
  ]);
}
