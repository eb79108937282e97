// Stake 2.0: freeze, unfreeze, withdraw. Messages and order of checks are java-tron's.
import { type Account, type Resource, type Unfreezing, RESOURCES, SUN_PER_TRX, putAccount } from './accounts.js';
import type { Actuator } from './actuators.js';
import { validateError } from './errors.js';
import type { Context } from './fees.js';
import { int, text } from './fields.js';
import { addTotals, parameter } from './parameters.js';
import { handBack, increase } from './resources.js';
import { settleReward } from './rewards.js';
import { held, ownerOf, resourceOf } from './stake-checks.js';
import { hasVotingModel, votesAfterUnfreezing, withInitialPower } from './voting-power.js';

const UNFREEZING_MAX = 32;
const DAY_MS = 86_400_000n;

/** Returns the stake in the chain's weight, whole TRX: own and delegated to others. */
function weightOf(account: Account, resource: Resource): bigint {
  const away = resource === 'TRON_POWER' ? 0n : account.delegated[resource];
  return (account.frozen[resource] + away) / SUN_PER_TRX;
}

/** Changes an account's own stake and the chain's total weight. */
function restake(context: Context, account: Account, resource: Resource, change: bigint): Account {
  const next = { ...account, frozen: { ...account.frozen, [resource]: account.frozen[resource] + change } };
  addTotals(context.state, { [resource]: weightOf(next, resource) - weightOf(account, resource) });
  return next;
}

/** TRON: TRON_POWER is a resource of the newer voting model only. */
function isStakeable({ state }: Context, resource: Resource | undefined): resource is Resource {
  return resource !== undefined && (resource !== 'TRON_POWER' || hasVotingModel(state));
}

export const freeze: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'not exists');
    const amount = int(message, 'frozen_balance');
    if (amount <= 0n) throw validateError('frozenBalance must be positive');
    if (amount < SUN_PER_TRX) throw validateError('frozenBalance must be greater than or equal to 1 TRX');
    if (amount > owner.balance) throw validateError('frozenBalance must be less than or equal to accountBalance');
    if (!isStakeable(context, resourceOf(message)))
      throw validateError(
        `ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY${hasVotingModel(context.state) ? '、TRON_POWER' : ''}]`,
      );
  },
  act(context, message) {
    const owner = held(context, text(message, 'owner_address'));
    const amount = int(message, 'frozen_balance');
    const resource = resourceOf(message) ?? 'BANDWIDTH';
    const payer = withInitialPower(context.state, owner);
    putAccount(context.state, restake(context, { ...payer, balance: owner.balance - amount }, resource, amount));
    return { fee: 0n };
  },
};

const NO_FROZEN = {
  BANDWIDTH: 'no frozenBalance(BANDWIDTH)',
  ENERGY: 'no frozenBalance(Energy)',
  TRON_POWER: 'no frozenBalance(TronPower)',
} as const;

/** Splits unfreezings into the sum (sun) released by `nowMs` and those still pending. */
function release(
  account: Account,
  nowMs: bigint,
): { readonly released: bigint; readonly waiting: readonly Unfreezing[] } {
  const waiting = account.unfreezing.filter((u) => u.expireMs > nowMs);
  let released = 0n;
  for (const u of account.unfreezing) if (u.expireMs <= nowMs) released += u.amount;
  return { released, waiting };
}

/** Returns the amount an account could withdraw at `nowMs`, sun. */
export function withdrawable(account: Account, nowMs: bigint): bigint {
  return release(account, nowMs).released;
}

/** Returns the number of further unfreezings that the account may begin at `nowMs`. */
export function unfreezingsLeft(account: Account, nowMs: bigint): number {
  return UNFREEZING_MAX - release(account, nowMs).waiting.length;
}

