// Opcodes for the stake of contracts (0xda to 0xdf). TRON: OperationActions, Program, and the processors in
// org.tron.core.vm.nativecontract. They follow the actuators' rules, except where noted.
import type { Actuator } from './actuators.js';
import { delegate, undelegate } from './delegating.js';
import { type Action, LONG_MAX, addressOf, attempt, refresh, selfOf } from './evm-actions.js';
import type { Run } from './evm-meter.js';
import type { InternalDraft, InternalTransaction } from './internal-transactions.js';
import type { Message } from './schema.js';
import { cancelUnfreezing, freeze, unfreeze, withdrawUnfrozen } from './staking.js';

/** An invalid resource. TRON: Common.ResourceCode.UNRECOGNIZED. */
const UNRECOGNIZED = 127;
const RESOURCE_NAMES = ['Bandwidth', 'Energy', 'TronPower'];

function resourceName(word: bigint): string {
  return RESOURCE_NAMES[Number(BigInt.asUintN(32, word))] ?? 'UnknownType';
}

/** Returns the amount, or 0 outside the long range, so that the actuator refuses it. */
function amountOf(word: bigint): bigint {
  return word > LONG_MAX ? 0n : word;
}

function resourceOf(word: bigint): number {
  return word < BigInt(RESOURCE_NAMES.length) ? Number(word) : UNRECOGNIZED;
}

/** Runs a staking actuator for the contract. Returns the result; `released` is undefined after a refusal. */
function stake(
  run: Run,
  actuator: Actuator,
  draft: InternalDraft,
  message: Message,
): { readonly internal: InternalTransaction; readonly released: bigint | undefined } {
  const internal = run.note(draft);
  const released = attempt(run, (context) => {
    actuator.check(context, message);
    const given = actuator.act(context, message).extra?.['withdraw_expire_amount'];
    return typeof given === 'bigint' ? given : 0n;
  });
  internal.rejected = released === undefined;
  return { internal, released };
}

/** FREEZEBALANCEV2 and UNFREEZEBALANCEV2: take amount and resource, push 1 or 0. */
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

/** DELEGATERESOURCE and UNDELEGATERESOURCE: take receiver, amount and resource, push 1 or 0. Never locked. */
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

/** CANCELALLUNFREEZEV2: stakes pending unfreezes again, and pays expired ones out. Pushes 1 or 0. */
const cancelAllUnfreezing: Action = async (run, state) => {
  const self = selfOf(state);
  const { released } = stake(
    run,
    // TRON (CancelAllUnfreezeV2Processor): for a contract, cancelling nothing is not a failure.
    { check: () => undefined, act: (context, message) => cancelUnfreezing.act(context, message) },
    { caller: self, to: self, value: 0n, note: 'cancelAllUnfreezeV2' },
    { owner_address: self },
  );
  if (released !== undefined && released > 0n)
    run.note({ caller: self, to: self, value: released, note: 'withdrawExpireUnfreezeWhileCanceling' });
  await refresh(run, state);
  state.stack.push(released === undefined ? 0n : 1n);
};

export const STAKE_OPERATIONS: readonly (readonly [code: number, action: Action])[] = [
  [0xda, ownStake(freeze, 'freezeBalanceV2For', 'frozen_balance')],
  [0xdb, ownStake(unfreeze, 'unfreezeBalanceV2For', 'unfreeze_balance')],
  [0xdc, cancelAllUnfreezing],
  [0xdd, withdraw],
  [0xde, othersStake(delegate, 'delegateResourceOf')],
  [0xdf, othersStake(undelegate, 'unDelegateResourceOf')],
];
