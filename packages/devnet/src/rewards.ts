// Rewards of voters by the sums per vote that each maintenance stores. TRON: MortgageService.withdrawReward, queryReward
// and computeReward with the new reward algorithm (getAllowNewReward) from the first cycle.
import { type Account, type RewardRecord, type Vote, accountAt, putAccount } from './accounts.js';
import { parameter } from './parameters.js';
import type { Reader, State } from './state.js';
import { VI_UNIT, addAllowance, cycleAt, viAt } from './witnesses.js';

const NEVER: RewardRecord = { begin: 0n, end: -1n };

/** Returns the reward of votes from cycle `begin` up to, and without, cycle `end`, sun. */
function rewardBetween(state: Reader, begin: bigint, end: bigint, votes: readonly Vote[]): bigint {
  if (begin >= end) return 0n;
  let reward = 0n;
  for (const { address, count } of votes) {
    const perVote = viAt(state, end - 1n, address) - viAt(state, begin - 1n, address);
    if (perVote > 0n) reward += (perVote * count) / VI_UNIT;
  }
  return reward;
}

/** Returns the reward of the cycle that began with a snapshot of the votes, and the first cycle after it. */
function ofSnapshot(state: Reader, record: RewardRecord, current: bigint): { reward: bigint; begin: bigint } {
  const { begin, end, snapshot } = record;
  if (begin + 1n !== end || begin >= current) return { reward: 0n, begin };
  const votes = snapshot?.cycle === begin ? snapshot.votes : [];
  return { reward: rewardBetween(state, begin, end, votes), begin: begin + 1n };
}

/** Moves the reward of all finished cycles into the account's allowance, before its votes change. */
export function settleReward(state: State, address: string): void {
  if (parameter(state, 'getChangeDelegation') === 1n) settleVoter(state, address);
}

/** Settles a reward inside the VM, where getChangeDelegation is not asked. TRON: VoteRewardUtil.withdrawReward. */
export function settleVoter(state: State, address: string): void {
  const account = accountAt(state, address);
  const record = account?.rewards ?? NEVER;
  const current = cycleAt(state);
  if (account === undefined || record.begin > current) return;
  if (record.begin === current && record.snapshot?.cycle === current) return;
  const { reward, begin } = ofSnapshot(state, record, current);
  const votes = account.votes ?? [];
  const next: RewardRecord =
    votes.length === 0
      ? { ...record, begin: current + 1n }
      : { begin: current, end: current + 1n, snapshot: { cycle: current, votes } };
  putAccount(state, { ...account, rewards: next });
  addAllowance(state, address, reward + rewardBetween(state, begin, current, votes));
}

/** Returns what the account could withdraw now, sun. */
export function pendingReward(state: Reader, account: Account): bigint {
  return parameter(state, 'getChangeDelegation') === 1n ? rewardOf(state, account) : 0n;
}

/** Returns the reward that a contract sees, sun. TRON: VoteRewardUtil.queryReward. */
export function rewardOf(state: Reader, account: Account): bigint {
  const record = account.rewards ?? NEVER;
  const current = cycleAt(state);
  const allowance = account.allowance ?? 0n;
  if (record.begin > current) return allowance;
  const { reward, begin } = ofSnapshot(state, record, current);
  return allowance + reward + rewardBetween(state, begin, current, account.votes ?? []);
}
