// The faults of each round, dealt from a deck that the seed shuffles: every fault recurs regularly with any seed. Pure.
import {
  CRASH_POINTS,
  SENDER_POINTS,
  type CrashPoint,
  type SenderPoint,
} from '../../../src/platform/support/crash-point.js';
import { seededRandom } from '../../../packages/devnet/src/faults-spec.js';

/** A rule for the nodes, in the format of their control port. */
export type NodeRule = Readonly<Record<string, unknown>> & { readonly kind: string };
type Random = () => number;

const BROADCAST = 'wallet/broadcast*';
const RECEIPTS = 'wallet/gettransactioninfobyid';
const SOLID_RECEIPTS = 'walletsolidity/gettransactioninfobyid';
/** Probability that a matching call fails. */
const RATE = 0.3;
/** Blocks are seen so late that a transaction is looked up by its receipt. */
const LATE = { kind: 'slow', ms: 1_200, path: 'wallet/getblock', rate: 1 } as const;
/** Longer than the service's node timeout here. */
const HOLD_MS = 3_000;
const CODES = [
  'SIGERROR',
  'CONTRACT_VALIDATE_ERROR',
  'CONTRACT_EXE_ERROR',
  'BANDWITH_ERROR',
  'DUP_TRANSACTION_ERROR',
  'TAPOS_ERROR',
  'TOO_BIG_TRANSACTION_ERROR',
  'TRANSACTION_EXPIRATION_ERROR',
  'SERVER_BUSY',
  'NO_CONNECTION',
  'NOT_ENOUGH_EFFECTIVE_CONNECTION',
  'BLOCK_UNSOLIDIFIED',
  'OTHER_ERROR',
] as const;

/** Answer of a node with a busy CPU. */
const OUT_OF_TIME = {
  code: 'OTHER_ERROR',
  message: Buffer.from(
    "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'JUMP' operation executing",
  ).toString('hex'),
};
const PARAMETERS = [
  'getEnergyFee',
  'getTransactionFee',
  'getCreateAccountFee',
  'getCreateNewAccountFeeInSystemContract',
] as const;

const upTo = (random: Random, max: number): number => 1 + Math.floor(random() * max);
const oneOf = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
/**
 * The node of a single operator: a proof of death needs two, and two nodes with the same lie cannot be detected. All
 * faults of one operator affect the same node in a round: while it reports wrong times, the other one works.
 */
const oneNode = (random: Random): number => Math.floor(random() * 2);

/** Up to ten minutes off, in some or all answers. */
const wrongTime = (random: Random, wrong: string, node: number): readonly NodeRule[] => [
  { kind: 'wrong', wrong, ms: upTo(random, 200) * 3000, node, rate: oneOf(random, [RATE, 1]) },
];

