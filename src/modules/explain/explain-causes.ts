/**
 * Derives the causes of a burn or failure from facts, each proven by a receipt, a place in the chain or a recorded order.
 * What the facts don't prove is no cause. Pure.
 */
import { grouped, trxText } from '../../domain/text.js';
import { divCeil } from '../../domain/units.js';
import { reasonOfRevert } from '../quotes/revert-reason.js';
import {
  feeLimitEnergy,
  isStoppedByBalance,
  isStoppedByFeeLimit,
  shortageOf,
  type Facts,
  type Rental,
  type Shortage,
} from './explain-facts.js';

/** Stable codes of causes. */
export const CAUSE_CODES = [
  'FEE_LIMIT_TOO_LOW',
  'CALL_REVERTED',
  'CALL_FAILED',
  'SENT_FROM_ANOTHER_ADDRESS',
  'SENT_BEFORE_DELIVERY',
  'SENT_AFTER_END',
  'NO_RENTAL',
  'ENERGY_ALREADY_USED',
  'RECIPIENT_WITHOUT_TOKEN',
  'DYNAMIC_ENERGY_RISEN',
  'RENTAL_TOO_SMALL',
  'BALANCE_TOO_LOW',
  'BANDWIDTH_BURNT',
  'ACTIVATION_BURNT',
  'OTHER_FEES_BURNT',
  'CAUSE_NOT_PROVEN',
  'NOTHING_BURNT',
  'NOT_IN_A_BLOCK',
] as const;
export type CauseCode = (typeof CAUSE_CODES)[number];

export interface Cause {
  readonly code: CauseCode;
  readonly sentence: string;
  /** The caller's next step. */
  readonly next: string;
  /** TRX that this cause burnt, in sun; causes of the same burn share it. */
  readonly burnSun: bigint;
  readonly orderKey?: string | undefined;
  readonly txid?: string | undefined;
}

/** An order that arrived later than this, about an hour, has no bearing on the transaction. */
const NEAR_BLOCKS = 1200;
/** The chain rounds the surcharge of each operation, so its share varies a little between calls. */
const SURCHARGE_TOLERANCE_PERCENT = 3n;
/** Dynamic factors are in 1/10 000. */
const FACTOR_ONE = 10_000n;
const USE_SIMULATE = 'POST /v1/simulate';

/** Returns the causes, weightiest first: those of a failure, then by the TRX that they burnt. Never empty. */
export function causesOf(facts: Facts): readonly Cause[] {
  const failures = [...feeLimitCause(facts), ...failureCause(facts)];
  const energy = energyCauses(facts);
  const fees = [...bandwidthCause(facts), ...otherFees(facts)];
  const isFailing = isStoppedByBalance(facts);
  const burnt = [...(isFailing ? [] : energy), ...fees].sort((one, other) => compare(other.burnSun, one.burnSun));
  const causes = [...failures, ...(isFailing ? energy : []), ...burnt];
  return causes.length > 0 ? causes : [unexplained(facts)];
}

const compare = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0);

function feeLimitCause(facts: Facts): Cause[] {
  const { report, priceSun } = facts;
  const most = feeLimitEnergy(facts);
  if (most === undefined || !isStoppedByFeeLimit(facts)) return [];
  const { rented } = shortageOf(facts);
  const had = rented > most ? `, although ${grouped(rented)} rented energy was at the address` : '';
  const least =
    rented > most && priceSun !== undefined ? ` It must be at least ${(rented * priceSun).toString()} sun.` : '';
  return [
    {
      code: 'FEE_LIMIT_TOO_LOW',
      sentence: `Its fee_limit of ${trxText(report.feeLimitSun)} allows ${grouped(most)} energy, less than the call needs${had}.`,
      next: `Send it again with fee_limit_sun of the order or of ${USE_SIMULATE} as its fee_limit.${least}`,
      burnSun: report.execution.energyBurnSun,
    },
  ];
}

