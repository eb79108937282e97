// Stake 2.0: delegation of bandwidth and energy by the same rules. Messages and order of checks are java-tron's. TRON:
// DelegateResourceActuator, UnDelegateResourceActuator.
import {
  type Account,
  type Delegation,
  type Spendable,
  SUN_PER_TRX,
  accountAt,
  delegationAt,
  emptyDelegation,
  indexKey,
  putAccount,
  putDelegation,
} from './accounts.js';
import { type Actuator, missingAccount } from './actuators.js';
import { isAddress } from './address.js';
import { validateError } from './errors.js';
import type { Context } from './fees.js';
import { flag, int, text } from './fields.js';
import { parameter } from './parameters.js';
import { delegationCost, doubleLimitOfStake, handBack, increase, stakeInUse, stakeOf } from './resources.js';
import type { Message } from './schema.js';
import { held, ownerOf, resourceOf } from './stake-checks.js';

const BLOCK_MS = 3_000n;
const DEFAULT_LOCK_BLOCKS = 86_400n;
const FEATURE_OFF_LOCK = 86_400n;

function spendableOf(message: Message): Spendable | undefined {
  const resource = resourceOf(message);
  return resource === 'TRON_POWER' ? undefined : resource;
}

function checkReceiver(owner: string, receiver: string): void {
  if (!isAddress(receiver)) throw validateError('Invalid receiverAddress');
  if (receiver === owner) throw validateError('receiverAddress must not be the same as ownerAddress');
}

/** Returns the lock in blocks; undefined if the chain ignores lock periods (maximum still at its initial value). */
function lockBlocks(context: Context, message: Message): bigint | undefined {
  if (parameter(context.state, 'getMaxDelegateLockPeriod') <= FEATURE_OFF_LOCK) return undefined;
  const period = int(message, 'lock_period');
  return period === 0n ? DEFAULT_LOCK_BLOCKS : period;
}

function checkAvailable(context: Context, owner: Account, resource: Spendable, amount: bigint): void {
  let used = increase(owner.usage[resource], 0n, context.slot).used;
  if (resource === 'BANDWIDTH' && context.isBuilding === true)
    used += delegationCost(context.state, owner.frozen.BANDWIDTH);
  if (owner.frozen[resource] - stakeInUse(context.state, owner, resource, used) >= amount) return;
  const name = resource === 'ENERGY' ? 'FreezeEnergyV2' : 'FreezeBandwidthV2';
  throw validateError(`delegateBalance must be less than or equal to available ${name} balance`);
}

function checkLock(context: Context, message: Message, resource: Spendable): void {
  const period = lockBlocks(context, message);
  if (period === undefined) return;
  const max = parameter(context.state, 'getMaxDelegateLockPeriod');
  if (period < 0n || period > max)
    throw validateError(`The lock period of delegate resource cannot be less than 0 and cannot exceed ${String(max)}!`);
  const locked = delegationAt(context.state, text(message, 'owner_address'), text(message, 'receiver_address'), true);
  if (locked === undefined) return;
  const remain = locked.expireMs[resource] - context.headMs;
  if (period * BLOCK_MS < remain)
    throw validateError(
      `The lock period for ${resource} this time cannot be less than the remaining time[${String(remain)}ms] of the last lock period for ${resource}!`,
    );
}

export const delegate: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'not exists');
    const amount = int(message, 'balance');
    if (amount < SUN_PER_TRX) throw validateError('delegateBalance must be greater than or equal to 1 TRX');
    const resource = spendableOf(message);
    if (resource === undefined) throw validateError('ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]');
    checkAvailable(context, owner, resource, amount);
    const receiverAddress = text(message, 'receiver_address');
    checkReceiver(owner.address, receiverAddress);
    const receiver = accountAt(context.state, receiverAddress);
    if (receiver === undefined) throw missingAccount(receiverAddress);
    if (flag(message, 'lock')) checkLock(context, message, resource);
    if (receiver.isContract) throw validateError('Do not allow delegate resources to contract addresses');
  },
  act(context, message) {
    const { state, headMs } = context;
    const owner = held(context, text(message, 'owner_address'));
    const receiver = held(context, text(message, 'receiver_address'));
    const resource = spendableOf(message) ?? 'BANDWIDTH';
    const amount = int(message, 'balance');
    const locks = flag(message, 'lock');
    unlockExpired(context, owner.address, receiver.address);
    const record =
      delegationAt(state, owner.address, receiver.address, locks) ?? emptyDelegation(owner.address, receiver.address);
    const expireMs = locks ? headMs + (lockBlocks(context, message) ?? DEFAULT_LOCK_BLOCKS) * BLOCK_MS : 0n;
    putDelegation(state, added(record, resource, amount, expireMs), locks);
    state.put(indexKey(owner.address, 'to', receiver.address), headMs);
    state.put(indexKey(receiver.address, 'from', owner.address), headMs);
    putAccount(state, {
      ...receiver,
      acquired: { ...receiver.acquired, [resource]: receiver.acquired[resource] + amount },
    });
    putAccount(state, {
      ...owner,
      delegated: { ...owner.delegated, [resource]: owner.delegated[resource] + amount },
      frozen: { ...owner.frozen, [resource]: owner.frozen[resource] - amount },
    });
    return { fee: 0n };
  },
};

