// The precompiled contracts 0x1000005 to 0x1000015, which tell contracts about votes, rewards and stake. None of them
// changes anything. TRON: PrecompiledContracts, FreezeV2Util, ChainParameterEnum, VoteRewardUtil (release 4.8.1).
import {
  type Account,
  type Resource,
  type Spendable,
  RESOURCES,
  SUN_PER_TRX,
  accountAt,
  delegationAt,
} from './accounts.js';
import { parameter, totalsAt } from './parameters.js';
import { stakeOf, totalLimit, usedStake } from './resources.js';
import { rewardOf } from './rewards.js';
import { unfreezingsLeft, withdrawable } from './staking.js';
import type { Reader } from './state.js';
import type { VmRule } from './vm-rules.js';
import { contractVotingPowerOf, votesUsed } from './voting-power.js';
import { witnessAt } from './witnesses.js';

/** The inputs of a question besides its call data. */
export interface Asking {
  readonly state: Reader;
  /** The sender that the precompiled contract sees. */
  readonly caller: string;
  readonly headMs: bigint;
}

interface StakePrecompile {
  readonly price: () => bigint;
  readonly run: (data: Uint8Array, asking: Asking) => Uint8Array;
  readonly rule: VmRule;
}

type Words = readonly [bigint, bigint, bigint];
type Question = (asking: Asking, words: Words) => bigint | readonly bigint[];

const WORD = 32;
const LONG_MAX = (1n << 63n) - 1n;
const ADDRESS_MASK = (1n << 160n) - 1n;
const SPENDABLE: readonly Spendable[] = ['BANDWIDTH', 'ENERGY'];

function addressOf(word: bigint): string {
  return '41' + (word & ADDRESS_MASK).toString(16).padStart(40, '0');
}

/** TRON (DataWord.longValueSafe): more than a long counts as the largest long. */
function longOf(word: bigint): bigint {
  return word > LONG_MAX ? LONG_MAX : word;
}

function resourceOf(word: bigint): Resource | undefined {
  return word < BigInt(RESOURCES.length) ? RESOURCES[Number(word)] : undefined;
}

function spendableOf(word: bigint): Spendable | undefined {
  return word < BigInt(SPENDABLE.length) ? SPENDABLE[Number(word)] : undefined;
}

function encoded(numbers: readonly bigint[]): Uint8Array {
  return Buffer.from(numbers.map((number) => number.toString(16).padStart(2 * WORD, '0')).join(''), 'hex');
}

/** Returns a precompiled contract that takes `count` words. Input of another size is answered with zeros. */
function asks(rule: VmRule, energy: bigint, count: number, question: Question, results = 1): StakePrecompile {
  return {
    rule,
    price: () => energy,
    run: (data, asking) => {
      if (data.length !== count * WORD) return new Uint8Array(results * WORD);
      const wordAt = (i: number): bigint =>
        i < count ? BigInt(`0x${Buffer.from(data.subarray(i * WORD, (i + 1) * WORD)).toString('hex')}`) : 0n;
      const answer = question(asking, [wordAt(0), wordAt(1), wordAt(2)]);
      return encoded(typeof answer === 'bigint' ? [answer] : answer);
    },
  };
}

/** Answers about the account in the first word; zeros without one. */
function about(answer: (account: Account, asking: Asking, words: Words) => bigint): Question {
  return (asking, words) => {
    const account = accountAt(asking.state, addressOf(words[0]));
    return account === undefined ? 0n : answer(account, asking, words);
  };
}

/** Answers about a resource, in the second word, of the account in the first; zeros without one of them. */
function aboutResource(answer: (account: Account, resource: Spendable, asking: Asking) => bigint): Question {
  return about((account, asking, words) => {
    const resource = spendableOf(words[1]);
    return resource === undefined ? 0n : answer(account, resource, asking);
  });
}

function used(account: Account, resource: Spendable, { state, headMs }: Asking): { sun: bigint; seconds: bigint } {
  return usedStake(state, account, resource, headMs / 3_000n);
}

/** TRON: ChainParameterEnum. */
const chainParameter: Question = ({ state }, [code]) => {
  const totals = totalsAt(state);
  const values = [
    0n,
    totalLimit(state, 'BANDWIDTH'),
    totals.BANDWIDTH,
    totalLimit(state, 'ENERGY'),
    totals.ENERGY,
    parameter(state, 'getUnfreezeDelayDays'),
  ];
  return code < BigInt(values.length) ? (values[Number(code)] ?? 0n) : 0n;
};

/** TRON: FreezeV2Util.queryExpireUnfreezeBalanceV2; the time is in seconds. */
const expired = about((account, _asking, words) => {
  const seconds = longOf(words[1]);
  return withdrawable(account, seconds >= LONG_MAX / 1_000n ? LONG_MAX : seconds * 1_000n);
});

