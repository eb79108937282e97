// Votes for witnesses, and the withdrawal of rewards. Messages and order of checks are java-tron's. TRON:
// VoteWitnessActuator, WithdrawBalanceActuator, UpdateBrokerageActuator.
import { SUN_PER_TRX, accountAt, putAccount } from './accounts.js';
import { type Actuator, missingAccount } from './actuators.js';
import { isAddress } from './address.js';
import { validateError } from './errors.js';
import { int, list, num, text } from './fields.js';
import { parameter } from './parameters.js';
import { pendingReward, settleReward } from './rewards.js';
import type { Message } from './schema.js';
import { held, ownerOf } from './stake-checks.js';
import type { Reader } from './state.js';
import { votingPowerOf, withInitialPower, withVotes } from './voting-power.js';
import { setNextBrokerage, witnessAt } from './witnesses.js';

export const VOTES_MAX = 30;
const LONG_MAX = (1n << 63n) - 1n;
const DAY_MS = 86_400_000n;

/** Java's LongMath: the exact result, or a refusal with its message. */
export function checked(result: bigint, call: string): bigint {
  if (result > LONG_MAX) throw validateError(`overflow: ${call}`);
  return result;
}

/** Checks each vote. Returns their sum. */
function checkVotes(state: Reader, votes: readonly Message[]): bigint {
  let sum = 0n;
  for (const vote of votes) {
    const candidate = text(vote, 'vote_address');
    const count = int(vote, 'vote_count');
    if (!isAddress(candidate)) throw validateError('Invalid vote address!');
    if (count <= 0n) throw validateError('vote count must be greater than 0');
    if (accountAt(state, candidate) === undefined) throw missingAccount(candidate);
    if (witnessAt(state, candidate) === undefined) throw validateError(`Witness[${candidate}] not exists`);
    sum = checked(sum + count, `checkedAdd(${String(sum)}, ${String(count)})`);
  }
  return sum;
}

/** Replaces all votes of the owner. */
export const vote: Actuator = {
  check({ state }, message) {
    const address = text(message, 'owner_address');
    if (!isAddress(address)) throw validateError('Invalid address');
    const votes = list(message, 'votes');
    if (votes.length === 0) throw validateError('VoteNumber must more than 0');
    if (votes.length > VOTES_MAX) throw validateError(`VoteNumber more than maxVoteNumber ${String(VOTES_MAX)}`);
    const sum = checkVotes(state, votes);
    const owner = accountAt(state, address);
    if (owner === undefined) throw missingAccount(address);
    const power = votingPowerOf(state, owner);
    const wanted = checked(sum * SUN_PER_TRX, `checkedMultiply(${String(sum)}, ${String(SUN_PER_TRX)})`);
    if (wanted > power)
      throw validateError(
        `The total number of votes[${String(wanted)}] is greater than the tronPower[${String(power)}]`,
      );
  },
  act(context, message) {
    const { state } = context;
    const address = text(message, 'owner_address');
    settleReward(state, address);
    const owner = withInitialPower(state, held(context, address));
    const votes = list(message, 'votes').map((v) => ({
      address: text(v, 'vote_address'),
      count: int(v, 'vote_count'),
    }));
    putAccount(state, withVotes(state, owner, votes));
    return { fee: 0n };
  },
};

/** Pays the allowance, at most once in 24 hours. */
export const withdrawReward: Actuator = {
  check(context, message) {
    const owner = ownerOf(context, message, 'not exists');
    // Every witness of the local chain is one of genesis, which TRON calls guard representatives.
    if (owner.isWitness === true)
      throw validateError(`Account[${owner.address}] is a guard representative and is not allowed to withdraw Balance`);
    const last = owner.withdrawMs ?? 0n;
    if (context.headMs - last < DAY_MS)
      throw validateError(`The last withdraw time is ${String(last)}, less than 24 hours`);
    const allowance = owner.allowance ?? 0n;
    if (allowance <= 0n && pendingReward(context.state, owner) <= 0n)
      throw validateError('witnessAccount does not have any reward');
    checked(owner.balance + allowance, `checkedAdd(${String(owner.balance)}, ${String(allowance)})`);
  },
  act(context, message) {
    const address = text(message, 'owner_address');
    settleReward(context.state, address);
    const owner = held(context, address);
    const amount = owner.allowance ?? 0n;
    putAccount(context.state, {
      ...owner,
      balance: owner.balance + amount,
      allowance: 0n,
      withdrawMs: context.headMs,
    });
    return { fee: 0n, extra: { withdraw_amount: amount } };
  },
};

/** Sets the percentage that a witness keeps, from the next cycle on. */
export const updateBrokerage: Actuator = {
  check({ state }, message) {
    const address = text(message, 'owner_address');
    const brokerage = num(message, 'brokerage');
    if (parameter(state, 'getChangeDelegation') !== 1n)
      throw validateError('contract type error, unexpected type [UpdateBrokerageContract]');
    if (!isAddress(address)) throw validateError('Invalid ownerAddress');
    if (brokerage < 0 || brokerage > 100) throw validateError('Invalid brokerage');
    if (witnessAt(state, address) === undefined) throw validateError(`Not existed witness:${address}`);
    if (accountAt(state, address) === undefined) throw validateError('Account does not exist');
  },
  act({ state }, message) {
    setNextBrokerage(state, text(message, 'owner_address'), num(message, 'brokerage'));
    return { fee: 0n };
  },
};