/** Each kind of node fault as rules with random parameters. `node`: the affected node for faults of one operator. */
const NODE_FAULTS = {
  'drop before': () => [{ kind: 'drop-before', rate: RATE }],
  'cut after': () => [{ kind: 'cut-after', rate: RATE }],
  'time out before': () => [{ kind: 'timeout-before', ms: HOLD_MS, rate: RATE }],
  'accept, then time out': () => [{ kind: 'timeout-after', ms: HOLD_MS, path: BROADCAST, rate: 0.6 }],
  '5xx before': (r) => [{ kind: 'error-before', status: oneOf(r, [500, 502, 504]), rate: RATE }],
  '5xx after': (r) => [{ kind: 'error-after', status: oneOf(r, [500, 502, 504]), rate: RATE }],
  throttled: (_r, node) => [{ kind: 'error-before', status: 429, node, times: 1 }],
  garbage: () => [{ kind: 'garbage', rate: RATE }],
  slow: () => [{ kind: 'slow', ms: 700, rate: RATE }],
  'refused in truth': () => CODES.map((code) => ({ kind: 'refuse', code, path: BROADCAST, rate: 0.05 })),
  'accepted, called refused': () => CODES.map((code) => ({ kind: 'lie-refused', code, path: BROADCAST, rate: 0.05 })),
  'refused, called accepted': () => [{ kind: 'lie-accepted', path: BROADCAST, rate: 0.5 }],
  'accepted, then dropped': () => [{ kind: 'accept-then-drop', path: BROADCAST, rate: 0.5 }],
  behind: (r, node) => [{ kind: 'behind', blocks: upTo(r, 40), node, rate: RATE }],
  'head stuck': (_r, node) => [{ kind: 'head-stuck', node }],
  'solid head stuck': () => [{ kind: 'solid-stuck' }],
  'nodes on two forks': (r, node) => [{ kind: 'own-fork', blocks: upTo(r, 4), node, rate: 0.7 }],
  fork: (r) => [{ kind: 'fork', blocks: upTo(r, 5), drop: r() < 0.3, path: 'wallet/getblock', rate: 0.03, times: 4 }],
  'fork after a broadcast': (r) => [{ kind: 'fork', blocks: upTo(r, 4), path: BROADCAST, rate: 0.2, times: 3 }],
  'receipt unknown': (_r, node) => [
    ...[RECEIPTS, SOLID_RECEIPTS].map((path) => ({ kind: 'wrong', wrong: 'empty', path, node, rate: RATE })),
    LATE,
  ],
  'receipt of another': () => [{ kind: 'wrong', wrong: 'other-id', path: RECEIPTS, rate: RATE }, LATE],
  'receipt of another block': () => [{ kind: 'wrong', wrong: 'other-block', path: RECEIPTS, rate: RATE }, LATE],
  'receipt that says failed': () => [{ kind: 'wrong', wrong: 'failed', path: RECEIPTS, rate: RATE }, LATE],
  'block without transactions': (_r, node) => [{ kind: 'wrong', wrong: 'stripped', node, rate: RATE }],
  'block with tampered bytes': (_r, node) => [{ kind: 'wrong', wrong: 'tampered', node, rate: RATE }],
  'block with failed transactions': (_r, node) => [
    { kind: 'wrong', wrong: 'failed', path: 'wallet/getblock', node, rate: RATE },
    { kind: 'wrong', wrong: 'failed', path: 'wallet/getblockbynum', node, rate: RATE },
  ],
  'a node’s time ahead': (r, node) => wrongTime(r, 'time-ahead', node),
  'a node’s time behind': (r, node) => wrongTime(r, 'time-behind', node),
  'head ahead': (r, node) => [{ kind: 'ahead', blocks: 10 + upTo(r, 50), node, rate: 1 }],
  'one block behind': (_r, node) => [{ kind: 'behind', blocks: 1, node, rate: 1 }],
  'no transaction history': (_r, node) => [
    ...[RECEIPTS, SOLID_RECEIPTS].map((path) => ({ kind: 'wrong', wrong: 'empty', path, node, rate: 1 })),
    LATE,
  ],
  // The other operator's node is down: a lying node must not be the only one available.
  'a lone node that drops answers': (_r, node) => [
    { kind: 'cut-after', node: 1 - node, rate: 0.2 },
    { kind: 'drop-before', node, rate: 1 },
  ],
  'no CPU time': () => [
    {
      kind: 'wrong',
      wrong: 'replace',
      replace: { result: OUT_OF_TIME },
      path: 'wallet/triggerconstantcontract',
      rate: 0.5,
    },
  ],
  'big blocks on a slow link': (_r, node) => [
    { kind: 'slow-link', bytesPerSec: 400_000, blockBytes: 1_200_000, node, rate: 1 },
  ],
  'a node without a parameter': (r, node) => [
    {
      kind: 'wrong',
      wrong: 'without-parameter',
      replace: { key: oneOf(r, PARAMETERS) },
      path: 'wallet/getchainparameters',
      node,
      rate: 1,
    },
  ],
} as const satisfies Readonly<Record<string, (random: Random, node: number) => readonly NodeRule[]>>;
export type NodeFault = keyof typeof NODE_FAULTS;

/** Faults of processes and servers. */
export const OTHER_FAULTS = [
  'worker killed at a point',
  'API killed at a point',
  'worker killed',
  'worker stopped (SIGSTOP)',
  'worker stopped at a point',
  'API stopped (SIGSTOP)',
  'worker clock shifted',
  'API clock shifted',
  'Redis flushed',
  'Redis down',
  'Postgres restarted',
  'standby promoted with lost commits',
  'Postgres connections killed',
  'database clock stepped',
  'cut after COMMIT',
  'a row held by a client',
  'an owner’s hand',
  'key gone',
  'bandwidth out',
  'the network’s stake doubled',
  'refusal flood',
  'poisoned names',
  'spoofed owners',
  'exchanges that collude',
  'sender killed at a point',
  'sender stopped (SIGSTOP)',
  'receivers away',
  'receivers slow',
  'receivers that lie',
] as const;
export type OtherFault = (typeof OTHER_FAULTS)[number];
export type FaultName = NodeFault | OtherFault;