/** TRON: FreezeV2Util.queryDelegatableResource. Unlike a node, it reserves no bandwidth for the delegation itself. */
const delegatable = aboutResource((account, resource, asking) => {
  const inUse = used(account, resource, asking).sun - account.acquired[resource];
  const left = account.frozen[resource] - (inUse > 0n ? inUse : 0n);
  return left > 0n ? left : 0n;
});

const frozen = about((account, _asking, words) => {
  const resource = resourceOf(words[1]);
  return resource === undefined ? 0n : account.frozen[resource];
});

/** TRON (ResourceV2): the stake that the second address delegates to the first; its own stake if both are one. */
const delegated: Question = (asking, [to, from, type]) => {
  if (addressOf(to) === addressOf(from)) return frozen(asking, [from, type, 0n]);
  const resource = spendableOf(type);
  if (resource === undefined) return 0n;
  const amountOf = (locked: boolean): bigint =>
    delegationAt(asking.state, addressOf(from), addressOf(to), locked)?.amount[resource] ?? 0n;
  return amountOf(false) + amountOf(true);
};

/**
 * TRON (FreezeV2Util.checkUndelegateResource): how much of an amount is unused, and used, and the seconds until its
 * recovery. The share is computed in java-tron's doubles.
 */
const checkUndelegate: Question = (asking, [target, amountWord, type]) => {
  const account = accountAt(asking.state, addressOf(target));
  const resource = spendableOf(type);
  const wanted = longOf(amountWord);
  if (account === undefined || resource === undefined || wanted === 0n) return [0n, 0n, 0n];
  const all = stakeOf(account, resource);
  const { sun, seconds } = used(account, resource, asking);
  const amount = wanted < all ? wanted : all;
  if (all <= sun) return [0n, amount, seconds];
  const clean = BigInt(Math.trunc(Number(amount) * (Number(all - sun) / Number(all))));
  return [clean, amount - clean, seconds];
};

const usage: Question = (asking, [address, type]) => {
  const account = accountAt(asking.state, addressOf(address));
  const resource = spendableOf(type);
  if (account === undefined || resource === undefined) return [0n, 0n];
  const { sun, seconds } = used(account, resource, asking);
  return [sun, seconds];
};

const votesFor = about(({ votes = [] }, _asking, words) =>
  votes.reduce((sum, { address, count }) => (address === addressOf(words[1]) ? sum + count : sum), 0n),
);

const reward: StakePrecompile = {
  rule: 'vote',
  price: () => 500n,
  run: (_data, { state, caller }) => {
    const account = accountAt(state, caller);
    return encoded([account === undefined ? 0n : rewardOf(state, account)]);
  },
};

/** TRON: PrecompiledContracts.getContractForAddress. */
export const STAKE_PRECOMPILES: readonly (readonly [address: bigint, contract: StakePrecompile])[] = [
  [0x1000005n, reward],
  [0x1000006n, asks('vote', 20n, 1, ({ state }, [a]) => (witnessAt(state, addressOf(a)) === undefined ? 0n : 1n))],
  [0x1000007n, asks('vote', 500n, 2, votesFor)],
  [0x1000008n, asks('vote', 20n, 1, about(votesUsed))],
  [0x1000009n, asks('vote', 20n, 1, ({ state }, [a]) => witnessAt(state, addressOf(a))?.votes ?? 0n)],
  [
    0x100000an,
    asks(
      'vote',
      20n,
      1,
      about((account, { state }) => contractVotingPowerOf(state, account) / SUN_PER_TRX),
    ),
  ],
  [0x100000bn, asks('stake2', 50n, 1, chainParameter)],
  [
    0x100000cn,
    asks(
      'stake2',
      50n,
      1,
      about((account, { headMs }) => BigInt(Math.max(0, unfreezingsLeft(account, headMs)))),
    ),
  ],
  [0x100000dn, asks('stake2', 50n, 2, frozen)],
  [0x100000en, asks('stake2', 50n, 2, expired)],
  [0x100000fn, asks('stake2', 50n, 2, delegatable)],
  [0x1000010n, asks('stake2', 50n, 3, delegated)],
  [0x1000011n, asks('stake2', 50n, 3, checkUndelegate, 3)],
  [0x1000012n, asks('stake2', 50n, 2, usage, 2)],
  [0x1000013n, asks('stake2', 50n, 2, aboutResource(stakeOf))],
  [
    0x1000014n,
    asks(
      'stake2',
      50n,
      2,
      aboutResource((account, resource) => account.delegated[resource]),
    ),
  ],
  [
    0x1000015n,
    asks(
      'stake2',
      50n,
      2,
      aboutResource((account, resource) => account.acquired[resource]),
    ),
  ],
];