function failureCause({ report }: Facts): Cause[] {
  const { result, output, energyBurnSun: burnSun } = report.execution;
  if (result === 'SUCCESS' || result === 'OUT_OF_ENERGY') return [];
  const next = `Repeat the call with ${USE_SIMULATE}, which names what is wrong if it still would fail. A failed call uses up its energy.`;
  if (result !== 'REVERT') {
    return [{ code: 'CALL_FAILED', sentence: `The call failed inside the contract with ${result}.`, next, burnSun }];
  }
  const sentence =
    output === ''
      ? 'The contract reverted and gave no reason, as main-net USDT never does.'
      : `The contract reverted: ${reasonOfRevert(output)}`;
  return [{ code: 'CALL_REVERTED', sentence, next, burnSun }];
}

function energyCauses(facts: Facts): Cause[] {
  const { report, receiver, priceSun, rentals } = facts;
  const shortage = shortageOf(facts);
  const burnSun = report.execution.energyBurnSun;
  if (!shortage.isShort) return [];
  const causes =
    report.owner === receiver ? [...timeCauses(facts, shortage), ...useCauses(facts, shortage)] : [otherSender(facts)];
  const stopped = isStoppedByBalance({ report, priceSun }) ? [balanceCause(facts)] : [];
  if (causes.length > 0) return [...causes, ...stopped];
  if (stopped.length > 0) return stopped;
  return shortage.rented === 0n && !rentals.some(({ isUnknown }) => isUnknown)
    ? [noRental(report.owner, burnSun)]
    : [notProven(burnSun)];
}

const otherSender = ({ report, receiver }: Facts): Cause => ({
  code: 'SENT_FROM_ANOTHER_ADDRESS',
  sentence: `The sender is ${report.owner}, but the energy was rented for ${receiver}, and only energy of the sender pays.`,
  next: `Rent for the address that sends, or send from ${receiver}.`,
  burnSun: report.execution.energyBurnSun,
});

const noRental = (owner: string, burnSun: bigint): Cause => ({
  code: 'NO_RENTAL',
  sentence: `No rental of ${owner} was running.`,
  next: 'Rent for the sender, and wait for `delivered` before you send.',
  burnSun,
});

const notProven = (burnSun: bigint): Cause => ({
  code: 'CAUSE_NOT_PROVEN',
  sentence: 'The records of chain and orders do not prove the cause.',
  next: 'Ask the operator of the service, with this transaction id.',
  burnSun,
});

function balanceCause({ report }: Facts): Cause {
  const { stakedEnergy, energy, energyBurnSun } = report.execution;
  return {
    code: 'BALANCE_TOO_LOW',
    sentence: `The sender had ${grouped(stakedEnergy)} energy and TRX for ${grouped(energy - stakedEnergy)} more, less than the call needs.`,
    next: `Rent energy_needed of ${USE_SIMULATE}, or give the sender TRX, and send it again.`,
    burnSun: energyBurnSun,
  };
}

/** Energy that arrived too late or had ended, while the running rentals did not suffice. */
function timeCauses({ report, rentals }: Facts, { needed, rented }: Shortage): Cause[] {
  const { blockNumber, energyBurnSun: burnSun } = report.execution;
  if (rented >= needed) return [];
  const isNear = ({ arrivedBlock }: Rental): boolean =>
    arrivedBlock === undefined || arrivedBlock - blockNumber <= NEAR_BLOCKS;
  const [late] = rentals
    .filter((rental) => rental.later > 0n && isNear(rental))
    .sort((one, other) => (one.arrivedBlock ?? Infinity) - (other.arrivedBlock ?? Infinity));
  const [over] =
    rented > 0n
      ? []
      : rentals.filter(({ ended }) => ended > 0n).sort((one, other) => (other.endedBlock ?? 0) - (one.endedBlock ?? 0));
  return [
    ...(late === undefined ? [] : [tooEarly(late, blockNumber, burnSun)]),
    ...(over === undefined ? [] : [tooLate(over, blockNumber, burnSun)]),
  ];
}

function tooEarly({ key, later, arrivedBlock }: Rental, blockNumber: number, burnSun: bigint): Cause {
  const arrived =
    arrivedBlock === undefined
      ? 'which has not been delivered yet'
      : arrivedBlock === blockNumber
        ? 'which came later in the same block'
        : `which came in block ${arrivedBlock.toString()}`;
  return {
    code: 'SENT_BEFORE_DELIVERY',
    sentence: `It is in block ${blockNumber.toString()}, before ${grouped(later)} energy of order ${key}, ${arrived}.`,
    next: 'Wait until the order is `delivered` before you send.',
    burnSun,
    orderKey: key,
  };
}

