/**
 * Reads the chain parameters behind prices and costs. A node that omits or repeats one, or reports an absurd value, is
 * at fault. When nodes contradict each other, the majority counts; without a majority, none does.
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
  /** Sun burnt per missing unit of energy. */
  readonly energyFeeSun: bigint;
  /** Sun burnt per byte without bandwidth. */
  readonly transactionFeeSunPerByte: bigint;
  /** Cost in sun of a new account's bandwidth for a creator without staked bandwidth. */
  readonly createAccountFeeSun: bigint;
  /** Additional cost in sun of creating an account. */
  readonly systemContractFeeSun: bigint;
  /** The highest fee limit of a call in sun; undefined if the nodes name none. */
  readonly maxFeeLimitSun?: bigint | undefined;
}

/** TRON: the committee's name of the highest fee limit. No price depends on it, so a node may leave it out. */
const MAX_FEE_LIMIT = 'getMaxFeeLimit';

/** The lowest and the highest believable value of a parameter in sun, both included. */
export interface FeeBounds {
  readonly min: bigint;
  readonly max: bigint;
}

export type ParameterBounds = Readonly<Record<ParameterName, FeeBounds>>;

/** Returns the cost in sun of activating an account without staked bandwidth. */
export function activationCostSun(parameters: ChainParameters): bigint {
  return parameters.systemContractFeeSun + parameters.createAccountFeeSun;
}

export function isWithin(value: bigint, { min, max }: FeeBounds): boolean {
  return value >= min && value <= max;
}

/**
 * Reads the parameters from a node's answer. Throws NodeError unless each occurs once and is within its bounds, and the
 * highest fee limit, if there is one, is positive.
 */
export function readChainParameters(node: string, json: JsonObject, bounds: ParameterBounds): ChainParameters {
  const entries = objectsOf(json['chainParameter']);
  const read = {} as Record<ParameterName, bigint>;
  for (const [name, key] of Object.entries(PARAMETERS) as [ParameterName, string][]) {
    const [entry, ...more] = entries.filter((each) => each['key'] === key);
    // TRON omits a value of zero. No bound here allows zero.
    const value = entry === undefined || more.length > 0 ? undefined : int64(entry['value']);
    if (value === undefined || !isWithin(value, bounds[name])) {
      const { min, max } = bounds[name];
      const says = value === undefined ? 'none' : value.toString();
      const range = `${min.toString()} to ${max.toString()}`;
      throw new NodeError(node, 'nonsense', `chain parameters without a believable ${key} (${says}, not ${range})`);
    }
    read[name] = value;
  }
  return { ...read, maxFeeLimitSun: readMaxFeeLimit(node, entries) };
}

function readMaxFeeLimit(node: string, entries: readonly JsonObject[]): bigint | undefined {
  const [value, ...more] = entries.filter((each) => each['key'] === MAX_FEE_LIMIT).map((each) => int64(each['value']));
  if (more.length === 0 && (value === undefined || value > 0n)) return value;
  throw new NodeError(node, 'nonsense', `chain parameters without a believable ${MAX_FEE_LIMIT} (${String(value)})`);
}

/** Returns the answer that most nodes gave. Throws ChainUnavailableError when they differ without a majority. */
export function agreedParameters(answers: readonly ChainParameters[]): ChainParameters {
  const alike = new Map<string, { readonly answers: [ChainParameters, ...ChainParameters[]]; count: number }>();
  for (const parameters of answers) {
    const key = Object.keys(PARAMETERS)
      .map((name) => parameters[name as ParameterName].toString())
      .join('/');
    const group = alike.get(key);
    if (group === undefined) alike.set(key, { answers: [parameters], count: 1 });
    else group.count = group.answers.push(parameters);
  }
  const [first, second] = [...alike.values()].sort((one, other) => other.count - one.count);
  if (first === undefined || first.count === second?.count) {
    throw new ChainUnavailableError(
      'the chain parameters alike',
      [...alike.keys()].map((each) => new Error(each)),
    );
  }
  return { ...first.answers[0], maxFeeLimitSun: agreedMaxFeeLimit(first.answers) };
}

/** Returns the highest fee limit that most of the nodes name; of equally many, the lowest, which all of them accept. */
function agreedMaxFeeLimit(answers: readonly ChainParameters[]): bigint | undefined {
  const counts = new Map<bigint, number>();
  for (const { maxFeeLimitSun } of answers) {
    if (maxFeeLimitSun !== undefined) counts.set(maxFeeLimitSun, (counts.get(maxFeeLimitSun) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([one, of], [other, than]) => than - of || (one < other ? -1 : 1));
  return most?.[0];
}
