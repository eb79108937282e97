// Opcodes for the votes of contracts (0xd8, 0xd9). TRON: OperationActions.voteWitnessAction, withdrawRewardAction,
// Program.voteWitness, withdrawReward (release 4.8.1).
import type { Vote } from './accounts.js';
import { base58OfHex } from './address.js';
import { castVotes, payReward } from './contract-votes.js';
import { VmHalt } from './energy.js';
import { type Action, LONG_MAX, addressOf, attempt, intOf, readMemory, refresh, selfOf } from './evm-actions.js';
import type { RunState } from './evm-meter.js';

const OPCODE = 'VOTEWITNESS';
const WORD = 32;
const LONG_MIN = -LONG_MAX - 1n;

function wordsOf(bytes: Uint8Array): bigint[] {
  return Array.from({ length: bytes.length / WORD }, (_, i) =>
    BigInt(`0x${Buffer.from(bytes.subarray(i * WORD, (i + 1) * WORD)).toString('hex')}`),
  );
}

/** A dynamic array in memory: a word with its length, then its words. */
interface ArrayAt {
  readonly offset: number;
  readonly length: number;
}

/** Throws the halt for a length that differs from the one in memory. */
function checkLength(state: RunState, { offset, length }: ArrayAt): void {
  const [inMemory = 0n] = wordsOf(readMemory(state, offset, WORD, OPCODE));
  if (intOf(inMemory) === length) return;
  const message = 'TVM VoteWitness: memory array length do not match length parameter!';
  throw new VmHalt('Program$BytecodeExecutionException', message, 'UNKNOWN');
}

/** Reads both arrays. Returns undefined for a count beyond a long, as java-tron's longValueExact refuses it. */
function votesIn(state: RunState, witnesses: ArrayAt, amounts: ArrayAt): readonly Vote[] | undefined {
  const [addresses, counts] = [witnesses, amounts].map(({ offset, length }) =>
    wordsOf(readMemory(state, offset + WORD, length * WORD, OPCODE)),
  ) as [bigint[], bigint[]];
  const votes = addresses.map((address, i) => ({
    address: addressOf(address),
    count: BigInt.asIntN(256, counts[i] ?? 0n),
  }));
  return votes.every(({ count }) => count >= LONG_MIN && count <= LONG_MAX) ? votes : undefined;
}

/** TRON: VoteWitnessParam.toJsonStr. */
function extraOf(votes: readonly Vote[]): string {
  const each = votes.map(
    ({ address, count }) => `{"vote_address":"${base58OfHex(address)}","vote_count":${String(count)}}`,
  );
  return `{"votes":[${each.join(',')}]}`;
}

/** Takes offset and length of the witnesses, then of the amounts; returns 1 or 0. */
const voteWitness: Action = (run, state) => {
  const pop = (): ArrayAt => {
    const length = intOf(state.stack.pop());
    return { length, offset: intOf(state.stack.pop()) };
  };
  const [amounts, witnesses] = [pop(), pop()];
  const self = selfOf(state);
  const internal = run.note({ caller: self, to: '', value: 0n, note: 'voteWitness' });
  checkLength(state, witnesses);
  checkLength(state, amounts);
  if (witnesses.length !== amounts.length) {
    // TRON: this refusal alone leaves the internal transaction unrejected.
    state.stack.push(0n);
    return;
  }
  const votes = votesIn(state, witnesses, amounts);
  if (votes !== undefined) internal.extra = extraOf(votes);
  const isDone =
    votes !== undefined &&
    attempt(run, (context) => {
      castVotes(context, self, votes);
      return true;
    }) === true;
  internal.rejected = !isDone;
  state.stack.push(isDone ? 1n : 0n);
};

/** Returns the reward that was paid to the contract, sun. */
const withdrawReward: Action = async (run, state) => {
  const self = selfOf(state);
  const internal = run.note({ caller: self, to: self, value: 0n, note: 'withdrawReward' });
  const paid = attempt(run, (context) => payReward(context, self, run.request.block.timeMs));
  internal.rejected = paid === undefined;
  internal.value = paid ?? 0n;
  await refresh(run, state);
  state.stack.push(paid ?? 0n);
};

export const VOTE_OPERATIONS: readonly (readonly [code: number, action: Action])[] = [
  [0xd8, voteWitness],
  [0xd9, withdrawReward],
];
