// TRON's own opcodes, and Ethereum opcodes that behave differently on TRON: self-destruct, TRC10 tokens, stake of
// contracts. TRON: OperationActions, Program. Prices are in energy.ts.
import { Address } from '@ethereumjs/util';
import { accountAt, newAccount, putAccount } from './accounts.js';
import type { Actuator } from './actuators.js';
import { TOKEN_ID_MIN, assetBalance, assetsOf, checkTokenTransfer, moveToken } from './assets.js';
import { contractAt } from './contract-store.js';
import { TransferHalt } from './energy.js';
import { NodeError } from './errors.js';
import type { Run, RunState } from './evm-meter.js';
import { tronAddress } from './evm-state.js';
import type { Context } from './fees.js';
import type { InternalDraft, InternalTransaction } from './internal-transactions.js';
import type { Message } from './schema.js';
import { canBeInherited, delegate, freeze, inherit, undelegate, unfreeze, withdrawUnfrozen } from './staking.js';
import { Overlay } from './state.js';

/** An opcode's action, after its energy was charged. `original` is @ethereumjs/evm's implementation. */
type Action = (run: Run, state: RunState, original: () => Promise<void>) => void | Promise<void>;

const ADDRESS_MASK = (1n << 160n) - 1n;
const LONG_MAX = (1n << 63n) - 1n;
const STIPEND = 2_300n;
/** An invalid resource. TRON: Common.ResourceCode.UNRECOGNIZED. */
const UNRECOGNIZED = 127;

function addressOf(word: bigint): string {
  return '41' + (word & ADDRESS_MASK).toString(16).padStart(40, '0');
}

function selfOf(state: RunState): string {
  return tronAddress(state.env.address);
}

function contextOf(run: Run): Context {
  const { headMs } = run.request;
  return { state: run.vmState.top, headMs, slot: headMs / 3_000n };
}

/** Re-reads the running contract's balance, of which @ethereumjs/evm holds a copy, after a change here. */
async function refresh(run: Run, state: RunState): Promise<void> {
  const account = await run.vmState.getAccount(state.env.address);
  if (account !== undefined) state.env.contract = account;
}

/** The VM catches a refused action: the contract continues and sees 0. */
function isRefused(act: () => void): boolean {
  try {
    act();
    return false;
  } catch (error) {
    if (error instanceof NodeError) return true;
    throw error;
  }
}

const RESOURCE_NAMES = ['Bandwidth', 'Energy', 'TronPower'];

function resourceName(word: bigint): string {
  return RESOURCE_NAMES[Number(BigInt.asUintN(32, word))] ?? 'UnknownType';
}

/** Runs a staking actuator for the contract. Returns the result; `released` is undefined after a refusal. */
function stake(
  run: Run,
  actuator: Actuator,
  draft: InternalDraft,
  message: Message,
): { readonly internal: InternalTransaction; readonly released: bigint | undefined } {
  const internal = run.note(draft);
  const context = contextOf(run);
  const overlay = new Overlay(context.state);
  let released = 0n;
  const refused = isRefused(() => {
    actuator.check({ ...context, state: overlay }, message);
    const { extra } = actuator.act({ ...context, state: overlay }, message);
    const given = extra?.['withdraw_expire_amount'];
    if (typeof given === 'bigint') released = given;
    overlay.commit(context.state);
  });
  internal.rejected = refused;
  return { internal, released: refused ? undefined : released };
}

/** FREEZEBALANCEV2 and UNFREEZEBALANCEV2: take amount and resource, return 1 or 0. */
function ownStake(actuator: Actuator, note: string, field: string): Action {
  return async (run, state) => {
    const resource = state.stack.pop();
    const amount = state.stack.pop();
    const self = selfOf(state);
    const { released } = stake(
      run,
      actuator,
      { caller: self, to: self, value: BigInt.asIntN(64, amount), note: note + resourceName(resource) },
      { owner_address: self, [field]: amountOf(amount), resource: resourceOf(resource) },
    );
    if (released !== undefined && released > 0n)
      run.note({ caller: self, to: self, value: released, note: 'withdrawExpireUnfreezeWhileUnfreezing' });
    await refresh(run, state);
    state.stack.push(released === undefined ? 0n : 1n);
  };
}