export const FAULT_NAMES: readonly FaultName[] = [...(Object.keys(NODE_FAULTS) as NodeFault[]), ...OTHER_FAULTS];

export interface PlannedFault {
  readonly name: FaultName;
  /** Start and end as fractions of the round. */
  readonly from: number;
  readonly to: number;
  /** Node rules; empty for other faults. Rules of the first one's kind are the fault itself; others support it. */
  readonly rules: readonly NodeRule[];
  /** Index of the affected process. */
  readonly which: 0 | 1;
  readonly point: CrashPoint;
  readonly senderPoint: SenderPoint;
  /** Pass of the crash point that kills. */
  readonly passing: number;
  readonly shiftMs: number;
  readonly stopMs: number;
  /** Seed for choices made during the fault. */
  readonly seed: string;
}

/** Faults per round. Four rounds deal every fault. */
const PER_ROUND = 17;
const HOUR_MS = 3_600_000;
/** Long enough for leases to expire; a few are much longer. */
const STOP_MS = [
  4_000, 4_000, 4_000, 5_000, 5_000, 5_000, 6_000, 6_000, 6_000, 8_000, 8_000, 8_000, 20_000, 20_000, 90_000,
];
const API_POINTS = ['accept.before', 'accept.after', 'wake.before', 'wake.after', 'answer.before'] as const;
const WORKER_POINTS = CRASH_POINTS.filter((point) => !(API_POINTS as readonly string[]).includes(point));

/** Crash points at which a stopped worker holds orders that another worker takes over. */
export const HOLDING_POINTS = [
  'load.after',
  'build.after',
  'record-built.before',
  'record-built.after',
  'sign.before',
  'record-signed.before',
  'record-sending.before',
] as const satisfies readonly CrashPoint[];

export const isNodeFault = (name: FaultName): name is NodeFault => name in NODE_FAULTS;

/** Returns the fault of this name. Throws for an unknown one. */
export function faultNamed(name: string): FaultName {
  const known = FAULT_NAMES.find((one) => one === name);
  if (known === undefined) throw new Error(`${name} is no fault`);
  return known;
}

/**
 * Returns the faults of round `round` (from 1) for this seed. `first` are dealt before the deck. If `isAlone`, only
 * they are dealt: in every round, and for most of it.
 */
export function planRound(
  seed: string,
  round: number,
  first: readonly FaultName[] = [],
  isAlone = false,
): readonly PlannedFault[] {
  const names = isAlone ? first : dealt(seed, round, first);
  const random = seededRandom(`${seed} round ${round.toString()}`);
  const node = oneNode(random);
  const plan = names.map((name, index) => planned(name, index, names.length, node, random));
  return isAlone ? plan.map(allAlong) : plan;
}

/** Extends a fault over most of the round and removes its limit of firings. */
function allAlong(fault: PlannedFault): PlannedFault {
  return { ...fault, from: 0, to: 0.85, rules: fault.rules.map((rule) => ({ ...rule, times: undefined })) };
}

/** Deals the run's decks up to this round's cards; a duplicate within a round appears once. */
function dealt(seed: string, round: number, first: readonly FaultName[]): readonly FaultName[] {
  const cards: FaultName[] = [...first];
  for (let deck = 0; cards.length < round * PER_ROUND; deck += 1) {
    cards.push(...shuffled(FAULT_NAMES, seededRandom(`${seed} deck ${deck.toString()}`)));
  }
  return [...new Set(cards.slice((round - 1) * PER_ROUND, round * PER_ROUND))];
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((item) => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

function planned(name: FaultName, index: number, count: number, node: number, random: Random): PlannedFault {
  const from = (index / count) * 0.75;
  return {
    name,
    from,
    to: Math.min(1, from + 0.15 + random() * 0.2),
    rules: isNodeFault(name) ? NODE_FAULTS[name](random, node) : [],
    which: random() < 0.5 ? 0 : 1,
    point: oneOf(random, name === 'API killed at a point' ? API_POINTS : WORKER_POINTS),
    passing: upTo(random, 3),
    shiftMs: Math.round((random() * 2 - 1) * HOUR_MS),
    stopMs: oneOf(random, STOP_MS),
    seed: random().toString(),
    senderPoint: oneOf(random, SENDER_POINTS),
  };
}