function tooLate({ key, endedBlock }: Rental, blockNumber: number, burnSun: bigint): Cause {
  const ended = endedBlock === undefined ? 'had ended' : `had ended in block ${endedBlock.toString()}`;
  return {
    code: 'SENT_AFTER_END',
    sentence: `It is in block ${blockNumber.toString()}, and the rental of order ${key} ${ended} before it.`,
    next: 'Send before `ends_at`, extend the rental, or rent for longer.',
    burnSun,
    orderKey: key,
  };
}

/** Energy that was rented and running, and did not suffice. */
function useCauses(facts: Facts, shortage: Shortage): Cause[] {
  const { needed, rented, isTooSmall, isUsedUp } = shortage;
  const { stakedEnergy, energyBurnSun: burnSun } = facts.report.execution;
  const used = facts.earlierUse;
  const spent: Cause = {
    code: 'ENERGY_ALREADY_USED',
    sentence: `Of ${grouped(rented)} rented energy only ${grouped(stakedEnergy)} was left, because the same address had used the rest before${used === undefined ? '' : `, ${grouped(used.energy)} in transaction ${used.txid}`}.`,
    next: 'Rent for each transfer, or use an auto-delegation. Used energy comes back within 24 hours.',
    burnSun,
    txid: used?.txid,
  };
  const missing = `the call needed ${needText(facts, needed)} energy, and ${grouped(rented)} was rented`;
  return [...(isUsedUp ? [spent] : []), ...(isTooSmall ? [sizeCause(facts, shortage, missing)] : [])];
}

/** A call that stopped needed more than it used. */
function needText({ report }: Pick<Facts, 'report'>, needed: bigint): string {
  return `${report.execution.result === 'OUT_OF_ENERGY' ? 'more than ' : ''}${grouped(needed)}`;
}

function sizeCause(facts: Facts, { rented }: Shortage, missing: string): Cause {
  const burnSun = facts.report.execution.energyBurnSun;
  const toHolder = needToHolder(facts);
  if (facts.transfer !== undefined && toHolder !== undefined && rented >= toHolder) {
    return {
      code: 'RECIPIENT_WITHOUT_TOKEN',
      sentence: `The recipient ${facts.transfer.recipient} did not hold the token: ${missing}, enough for the ${grouped(toHolder)} of a transfer to a holder.`,
      next: 'Name the recipient as transfer_to in the quote or order, which sizes the rental by that transfer.',
      burnSun,
    };
  }
  const risen = needBefore(facts);
  if (facts.surcharge !== undefined && risen !== undefined && rented >= risen) {
    return {
      code: 'DYNAMIC_ENERGY_RISEN',
      sentence: `The dynamic energy of the contract rose from ${shareText(facts.surcharge)} in block ${facts.surcharge.blockNumber.toString()} to ${shareText(facts.report.execution)}: ${missing}, enough before.`,
      next: 'Order shortly before you send: a size includes the present factor and one further step.',
      burnSun,
    };
  }
  return {
    code: 'RENTAL_TOO_SMALL',
    sentence: `${missing.charAt(0).toUpperCase()}${missing.slice(1)}.`,
    next: `Size the rental by transfer_to, or by energy_needed of ${USE_SIMULATE}.`,
    burnSun,
  };
}

/**
 * Returns what the same transfer needs at most if its recipient holds the token; undefined unless the energy proves that
 * the recipient did not. A transfer that ended used exactly the energy of one to another address. One that was stopped
 * had used all that a transfer to a holder can need at the highest factor.
 */
function needToHolder({ report, transfer }: Facts): bigint | undefined {
  if (transfer === undefined || report.execution.deployerEnergy > 0n) return undefined;
  const { energy, penalty, result } = report.execution;
  const { toHolder, toOther, dynamicMax } = transfer;
  if (result === 'OUT_OF_ENERGY') {
    const most = divCeil(toHolder * (FACTOR_ONE + dynamicMax), FACTOR_ONE);
    return energy >= most ? most : undefined;
  }
  const plain = energy - penalty;
  // The surcharge adds to both in proportion.
  return plain === toOther && plain > toHolder ? divCeil(toHolder * energy, plain) : undefined;
}

