/** The chain's figures as one process stores them for the others, in JSON. */
import { isWithin, type FeeBounds, type ParameterBounds } from '../../platform/chain/chain-parameters.js';
import { energy, sun, type Sun } from '../../domain/units.js';
import type { BandwidthRatio } from '../pool/bandwidth-stake.js';
import type { EnergyRatio } from '../pool/energy-ratio.js';
import { SIZING_OBSTACLES, type SizingObstacle } from './sizing-obstacles.js';
import type { MeasuredSizing } from './sizing-probe.js';

export interface ChainState {
  /** Sun burnt per energy that the sender lacks. TRON: getEnergyFee. */
  readonly energyFeeSun: bigint;
  readonly ratio: EnergyRatio;
  /** Undefined if a process of the release before read the state. */
  readonly bandwidthRatio?: BandwidthRatio | undefined;
  /** Cost of creating an account without staked bandwidth. TRON: system contract fee + bandwidth fee. */
  readonly createAccountFeeSun: Sun;
  /** TRON: getTransactionFee, sun per byte without bandwidth. */
  readonly transactionFeeSunPerByte: bigint;
  /** The highest fee limit in sun that the chain accepts; undefined if the nodes name none. TRON: getMaxFeeLimit. */
  readonly maxFeeLimitSun?: bigint | undefined;
}

export interface SizingState {
  /** The last measured figures; undefined before the first measurement. */
  readonly figures: (MeasuredSizing & { readonly measuredAtMs: number }) | undefined;
  /** The reason why the latest measurement gave no figures. */
  readonly obstacle: SizingObstacle | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the members of a JSON object; none for any other value. */
export function fieldsOf(json: unknown): Fields {
  return typeof json === 'object' && json !== null ? (json as Fields) : {};
}

/** Integers are stored as text, because JSON.parse would lose precision that jsonb keeps. */
function integerOf(fields: Fields, name: string): bigint | undefined {
  const value = fields[name];
  return typeof value === 'string' && /^\d{1,30}$/.test(value) ? BigInt(value) : undefined;
}

export function encodeChain(state: ChainState) {
  return {
    energyFeeSun: state.energyFeeSun.toString(),
    totalEnergyLimit: state.ratio.totalEnergyLimit.toString(),
    totalEnergyWeight: state.ratio.totalEnergyWeight.toString(),
    ...(state.bandwidthRatio !== undefined && {
      totalNetLimit: state.bandwidthRatio.totalNetLimit.toString(),
      totalNetWeight: state.bandwidthRatio.totalNetWeight.toString(),
    }),
    createAccountFeeSun: state.createAccountFeeSun.toString(),
    transactionFeeSunPerByte: state.transactionFeeSunPerByte.toString(),
    ...(state.maxFeeLimitSun !== undefined && { maxFeeLimitSun: state.maxFeeLimitSun.toString() }),
  };
}

/** A state that another process stored must be within this process's bounds: that process may run an older version. */
export function decodeChain(json: unknown, bounds: ParameterBounds): ChainState | undefined {
  const fields = fieldsOf(json);
  const energyFeeSun = within(integerOf(fields, 'energyFeeSun'), bounds.energyFeeSun);
  const totalEnergyLimit = integerOf(fields, 'totalEnergyLimit');
  const totalEnergyWeight = integerOf(fields, 'totalEnergyWeight');
  const createAccountFeeSun = within(integerOf(fields, 'createAccountFeeSun'), {
    min: bounds.createAccountFeeSun.min + bounds.systemContractFeeSun.min,
    max: bounds.createAccountFeeSun.max + bounds.systemContractFeeSun.max,
  });
  const transactionFeeSunPerByte = within(
    integerOf(fields, 'transactionFeeSunPerByte'),
    bounds.transactionFeeSunPerByte,
  );
  if (
    energyFeeSun === undefined ||
    totalEnergyLimit === undefined ||
    totalEnergyWeight === undefined ||
    createAccountFeeSun === undefined ||
    transactionFeeSunPerByte === undefined
  ) {
    return undefined;
  }
  return {
    energyFeeSun,
    ratio: { totalEnergyLimit, totalEnergyWeight },
    bandwidthRatio: bandwidthRatioOf(fields),
    createAccountFeeSun: sun(createAccountFeeSun),
    transactionFeeSunPerByte,
    // Absent if no node named it.
    maxFeeLimitSun: integerOf(fields, 'maxFeeLimitSun'),
  };
}

function bandwidthRatioOf(fields: Fields): BandwidthRatio | undefined {
  const totalNetLimit = integerOf(fields, 'totalNetLimit');
  const totalNetWeight = integerOf(fields, 'totalNetWeight');
  return totalNetLimit === undefined || totalNetWeight === undefined ? undefined : { totalNetLimit, totalNetWeight };
}

function within(value: bigint | undefined, bounds: FeeBounds): bigint | undefined {
  return value !== undefined && isWithin(value, bounds) ? value : undefined;
}

export function encodeSizing({ figures, obstacle }: SizingState) {
  const kept = obstacle === undefined ? {} : { obstacle };
  return figures === undefined
    ? { measured: false, ...kept }
    : {
        measured: true,
        warmEnergy: figures.warmEnergy.toString(),
        coldEnergy: figures.coldEnergy.toString(),
        holder: figures.holder,
        measuredAtMs: figures.measuredAtMs.toString(),
        ...kept,
      };
}

export function decodeSizing(json: unknown): SizingState | undefined {
  const fields = fieldsOf(json);
  const obstacle = SIZING_OBSTACLES.find((each) => each === fields['obstacle']);
  if (fields['measured'] === false) return { figures: undefined, obstacle };
  const warmEnergy = integerOf(fields, 'warmEnergy');
  const coldEnergy = integerOf(fields, 'coldEnergy');
  const measuredAtMs = integerOf(fields, 'measuredAtMs');
  const holder = fields['holder'];
  if (warmEnergy === undefined || coldEnergy === undefined || measuredAtMs === undefined) return undefined;
  if (typeof holder !== 'string') return undefined;
  return {
    figures: {
      warmEnergy: energy(warmEnergy),
      coldEnergy: energy(coldEnergy),
      holder,
      measuredAtMs: Number(measuredAtMs),
    },
    obstacle,
  };
}
