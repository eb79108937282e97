// TRON Power, and the votes that an account loses by unfreezing. TRON: AccountCapsule, UnfreezeBalanceV2Actuator.
import { type Account, type Resource, type Vote, SUN_PER_TRX } from './accounts.js';
import { parameter } from './parameters.js';
import type { Reader, State } from './state.js';
import { changeVotes } from './witnesses.js';

/** Returns true if only stake for TRON_POWER gives new votes. Off on the main net. */
export function hasVotingModel(state: Reader): boolean {
  return parameter(state, 'getAllowNewResourceModel') === 1n;
}

/** Returns the stake for bandwidth and energy, delegated stake included, sun. TRON: AccountCapsule.getTronPower. */
function stakedPower({ frozen, delegated }: Account): bigint {
  return frozen.BANDWIDTH + frozen.ENERGY + delegated.BANDWIDTH + delegated.ENERGY;
}

/** Returns the account's TRON Power, sun. TRON: AccountCapsule.getAllTronPower. */
export function tronPowerOf(account: Account): bigint {
  const old = account.oldTronPower === 0n ? stakedPower(account) : account.oldTronPower;
  return (old > 0n ? old : 0n) + account.frozen.TRON_POWER;
}

/** Returns the TRON Power that votes are checked against. */
export function votingPowerOf(state: Reader, account: Account): bigint {
  return hasVotingModel(state) ? tronPowerOf(account) : stakedPower(account);
}

/**
 * Returns the TRON Power that the votes of a contract are checked against, sun. TRON: VoteWitnessProcessor and
 * TotalVoteCount count the newer voting model only with stake 2.0.
 */
export function contractVotingPowerOf(state: Reader, account: Account): bigint {
  return parameter(state, 'getUnfreezeDelayDays') > 0n ? votingPowerOf(state, account) : stakedPower(account);
}

/** Returns the account with its power before the newer voting model fixed. TRON: initializeOldTronPower. */
export function withInitialPower(state: Reader, account: Account): Account {
  if (!hasVotingModel(state) || account.oldTronPower !== 0n) return account;
  return { ...account, oldTronPower: stakedPower(account) || -1n };
}

export function votesUsed(account: Account): bigint {
  return (account.votes ?? []).reduce((sum, { count }) => sum + count, 0n);
}

/** Replaces an account's votes. The next maintenance counts the difference. */
export function withVotes(state: State, account: Account, votes: readonly Vote[]): Account {
  const lost = (account.votes ?? []).map(({ address, count }) => ({ address, count: -count }));
  changeVotes(state, [...lost, ...votes]);
  return { ...account, votes };
}

/**
 * Returns the account with the votes that its power still covers. `account` no longer has the unfrozen stake. TRON:
 * UnfreezeBalanceV2Actuator.updateVote; each witness's votes shrink in proportion, in java-tron's doubles.
 */
export function votesAfterUnfreezing(state: State, account: Account, resource: Resource): Account {
  const votes = account.votes ?? [];
  if (votes.length === 0) return account;
  if (hasVotingModel(state)) {
    if (account.oldTronPower !== -1n) return withVotes(state, account, []);
    if (resource !== 'TRON_POWER') return account;
  }
  const total = votesUsed(account);
  const owned = votingPowerOf(state, account);
  if (owned >= total * SUN_PER_TRX) return account;
  const reduced = votes.map(({ address, count }) => ({
    address,
    count: BigInt(Math.trunc(((Number(count) / Number(total)) * Number(owned)) / Number(SUN_PER_TRX))),
  }));
  return withVotes(
    state,
    account,
    reduced.filter(({ count }) => count > 0n),
  );
}
