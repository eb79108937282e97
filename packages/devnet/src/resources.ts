// Stake 2.0 arithmetic with the exact rounding of java-tron's Resource-, Bandwidth- and EnergyProcessor. Pure over a
// state and a slot. The doubles are deliberate: java-tron computes in them what TIP-833 did not change.
import { type Account, type Spendable, type Usage, SUN_PER_TRX } from './accounts.js';
import { parameter, totalsAt } from './parameters.js';
import type { Reader } from './state.js';

const PRECISION = 1_000_000n;
/** 24 h in blocks. */
export const WINDOW_SLOTS = 28_800n;
const SLOT_SECONDS = 3n;
const WINDOW_PRECISION = 1_000n;
const WINDOW_FULL = WINDOW_SLOTS * WINDOW_PRECISION;
const DELEGATE_COST_BASE = 275n;

function ceilDiv(a: bigint, b: bigint): bigint {
  return a / b + (a % b > 0n ? 1n : 0n);
}

/** Java's `(long) double`. */
function truncate(value: number): bigint {
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n;
}

/** Java's Math.round. */
function round(value: number): bigint {
  return BigInt(Math.floor(value + 0.5));
}

function decayed(average: bigint, lastSlot: bigint, slot: bigint, window: bigint): bigint {
  if (lastSlot === slot) return average;
  if (lastSlot + window <= slot) return 0n;
  return round(Number(average) * (Number(window - (slot - lastSlot)) / Number(window)));
}

/** Adds usage within a fixed 24 h window: free bandwidth. */
export function increaseFree(last: bigint, used: bigint, lastSlot: bigint, slot: bigint): bigint {
  const average = decayed(ceilDiv(last * PRECISION, WINDOW_SLOTS), lastSlot, slot, WINDOW_SLOTS);
  return ((average + ceilDiv(used * PRECISION, WINDOW_SLOTS)) * WINDOW_SLOTS) / PRECISION;
}

function windowOf(usage: Usage): bigint {
  return usage.window === 0n ? WINDOW_FULL : usage.window;
}

function slotsOf(usage: Usage): bigint {
  const slots = windowOf(usage) / WINDOW_PRECISION;
  return slots === 0n ? 1n : slots;
}

/** Returns the usage that remains at `slot`; does not change the window. */
export function recovered(usage: Usage, slot: bigint): bigint {
  const window = slotsOf(usage);
  const average = decayed(ceilDiv(usage.used * PRECISION, window), usage.slot, slot, window);
  return (average * window) / PRECISION;
}

/** Adds `more` to the usage that remains at `slot` and averages the window. The caller sets the slot. */
export function increase(usage: Usage, more: bigint, slot: bigint): Usage {
  const window = slotsOf(usage);
  const average = decayed(ceilDiv(usage.used * PRECISION, window), usage.slot, slot, window);
  const used = (average * window + ceilDiv(more * PRECISION, WINDOW_SLOTS) * WINDOW_SLOTS) / PRECISION;
  const remain = (average * window) / PRECISION;
  if (remain === 0n) return { used, slot: usage.slot, window: WINDOW_FULL };
  const remainWindow = windowOf(usage) - (slot - usage.slot) * WINDOW_PRECISION;
  const next = ceilDiv(remain * remainWindow + more * WINDOW_FULL, used);
  return { used, slot: usage.slot, window: next > WINDOW_FULL ? WINDOW_FULL : next };
}

/** Adds `more` and dates the usage to `slot`. */
export function spend(usage: Usage, more: bigint, slot: bigint): Usage {
  return { ...increase(usage, more, slot), slot };
}

/** Returns the owner's usage after an undelegation returned `transferred`; windows are averaged by weight. */
export function handBack(owner: Usage, receiver: Usage, transferred: bigint, slot: bigint): Usage {
  const own = increase(owner, 0n, slot);
  const used = own.used + transferred;
  if (used === 0n) return { used: 0n, slot, window: WINDOW_FULL };
  const positive = (window: bigint): bigint => (window < 0n ? 0n : window);
  const next = ceilDiv(own.used * positive(windowOf(own)) + transferred * positive(windowOf(receiver)), used);
  return { used, slot, window: next > WINDOW_FULL ? WINDOW_FULL : next };
}

/** Returns the stake that counts for an account's `resource`: its own and that delegated to it, sun. */
export function stakeOf(account: Account, resource: Spendable): bigint {
  return account.frozen[resource] + account.acquired[resource];
}

export function totalLimit(state: Reader, resource: Spendable): bigint {
  return parameter(state, resource === 'ENERGY' ? 'getTotalEnergyCurrentLimit' : 'getTotalNetLimit');
}