function added(record: Delegation, resource: Spendable, amount: bigint, expireMs: bigint): Delegation {
  return {
    ...record,
    amount: { ...record.amount, [resource]: record.amount[resource] + amount },
    expireMs: { ...record.expireMs, [resource]: expireMs },
  };
}

/** Moves expired amounts from the locked record to the unlocked one, by resource. */
function unlockExpired(context: Context, from: string, to: string): void {
  const locked = delegationAt(context.state, from, to, true);
  if (locked === undefined) return;
  let remaining = locked;
  let free = delegationAt(context.state, from, to, false) ?? emptyDelegation(from, to);
  for (const resource of ['BANDWIDTH', 'ENERGY'] as const) {
    if (locked.amount[resource] === 0n || locked.expireMs[resource] >= context.headMs) continue;
    free = added(free, resource, locked.amount[resource], 0n);
    remaining = added(remaining, resource, -locked.amount[resource], 0n);
  }
  if (remaining === locked) return;
  putDelegation(context.state, remaining, true);
  putDelegation(context.state, free, false);
}

/** Returns the sun that an undelegation may take: unlocked amounts, and locked ones that expired. */
function reclaimable(context: Context, from: string, to: string, resource: Spendable): bigint | undefined {
  const free = delegationAt(context.state, from, to, false);
  const locked = delegationAt(context.state, from, to, true);
  if (free === undefined && locked === undefined) return undefined;
  const expired = locked !== undefined && locked.expireMs[resource] < context.headMs ? locked.amount[resource] : 0n;
  return (free?.amount[resource] ?? 0n) + expired;
}

export const undelegate: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'does not exist').address;
    const receiver = text(message, 'receiver_address');
    checkReceiver(owner, receiver);
    const resource = spendableOf(message);
    const available = reclaimable(context, owner, receiver, resource ?? 'BANDWIDTH');
    if (available === undefined) throw validateError('delegated Resource does not exist');
    const amount = int(message, 'balance');
    if (amount <= 0n) throw validateError('unDelegateBalance must be more than 0 TRX');
    if (resource === undefined) throw validateError('ResourceCode error.valid ResourceCode[BANDWIDTH、Energy]');
    if (available >= amount) return;
    const what = resource === 'ENERGY' ? 'delegateFrozenBalance(Energy)' : 'delegatedFrozenBalance(BANDWIDTH)';
    throw validateError(`insufficient ${what}, request=${String(amount)}, unlock_balance=${String(available)}`);
  },
  act(context, message) {
    const { state } = context;
    const from = text(message, 'owner_address');
    const to = text(message, 'receiver_address');
    const resource = spendableOf(message) ?? 'BANDWIDTH';
    const amount = int(message, 'balance');
    const transferred = takeFromReceiver(context, to, resource, amount);
    unlockExpired(context, from, to);
    const free = delegationAt(state, from, to, false) ?? emptyDelegation(from, to);
    putDelegation(state, added(free, resource, -amount, 0n), false);
    if (delegationAt(state, from, to, false) === undefined && delegationAt(state, from, to, true) === undefined) {
      state.put(indexKey(from, 'to', to), undefined);
      state.put(indexKey(to, 'from', from), undefined);
    }
    const owner = held(context, from);
    const receiver = accountAt(state, to);
    const usage =
      receiver !== undefined && transferred > 0n
        ? handBack(owner.usage[resource], receiver.usage[resource], transferred, context.slot)
        : owner.usage[resource];
    putAccount(state, {
      ...owner,
      usage: { ...owner.usage, [resource]: usage },
      delegated: { ...owner.delegated, [resource]: owner.delegated[resource] - amount },
      frozen: { ...owner.frozen, [resource]: owner.frozen[resource] + amount },
    });
    return { fee: 0n };
  },
};

/** Removes stake from the receiver. Returns the usage that moves with it: the stake's share, at most what it yields. */
function takeFromReceiver(context: Context, to: string, resource: Spendable, amount: bigint): bigint {
  const receiver = accountAt(context.state, to);
  if (receiver === undefined) return 0n;
  const now = increase(receiver.usage[resource], 0n, context.slot);
  let transferred = 0n;
  let acquired = 0n;
  if (receiver.acquired[resource] >= amount) {
    // TRON (UnDelegateResourceActuator): TIP-833 left this limit in doubles.
    const most = doubleLimitOfStake(context.state, resource, amount);
    const share = BigInt(Math.trunc(Number(now.used) * (Number(amount) / Number(stakeOf(receiver, resource)))));
    transferred = share < most ? share : most;
    acquired = receiver.acquired[resource] - amount;
  }
  putAccount(context.state, {
    ...receiver,
    acquired: { ...receiver.acquired, [resource]: acquired },
    usage: { ...receiver.usage, [resource]: { ...now, used: now.used - transferred, slot: context.slot } },
  });
  return transferred;
}
