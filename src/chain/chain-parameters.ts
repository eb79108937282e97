/**
 * The chain parameters that prices and costs are computed from. A node that leaves one out, repeats one or names an
 * absurd value is at fault; nodes that contradict each other are believed by majority or not at all.
 */
import { ChainUnavailableError, NodeError } from './errors.js';
import { int64, objectsOf, type JsonObject } from './json.js';

/** TRON: the committee's names of the parameters. */
const PARAMETERS = {
  energyFeeSun: 'getEnergyFee',
  transactionFeeSunPerByte: 'getTransactionFee',
  createAccountFeeSun: 'getCreateAccountFee',
  systemContractFeeSun: 'getCreateNewAccountFeeInSystemContract',
} as const;

type ParameterName = keyof typeof PARAMETERS;

export interface ChainParameters {
  /** Sun burnt per energy that is not there. */
  readonly energyFeeSun: bigint;
  /** Sun per byte without bandwidth. */
  readonly transactionFeeSunPerByte: bigint;
  /** What the bandwidth of a new account costs its creator, who has none staked. */
  readonly createAccountFeeSun: bigint;
  /** What the creation of an account costs beside. */
  readonly systemContractFeeSun: bigint;
}

/** The lowest and the highest believable value of a parameter in sun, both included. */
export interface FeeBounds {
  readonly min: bigint;
  readonly max: bigint;
}

export type ParameterBounds = Readonly<Record<ParameterName, FeeBounds>>;

/** What activating an account costs whoever has no staked bandwidth, in sun. */
export function activationCostSun(parameters: ChainParameters): bigint {
  return parameters.systemContractFeeSun + parameters.createAccountFeeSun;
}

export function isWithin(value: bigint, { min, max }: FeeBounds): boolean {
  return value >= min && value <= max;
}

/** The parameters in a node's answer. Throws NodeFault unless each is there once and within its bounds. */
export function readChainParameters(node: string, json: JsonObject, bounds: ParameterBounds): ChainParameters {
  const entries = objectsOf(json['chainParameter']);
  const read = {} as Record<ParameterName, bigint>;
  for (const [name, key] of Object.entries(PARAMETERS) as [ParameterName, string][]) {
    const [entry, ...more] = entries.filter((each) => each['key'] === key);
    // TRON: a value of zero is left out; no bound allows it here.
    const value = entry === undefined || more.length > 0 ? undefined : int64(entry['value']);
    if (value === undefined || !isWithin(value, bounds[name])) {
      const { min, max } = bounds[name];
      const says = value === undefined ? 'none' : value.toString();
      const range = `${min.toString()} to ${max.toString()}`;
      throw new NodeError(node, 'nonsense', `chain parameters without a believable ${key} (${says}, not ${range})`);
    }
    read[name] = value;
  }
  return read;
}

/** The answer most nodes gave. Throws ChainUnavailableError when they contradict each other without a majority. */
export function agreedParameters(answers: readonly ChainParameters[]): ChainParameters {
  const alike = new Map<string, { readonly parameters: ChainParameters; count: number }>();
  for (const parameters of answers) {
    const key = Object.keys(PARAMETERS)
      .map((name) => parameters[name as ParameterName].toString())
      .join('/');
    const group = alike.get(key);
    if (group === undefined) alike.set(key, { parameters, count: 1 });
    else group.count += 1;
  }
  const [first, second] = [...alike.values()].sort((one, other) => other.count - one.count);
  if (first === undefined || first.count === second?.count) {
    throw new ChainUnavailableError(
      'the chain parameters alike',
      [...alike.keys()].map((each) => new Error(each)),
    );
  }
  return first.parameters;
}