/** DELEGATERESOURCE and UNDELEGATERESOURCE: take receiver, amount and resource, return 1 or 0. Never locked. */
function othersStake(actuator: Actuator, note: string): Action {
  return (run, state) => {
    const resource = state.stack.pop();
    const amount = state.stack.pop();
    const to = addressOf(state.stack.pop());
    const self = selfOf(state);
    const { released } = stake(
      run,
      actuator,
      { caller: self, to, value: BigInt.asIntN(64, amount), note: note + resourceName(resource) },
      { owner_address: self, receiver_address: to, balance: amountOf(amount), resource: resourceOf(resource) },
    );
    state.stack.push(released === undefined ? 0n : 1n);
  };
}

/** Returns the amount, or 0 outside the long range, so that the actuator refuses it. */
function amountOf(word: bigint): bigint {
  return word > LONG_MAX ? 0n : word;
}

function resourceOf(word: bigint): number {
  return word < BigInt(RESOURCE_NAMES.length) ? Number(word) : UNRECOGNIZED;
}

const withdraw: Action = async (run, state) => {
  const self = selfOf(state);
  const { internal, released } = stake(
    run,
    // TRON (WithdrawExpireUnfreezeProcessor): for a contract, withdrawing nothing is not a failure.
    { check: () => undefined, act: (context, message) => withdrawUnfrozen.act(context, message) },
    { caller: self, to: self, value: 0n, note: 'withdrawExpireUnfreeze' },
    { owner_address: self },
  );
  internal.value = released ?? 0n;
  await refresh(run, state);
  state.stack.push(released ?? 0n);
};

/**
 * SUICIDE: transfers everything to the given account and creates it if needed. With itself as heir, everything is lost.
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
  const tokens = assetsOf(owner);
  const internal = run.note({ caller: self, to, value: owner.balance, note: 'suicide', tokens });
  if (to !== self) {
    const heir = accountAt(context.state, to) ?? newAccount(to, 'normal', context.headMs);
    putAccount(context.state, { ...heir, balance: heir.balance + owner.balance });
    for (const [id, amount] of tokens) moveToken(context.state, self, to, id, amount, context.headMs);
  }
  const left = accountAt(context.state, self) ?? owner;
  putAccount(context.state, { ...left, balance: 0n });
  const released = inherit(context, self, to === self ? undefined : to);
  if (released > 0n) {
    run.note({ caller: self, to, value: released, note: 'withdrawExpireUnfreezeWhileSuiciding' });
    internal.value += released;
  }
  await refresh(run, state);
  await state.interpreter.selfDestruct(new Address(Buffer.from(to.slice(2), 'hex')));
};

function halt(state: RunState, message: string): TransferHalt {
  return new TransferHalt(message, state.env.depth === 0);
}

/** CALL: TRON halts a contract that pays itself. */
const call: Action = (_run, state, original) => {
  const { _store: store, _len: height } = state.stack;
  const [to = 0n, value = 0n] = [store[height - 2], store[height - 3]];
  if (value > 0n && addressOf(to) === selfOf(state) && state.env.contract.balance >= value)
    throw halt(state, 'transfer trx failed: Cannot transfer TRX to yourself.');
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

const isContract: Action = (run, state) => {
  const address = addressOf(state.stack.pop());
  const isOne = contractAt(run.vmState.top, address) !== undefined || run.vmState.creating.has(address);
  state.stack.push(isOne ? 1n : 0n);
};

/** Returns the opcodes that differ from @ethereumjs/evm's, by code. `plainCall` is its CALL. */
export function tronOperations(plainCall: (state: RunState) => Promise<void>): ReadonlyMap<number, Action> {
  return new Map<number, Action>([
    [0xd0, callToken(plainCall)],
    [0xd1, tokenBalance],
    [0xd2, pushing((run) => run.token.value)],
    [0xd3, pushing((run) => BigInt(run.token.id))],
    [0xd4, isContract],
    [0xda, ownStake(freeze, 'freezeBalanceV2For', 'frozen_balance')],
    [0xdb, ownStake(unfreeze, 'unfreezeBalanceV2For', 'unfreeze_balance')],
    [0xdd, withdraw],
    [0xde, othersStake(delegate, 'delegateResourceOf')],
    [0xdf, othersStake(undelegate, 'unDelegateResourceOf')],
    [0xf1, call],
    [0xff, selfDestruct],
  ]);
}
