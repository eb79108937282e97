// Votes and rewards of contracts, where their rules differ from those of transactions. TRON: VoteWitnessProcessor,
// WithdrawRewardProcessor, Program.withdrawRewardAndCancelVote (release 4.8.1).
import { SUN_PER_TRX, type Vote, accountAt, putAccount } from './accounts.js';
import { validateError } from './errors.js';
import { settleVoter } from './rewards.js';
import { held } from './stake-checks.js';
import type { Context } from './fees.js';
import type { Reader } from './state.js';
import { contractVotingPowerOf, withVotes } from './voting-power.js';
import { VOTES_MAX, checked } from './voting.js';
import { witnessAt } from './witnesses.js';

/** Java's hash of the 21 bytes of an address. TRON's key is protobuf's ByteString. */
function javaHash(address: string): number {
  const bytes = Buffer.from(address, 'hex');
  let hash = bytes.length;
  for (const byte of bytes) hash = (Math.imul(hash, 31) + ((byte << 24) >> 24)) | 0;
  return hash === 0 ? 1 : hash;
}

/** Returns votes in the order of Java's HashMap, in which java-tron stores the votes of a contract. */
function inMapOrder(votes: readonly Vote[]): readonly Vote[] {
  const buckets = votes.length > 24 ? 64 : votes.length > 12 ? 32 : 16;
  const bucketOf = ({ address }: Vote): number => {
    const hash = javaHash(address);
    return (hash ^ (hash >>> 16)) & (buckets - 1);
  };
  return votes.toSorted((a, b) => bucketOf(a) - bucketOf(b));
}

/** Adds up votes for the same witness, and leaves out votes of 0. Throws for what java-tron refuses. */
function merged(state: Reader, votes: readonly Vote[]): { readonly sum: bigint; readonly votes: readonly Vote[] } {
  const counts = new Map<string, bigint>();
  let sum = 0n;
  for (const { address, count } of votes) {
    if (witnessAt(state, address) === undefined) throw validateError(`Witness[${address}] not exists`);
    if (count < 0n) throw validateError('Vote count must not be less than 0');
    if (count === 0n) continue;
    sum = checked(sum + count, `checkedAdd(${String(sum)}, ${String(count)})`);
    counts.set(address, (counts.get(address) ?? 0n) + count);
  }
  return { sum, votes: [...counts].map(([address, count]) => ({ address, count })) };
}

/** Replaces all votes of a contract; no votes are allowed. Throws a NodeError for a refusal. */
export function castVotes(context: Context, address: string, votes: readonly Vote[]): void {
  const { state } = context;
  if (votes.length > VOTES_MAX) throw validateError(`VoteNumber more than maxVoteNumber ${String(VOTES_MAX)}`);
  settleVoter(state, address);
  const owner = held(context, address);
  const { sum, votes: given } = merged(state, votes);
  const wanted = checked(sum * SUN_PER_TRX, `checkedMultiply(${String(sum)}, ${String(SUN_PER_TRX)})`);
  const power = contractVotingPowerOf(state, owner);
  if (wanted > power)
    throw validateError(`The total number of votes[${String(wanted)}] is greater than the tronPower[${String(power)}]`);
  putAccount(state, withVotes(state, owner, inMapOrder(given)));
}

/** Pays a contract's reward, without the wait of 24 hours. Returns it, sun; nothing to pay is no failure. */
export function payReward(context: Context, address: string, nowMs: bigint): bigint {
  const { state } = context;
  if (accountAt(state, address)?.isWitness === true)
    throw validateError(`Account[${address}] is a guard representative and is not allowed to withdraw Balance`);
  settleVoter(state, address);
  const owner = held(context, address);
  const reward = owner.allowance ?? 0n;
  if (reward <= 0n) return 0n;
  putAccount(state, { ...owner, balance: owner.balance + reward, allowance: 0n, withdrawMs: nowMs });
  return reward;
}

/** Pays the reward of a contract that destroys itself, and takes back its votes. */
export function leaveVoting(context: Context, address: string, nowMs: bigint): void {
  const { state } = context;
  settleVoter(state, address);
  const owner = held(context, address);
  const left = (owner.votes ?? []).length === 0 ? owner : { ...withVotes(state, owner, []), oldTronPower: 0n };
  const balance = left.balance + (left.allowance ?? 0n);
  putAccount(state, { ...left, balance, allowance: 0n, withdrawMs: nowMs });
}