export const unfreeze: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'does not exist');
    const resource = resourceOf(message);
    if (!isStakeable(context, resource))
      throw validateError(
        `ResourceCode error.valid ResourceCode[BANDWIDTH、Energy${hasVotingModel(context.state) ? '、TRON_POWER' : ''}]`,
      );
    if (owner.frozen[resource] <= 0n) throw validateError(NO_FROZEN[resource]);
    const amount = int(message, 'unfreeze_balance');
    if (amount <= 0n || amount > owner.frozen[resource])
      throw validateError(`Invalid unfreeze_balance, [${String(amount)}] is error`);
    if (unfreezingsLeft(owner, context.headMs) <= 0)
      throw validateError('Invalid unfreeze operation, unfreezing times is over limit');
  },
  act(context, message) {
    const { state } = context;
    const address = text(message, 'owner_address');
    settleReward(state, address);
    const owner = withInitialPower(state, held(context, address));
    const resource = resourceOf(message) ?? 'BANDWIDTH';
    const amount = int(message, 'unfreeze_balance');
    const { released, waiting } = release(owner, context.headMs);
    const expireMs = context.headMs + parameter(state, 'getUnfreezeDelayDays') * DAY_MS;
    const rest = restake(context, { ...owner, balance: owner.balance + released }, resource, -amount);
    const unfreezing = [...waiting, { resource, amount, expireMs }];
    const next = votesAfterUnfreezing(state, { ...rest, unfreezing }, resource);
    putAccount(state, hasVotingModel(state) ? { ...next, oldTronPower: -1n } : next);
    return { fee: 0n, extra: { unfreeze_amount: amount, withdraw_expire_amount: released } };
  },
};

export const withdrawUnfrozen: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'not exists');
    if (withdrawable(owner, context.headMs) <= 0n) throw validateError('no unFreeze balance to withdraw ');
  },
  act(context, message) {
    const owner = held(context, text(message, 'owner_address'));
    const { released, waiting } = release(owner, context.headMs);
    putAccount(context.state, { ...owner, balance: owner.balance + released, unfreezing: waiting });
    return { fee: 0n, extra: { withdraw_expire_amount: released } };
  },
};

export const cancelUnfreezing: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'not exists');
    if (owner.unfreezing.length === 0) throw validateError('No unfreezeV2 list to cancel');
  },
  act(context, message) {
    const owner = held(context, text(message, 'owner_address'));
    const { released, waiting } = release(owner, context.headMs);
    let next: Account = { ...owner, balance: owner.balance + released, unfreezing: [] };
    for (const u of waiting) next = restake(context, next, u.resource, u.amount);
    putAccount(context.state, next);
    const cancelled = RESOURCES.map((key) => ({
      key,
      value: waiting.reduce((sum, u) => (u.resource === key ? sum + u.amount : sum), 0n),
    }));
    return { fee: 0n, extra: { withdraw_expire_amount: released, cancel_unfreezeV2_amount: cancelled } };
  },
};

/** Returns true if a contract may self-destruct: nothing delegated, nothing pending. TRON: Program.freezeV2Check. */
export function canBeInherited(account: Account, nowMs: bigint): boolean {
  const { BANDWIDTH, ENERGY } = account.delegated;
  return BANDWIDTH === 0n && ENERGY === 0n && release(account, nowMs).waiting.length === 0;
}

/**
 * Transfers stake, usage and unfrozen TRX of a self-destructing contract to its heir; without an heir they are lost.
 * Returns the unfrozen sum, sun. TRON: Program.transferFrozenV2BalanceToInheritor.
 */
export function inherit(context: Context, from: string, to: string | undefined): bigint {
  const owner = held(context, from);
  const { released } = release(owner, context.headMs);
  if (to === undefined) return released;
  const heir = held(context, to);
  const frozen = { ...heir.frozen };
  for (const resource of RESOURCES) frozen[resource] += owner.frozen[resource];
  const usage = { ...heir.usage };
  for (const resource of ['BANDWIDTH', 'ENERGY'] as const) {
    const now = increase(owner.usage[resource], 0n, context.slot);
    if (now.used > 0n) usage[resource] = handBack(usage[resource], now, now.used, context.slot);
  }
  putAccount(context.state, { ...heir, frozen, usage, balance: heir.balance + released });
  putAccount(context.state, withoutStake(owner, context.slot));
  return released;
}

/** TRON: Program.clearOwnerFreezeV2. */
function withoutStake(owner: Account, slot: bigint): Account {
  const unused = { used: 0n, slot, window: 0n };
  return {
    ...owner,
    frozen: { BANDWIDTH: 0n, ENERGY: 0n, TRON_POWER: 0n },
    usage: { BANDWIDTH: unused, ENERGY: unused },
    unfreezing: [],
  };
}