/**
 * Returns the energy or bandwidth of a stake: floor(TRX * (total limit / total weight)), exactly once the resource
 * calculation is hardened, in doubles before. 0 without any stake on the chain. TRON: EnergyProcessor and
 * BandwidthProcessor, calculateGlobalLimitV2 (TIP-833).
 */
export function limitOfStake(state: Reader, resource: Spendable, stakeSun: bigint): bigint {
  const weight = totalsAt(state)[resource];
  if (weight <= 0n) return 0n;
  const limit = totalLimit(state, resource);
  if (parameter(state, 'getAllowHardenResourceCalculation') === 1n) return (stakeSun * limit) / (SUN_PER_TRX * weight);
  return doubleLimitOfStake(state, resource, stakeSun);
}

/** Returns the energy or bandwidth of a stake as java-tron computes it in doubles. */
export function doubleLimitOfStake(state: Reader, resource: Spendable, stakeSun: bigint): bigint {
  const perTrx = Number(totalLimit(state, resource)) / Number(totalsAt(state)[resource]);
  return truncate((Number(stakeSun) / Number(SUN_PER_TRX)) * perTrx);
}

export function limitOf(state: Reader, account: Account, resource: Spendable): bigint {
  return limitOfStake(state, resource, stakeOf(account, resource));
}

/**
 * Returns the unused energy of an account's stake that contract calls may use at `slot`. They count whole TRX only, so
 * it may be less than the account's limit shows. TRON: RepositoryImpl.getAccountLeftEnergyFromFreeze and
 * calculateGlobalEnergyLimit, which keep the formula of stake 1.0; ReceiptCapsule.payEnergyBill takes no more.
 */
export function usableEnergy(state: Reader, account: Account, slot: bigint): bigint {
  const wholeTrx = stakeOf(account, 'ENERGY') / SUN_PER_TRX;
  const limit = limitOfStake(state, 'ENERGY', wholeTrx * SUN_PER_TRX);
  const left = limit - recovered(account.usage.ENERGY, slot);
  return left > 0n ? left : 0n;
}

/** The stake that usage occupies, and the time until all of it has recovered. */
interface UsedStake {
  readonly sun: bigint;
  readonly seconds: bigint;
}

/**
 * Returns the stake that an account's usage occupies at `slot`, as contracts see it. TRON: RepositoryImpl
 * getAccountEnergyUsageBalanceAndRestoreSeconds and usageToBalance (exact since TIP-833).
 */
export function usedStake(state: Reader, account: Account, resource: Spendable, slot: bigint): UsedStake {
  const usage = account.usage[resource];
  const slots = usage.slot + slotsOf(usage) - slot;
  if (slots <= 0n) return { sun: 0n, seconds: 0n };
  if (totalLimit(state, resource) === 0n) return { sun: 0n, seconds: slots * SLOT_SECONDS };
  const used = recovered(usage, slot);
  const [weight, limit] = [totalsAt(state)[resource], totalLimit(state, resource)];
  const sun =
    parameter(state, 'getAllowHardenResourceCalculation') === 1n
      ? (used * weight * SUN_PER_TRX) / limit
      : truncate(((Number(used) * Number(weight)) / Number(limit)) * Number(SUN_PER_TRX));
  return { sun, seconds: slots * SLOT_SECONDS };
}

/** Returns the stake that usage occupies, sun. An owner cannot delegate it. */
export function stakeInUse(state: Reader, account: Account, resource: Spendable, used: bigint): bigint {
  const limit = totalLimit(state, resource);
  const perUnit = Number(totalsAt(state)[resource]) / Number(limit);
  const inUse = truncate(Number(used * SUN_PER_TRX) * perUnit) - account.acquired[resource];
  return inUse > 0n ? inUse : 0n;
}

function varintSize(value: bigint): bigint {
  let size = 1n;
  for (let rest = value >> 7n; rest > 0n; rest >>= 7n) size++;
  return size;
}

/** Returns the bandwidth that delegating everything may cost. java-tron reserves it when bandwidth is delegated. */
export function delegationCost(state: Reader, frozenSun: bigint): bigint {
  const lockPeriod = parameter(state, 'getMaxDelegateLockPeriod');
  const field = (value: bigint): bigint => (value === 0n ? 0n : 1n + varintSize(value));
  const most = field(frozenSun) + 2n + field(lockPeriod);
  const least = field(SUN_PER_TRX);
  return DELEGATE_COST_BASE + (most > least ? most - least : 0n);
}

/** Returns the most that the account can delegate now, sun. May be below 1 TRX, which the node reports as nothing. */
export function delegatable(state: Reader, account: Account, resource: Spendable, slot: bigint): bigint {
  let used = increase(account.usage[resource], 0n, slot).used;
  if (resource === 'BANDWIDTH') used += delegationCost(state, account.frozen.BANDWIDTH);
  const left = account.frozen[resource] - stakeInUse(state, account, resource, used);
  return left > 0n ? left : 0n;
}
