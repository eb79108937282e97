/** The answer of GET /v1/explain/{txid} (docs/interface.md §33). snake_case is confined to this file. */
import type { TransactionReport } from '../../platform/chain/transaction-report.js';
import { invalidField } from '../../domain/errors.js';
import { trxText } from '../../domain/text.js';
import { toJsonInteger } from '../../domain/units.js';
import { NOT_IN_A_BLOCK, activationSunOf, causesOf, type Cause, type CauseCode } from './explain-causes.js';
import type { ExecutedReport, Facts, Rental } from './explain-facts.js';

const TXID = /^[0-9a-fA-F]{64}$/;

/** Returns a transaction id in lower case. Throws 400 INVALID_REQUEST for anything but 64 hex digits. */
export function txidIn(text: string): string {
  if (/^0x/i.test(text)) throw invalidField('txid', 'must be 64 hex digits without 0x');
  if (!TXID.test(text)) throw invalidField('txid', 'must be 64 hex digits');
  return text.toLowerCase();
}

export interface CauseBody {
  readonly code: CauseCode;
  readonly sentence: string;
  readonly next: string;
  readonly burn_sun: number;
  readonly order_key?: string;
  readonly txid?: string;
}

/** A rental of the sender around the transaction: its energy that was running, came later, or had ended. */
export interface ExplainedRentalBody {
  readonly order_key: string;
  readonly running_energy: number;
  readonly later_energy: number;
  readonly ended_energy: number;
  readonly arrived_block?: number;
  readonly ended_block?: number;
}

/** Members about the execution are absent while the transaction is in no block. */
export interface ExplanationBody {
  readonly txid: string;
  readonly sentence: string;
  readonly solid: boolean;
  readonly owner_address: string;
  readonly receive_address: string;
  readonly contract_address?: string;
  readonly to_address?: string;
  readonly result?: string;
  readonly block_number?: number;
  readonly block_timestamp?: string;
  readonly energy_used?: number;
  readonly energy_penalty?: number;
  readonly staked_energy?: number;
  readonly burnt_energy?: number;
  readonly deployer_energy?: number;
  readonly energy_fee_sun?: number;
  readonly energy_burn_sun?: number;
  readonly bandwidth_used?: number;
  readonly bandwidth_burn_sun?: number;
  readonly activation_burn_sun?: number;
  readonly total_burn_sun?: number;
  readonly fee_limit_sun?: number;
  readonly causes: readonly CauseBody[];
  readonly rentals: readonly ExplainedRentalBody[];
}

const NAMES: Readonly<Record<TransactionReport['kind'], string>> = {
  'account-creation': 'account creation',
  transfer: 'TRX transfer',
  'asset-transfer': 'asset transfer',
  deployment: 'deployment',
  call: 'call',
};
/** Rentals that say most about the transaction come first; a wallet may have many. */
const RENTALS_MAX = 10;
/** Selectors of transfer and transferFrom. */
const TRANSFERS = /^(?:a9059cbb|23b872dd)/;

const nameOf = ({ kind, data }: TransactionReport): string => (TRANSFERS.test(data) ? 'token transfer' : NAMES[kind]);

function identity(report: TransactionReport, receiver: string) {
  const { txid, owner, target, kind, feeLimitSun } = report;
  const isCall = kind === 'call';
  return {
    txid,
    owner_address: owner,
    receive_address: receiver,
    ...(target !== undefined && (isCall ? { contract_address: target } : { to_address: target })),
    ...(feeLimitSun > 0n && { fee_limit_sun: toJsonInteger(feeLimitSun) }),
  };
}

/** The answer for a transaction that is in no block yet. */
export function pendingBody(report: TransactionReport, receiver: string): ExplanationBody {
  return {
    ...identity(report, receiver),
    sentence: sentenceOf(`The ${nameOf(report)} is pending`, NOT_IN_A_BLOCK),
    solid: false,
    causes: [causeBody(NOT_IN_A_BLOCK)],
    rentals: [],
  };
}

export function explanationBody(facts: Facts): ExplanationBody {
  const { report, receiver, priceSun, rentals } = facts;
  const { execution } = report;
  const causes = causesOf(facts);
  const [first = NOT_IN_A_BLOCK] = causes;
  const burnt = execution.energy - execution.stakedEnergy - execution.deployerEnergy;
  return {
    ...identity(report, receiver),
    sentence: sentenceOf(headOf(report), first),
    solid: execution.isSolid,
    result: execution.result,
    block_number: execution.blockNumber,
    block_timestamp: new Date(execution.blockTimestampMs).toISOString(),
    energy_used: toJsonInteger(execution.energy),
    energy_penalty: toJsonInteger(execution.penalty),
    staked_energy: toJsonInteger(execution.stakedEnergy),
    burnt_energy: toJsonInteger(execution.energyBurnSun > 0n && burnt > 0n ? burnt : 0n),
    deployer_energy: toJsonInteger(execution.deployerEnergy),
    ...(priceSun !== undefined && { energy_fee_sun: toJsonInteger(priceSun) }),
    energy_burn_sun: toJsonInteger(execution.energyBurnSun),
    bandwidth_used: toJsonInteger(execution.bandwidth),
    bandwidth_burn_sun: toJsonInteger(execution.bandwidthBurnSun),
    activation_burn_sun: toJsonInteger(activationSunOf(facts)),
    total_burn_sun: toJsonInteger(execution.burnSun),
    causes: causes.map(causeBody),
    rentals: nearest(rentals).map(rentalBody),
  };
}

function headOf(report: ExecutedReport): string {
  const { result, burnSun, isSolid } = report.execution;
  const name = nameOf(report);
  const failed = result === 'SUCCESS' ? '' : ` failed with ${result}`;
  const burnt = burnSun > 0n ? `burnt ${trxText(burnSun)}` : 'burnt nothing';
  const doubt = isSolid ? '' : ', in a block that is not final yet';
  return `The ${name}${failed === '' ? '' : `${failed} and`} ${burnt}${doubt}`;
}

/** Joins both into one sentence. Only a small word at the beginning loses its capital, never a name. */
function sentenceOf(head: string, { code, sentence }: Cause): string {
  if (code === 'NOTHING_BURNT') return `${head}.`;
  return `${head}: ${sentence.replace(/^(?:It|Its|The|Of|No|Neither)\b/, (word) => word.toLowerCase())}`;
}

const causeBody = ({ code, sentence, next, burnSun, orderKey, txid }: Cause): CauseBody => ({
  code,
  sentence,
  next,
  burn_sun: toJsonInteger(burnSun),
  ...(orderKey !== undefined && { order_key: orderKey }),
  ...(txid !== undefined && { txid }),
});

/** Running rentals first, then those that came later, then ended ones, the last end first. */
function nearest(rentals: readonly Rental[]): readonly Rental[] {
  const rank = ({ running, later }: Rental): number => (running > 0n ? 0 : later > 0n ? 1 : 2);
  return [...rentals]
    .sort((one, other) => rank(one) - rank(other) || (other.endedBlock ?? 0) - (one.endedBlock ?? 0))
    .slice(0, RENTALS_MAX);
}

const rentalBody = ({ key, running, later, ended, arrivedBlock, endedBlock }: Rental): ExplainedRentalBody => ({
  order_key: key,
  running_energy: toJsonInteger(running),
  later_energy: toJsonInteger(later),
  ended_energy: toJsonInteger(ended),
  ...(arrivedBlock !== undefined && { arrived_block: arrivedBlock }),
  ...(endedBlock !== undefined && { ended_block: endedBlock }),
});
