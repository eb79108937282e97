/**
 * TRON's dynamic energy: a surcharge on calls of a busy contract. A maintenance period in which the contract used at least
 * the threshold raises the surcharge by one step, up to a maximum. Every other period lowers it by a quarter of a step.
 */
import { divCeil } from '../../domain/units.js';
import { ChainUnavailableError, NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';
import type { TronClient } from './tron.client.js';

/** Factors and steps are in 1/10 000: 2000 makes a call dearer by 20 %. */
const ONE = 10_000n;

export interface DynamicSteps {
  /** The most that a maintenance period can add to the energy of a call; 0 while dynamic energy is off. */
  readonly dynamicStep: bigint;
  /** The highest surcharge. */
  readonly dynamicMax: bigint;
}

/** The energy of a simulated call. */
export interface EnergyNeed {
  readonly energy: bigint;
  /** The part of `energy` that is the surcharge of a busy contract. */
  readonly penalty: bigint;
  /** The surcharge of the called contract, if known. */
  readonly factor?: bigint;
}

/**
 * Returns the most energy that the call can take after one further maintenance period. TRON rounds the surcharge of
 * each operation down. So the result is the larger of two bounds: from the measured energy, and from the energy without
 * surcharge.
 */
export function energyAfterNextStep(
  { energy, penalty, factor = 0n }: EnergyNeed,
  { dynamicStep, dynamicMax, isQuiet = false }: DynamicSteps & Pick<ContractDynamics, 'isQuiet'>,
): bigint {
  // A surcharge in a call of a quiet contract is that of another contract which it calls.
  if (isQuiet && penalty === 0n) return energy;
  if (factor > 0n && factor >= dynamicMax) return energy;
  const plain = energy - penalty;
  const byCall = divCeil(energy * (ONE + dynamicStep), ONE);
  const byContract = divCeil(plain * (ONE + factor) * (ONE + dynamicStep), ONE * ONE);
  const highest = divCeil(plain * (ONE + dynamicMax), ONE);
  const stepped = byCall > byContract ? byCall : byContract;
  const bound = stepped < highest ? stepped : highest;
  return bound > energy ? bound : energy;
}

const PARAMETERS_PATH = 'wallet/getchainparameters';
const CONTRACT_INFO_PATH = 'wallet/getcontractinfo';
/** TRON: the committee's bounds. */
const PARAMETERS = {
  isOn: { key: 'getAllowDynamicEnergy', max: 1n },
  step: { key: 'getDynamicEnergyIncreaseFactor', max: 10_000n },
  max: { key: 'getDynamicEnergyMaxFactor', max: 100_000n },
  threshold: { key: 'getDynamicEnergyThreshold', max: 100_000_000_000_000_000n },
} as const;
const NO_STEPS: DynamicSteps = { dynamicStep: 0n, dynamicMax: 0n };

export interface ContractDynamics extends DynamicSteps {
  /** Undefined where no node serves the state of contracts. */
  readonly factor?: bigint;
  /** True if the contract itself gets no surcharge in the next maintenance period. */
  readonly isQuiet?: boolean;
}

/**
 * Reads how much dearer calls of a contract can become with the next maintenance period. A contract without a surcharge
 * that used less than half of the threshold in this period gets no step. The other half exceeds the energy that all
 * stake of main net yields between two measurements. Throws ChainUnavailableError.
 */
export async function readContractDynamics(client: TronClient, contract: string): Promise<ContractDynamics> {
  const [rules, state] = await Promise.all([
    client.pool.ask(PARAMETERS_PATH, async (node) => rulesIn(node.name, await node.postFull(PARAMETERS_PATH, {}))),
    readState(client, contract),
  ]);
  if (state === undefined) return rules;
  const isQuiet = state.factor === 0n && state.usage * 2n < rules.threshold;
  return { ...rules, factor: state.factor, isQuiet };
}

async function readState(client: TronClient, contract: string): Promise<ContractState | undefined> {
  try {
    return await client.pool.ask(CONTRACT_INFO_PATH, async (node) =>
      stateIn(node.name, await node.postFull(CONTRACT_INFO_PATH, { value: contract, visible: true })),
    );
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}

/** Returns the steps in a node's answer about chain parameters. Throws NodeError for values beyond the committee's bounds. */
export function dynamicStepsIn(node: string, json: JsonObject): DynamicSteps {
  const { dynamicStep, dynamicMax } = rulesIn(node, json);
  return { dynamicStep, dynamicMax };
}

function rulesIn(node: string, json: JsonObject): DynamicSteps & { readonly threshold: bigint } {
  const entries = objectsOf(json['chainParameter']);
  const valueOf = ({ key, max }: { readonly key: string; readonly max: bigint }): bigint => {
    const entry = entries.find((each) => each['key'] === key);
    // TRON: a parameter of zero has no value, and a node without dynamic energy has no such parameter.
    const value = entry?.['value'] === undefined ? 0n : int64(entry['value']);
    if (value === undefined || value < 0n || value > max) {
      throw new NodeError(node, 'nonsense', `chain parameters without a believable ${key}`);
    }
    return value;
  };
  if (entries.length === 0) throw new NodeError(node, 'nonsense', 'no chain parameters');
  const threshold = valueOf(PARAMETERS.threshold);
  if (valueOf(PARAMETERS.isOn) === 0n) return { ...NO_STEPS, threshold };
  return { dynamicStep: valueOf(PARAMETERS.step), dynamicMax: valueOf(PARAMETERS.max), threshold };
}

interface ContractState {
  readonly factor: bigint;
  /** Energy used in the present maintenance period. */
  readonly usage: bigint;
}

/**
 * TRON: the state is that of the present period, and members of zero are left out. Every contract has a state. Throws
 * NodeError for an answer without one: a gateway's refusal with HTTP 200 would read as a quiet contract.
 */
function stateIn(node: string, json: JsonObject): ContractState {
  const state = json['contract_state'];
  if (!isJsonObject(state)) throw new NodeError(node, 'nonsense', 'a contract without its state');
  const valueOf = (key: string): bigint => {
    const value = state[key] === undefined ? 0n : int64(state[key]);
    if (value === undefined || value < 0n) {
      throw new NodeError(node, 'nonsense', `a contract without a believable ${key}`);
    }
    return value;
  };
  return { factor: valueOf('energy_factor'), usage: valueOf('energy_usage') };
}