/** Returns the most that the call would have needed at the earlier surcharge; undefined unless the surcharge rose. */
function needBefore({ report, surcharge }: Facts): bigint | undefined {
  if (surcharge === undefined) return undefined;
  const { energy, penalty, deployerEnergy, result } = report.execution;
  const isRisen = penalty * (surcharge.energy - surcharge.penalty) > surcharge.penalty * (energy - penalty);
  if (!isRisen || deployerEnergy > 0n || result !== 'SUCCESS') return undefined;
  const before = ((energy - penalty) * surcharge.energy) / (surcharge.energy - surcharge.penalty);
  return (before * (100n + SURCHARGE_TOLERANCE_PERCENT)) / 100n;
}

const shareText = ({ energy, penalty }: { readonly energy: bigint; readonly penalty: bigint }): string =>
  `${((penalty * 100n) / (energy - penalty)).toString()} %`;

function bandwidthCause({ report }: Facts): Cause[] {
  const burnSun = report.execution.bandwidthBurnSun;
  if (burnSun === 0n || activationSunOf({ report }) > 0n) return [];
  return [
    {
      code: 'BANDWIDTH_BURNT',
      sentence: `Neither the free nor the staked bandwidth of ${report.owner} covered the transaction, so it burnt ${trxText(burnSun)} for bandwidth.`,
      next: 'Order bandwidth with the energy, keep some TRX in the sender, or stake TRX for bandwidth. The free bandwidth of a day pays for one transfer.',
      burnSun,
    },
  ];
}

/** TRX that was burnt beside energy and bandwidth, in sun. */
function extraSunOf({ report }: Pick<Facts, 'report'>): bigint {
  const { burnSun, energyBurnSun, bandwidthBurnSun } = report.execution;
  const extra = burnSun - energyBurnSun - bandwidthBurnSun;
  return extra > 0n ? extra : 0n;
}

/**
 * Returns the TRX burnt to create an account, in sun. TRON: a memo and further signatures cost extra too, so only a
 * transaction without them proves it. Its bandwidth has a price of its own.
 */
export function activationSunOf({ report }: Pick<Facts, 'report'>): bigint {
  const isCreating = report.kind !== 'call' && report.kind !== 'deployment';
  const extra = extraSunOf({ report });
  if (!isCreating || report.hasMemo || report.signatures > 1 || extra === 0n) return 0n;
  return extra + report.execution.bandwidthBurnSun;
}

function otherFees(facts: Facts): Cause[] {
  const { report } = facts;
  const activation = activationSunOf(facts);
  if (activation > 0n) {
    return [
      {
        code: 'ACTIVATION_BURNT',
        sentence: `${report.target ?? 'The recipient'} was not on chain yet, and creating its account burnt ${trxText(activation)}.`,
        next: 'Activate a new address with POST /v1/activate first, or allow for the fee.',
        burnSun: activation,
      },
    ];
  }
  const extra = extraSunOf(facts);
  if (extra === 0n) return [];
  const reasons = [
    ...(report.hasMemo ? ['a memo'] : []),
    ...(report.signatures > 1 ? [`${report.signatures.toString()} signatures`] : []),
  ];
  if (reasons.length === 0) return [notProven(extra)];
  return [
    {
      code: 'OTHER_FEES_BURNT',
      sentence: `It has ${reasons.join(' and ')}, and burnt ${trxText(extra)} beside energy and bandwidth.`,
      next: 'Send without a memo and with one signature, or allow for the fees.',
      burnSun: extra,
    },
  ];
}

function unexplained({ report }: Facts): Cause {
  const { burnSun, result } = report.execution;
  if (burnSun > 0n || result !== 'SUCCESS') return notProven(burnSun);
  return { code: 'NOTHING_BURNT', sentence: 'It burnt no TRX.', next: 'There is nothing to do.', burnSun: 0n };
}

/** The cause of a transaction that has no receipt yet. */
export const NOT_IN_A_BLOCK: Cause = {
  code: 'NOT_IN_A_BLOCK',
  sentence: 'It is not in a block yet, so nothing was burnt so far.',
  next: 'Ask again in a few seconds.',
  burnSun: 0n,
};
