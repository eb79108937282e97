// Chain parameters (committee proposals) and the running totals of the chain.
import type { Reader, State, Store } from './state.js';

export const VERSIONS = ['4.8.0', '4.8.2'] as const;
/** A version of java-tron that the chain behaves like. */
export type Version = (typeof VERSIONS)[number];
export const LATEST: Version = '4.8.2';

/**
 * Parameters of a chain at java-tron 4.8.2, in the order in which the node lists them. TRON: Wallet.getChainParameters.
 * Values are the recorded private net's, otherwise main net's. The switches of 4.8.1 and 4.8.2 are on, as on main net
 * since August 2026.
 */
export const DEFAULT_PARAMETERS: Readonly<Record<string, bigint>> = {
  getMaintenanceTimeInterval: 21_600_000n,
  getAccountUpgradeCost: 9_999_000_000n,
  getCreateAccountFee: 100_000n,
  getTransactionFee: 1_000n,
  getAssetIssueFee: 1_024_000_000n,
  getWitnessPayPerBlock: 16_000_000n,
  getWitnessStandbyAllowance: 115_200_000_000n,
  getCreateNewAccountFeeInSystemContract: 1_000_000n,
  getCreateNewAccountBandwidthRate: 1n,
  getAllowCreationOfContracts: 1n,
  getRemoveThePowerOfTheGr: 0n,
  getEnergyFee: 100n,
  getExchangeCreateFee: 1_024_000_000n,
  getMaxCpuTimeOfOneTx: 80n,
  getAllowUpdateAccountName: 0n,
  getAllowSameTokenName: 1n,
  getAllowDelegateResource: 1n,
  getTotalEnergyLimit: 180_000_000_000n,
  getAllowTvmTransferTrc10: 1n,
  getTotalEnergyCurrentLimit: 180_000_000_000n,
  getAllowMultiSign: 1n,
  getAllowAdaptiveEnergy: 0n,
  getTotalEnergyTargetLimit: 12_500_000n,
  getTotalEnergyAverageUsage: 0n,
  getUpdateAccountPermissionFee: 100_000_000n,
  getMultiSignFee: 1_000_000n,
  getAllowAccountStateRoot: 0n,
  getAllowProtoFilterNum: 0n,
  getAllowTvmConstantinople: 1n,
  getAllowTvmSolidity059: 1n,
  getAllowTvmIstanbul: 1n,
  getAllowShieldedTRC20Transaction: 0n,
  getForbidTransferToContract: 1n,
  getAdaptiveResourceLimitTargetRatio: 10n,
  getAdaptiveResourceLimitMultiplier: 1_000n,
  getChangeDelegation: 1n,
  getWitness127PayPerBlock: 160_000_000n,
  getAllowMarketTransaction: 0n,
  getMarketSellFee: 0n,
  getMarketCancelFee: 0n,
  getAllowPBFT: 0n,
  getAllowTransactionFeePool: 0n,
  getMaxFeeLimit: 15_000_000_000n,
  getAllowOptimizeBlackHole: 1n,
  getAllowNewResourceModel: 0n,
  getAllowTvmFreeze: 0n,
  getAllowTvmVote: 1n,
  getAllowTvmLondon: 1n,
  getAllowTvmCompatibleEvm: 0n,
  getAllowAccountAssetOptimization: 1n,
  getFreeNetLimit: 600n,
  getTotalNetLimit: 43_200_000_000n,
  getAllowHigherLimitForMaxCpuTimeOfOneTx: 1n,
  getAllowAssetOptimization: 1n,
  getAllowNewReward: 1n,
  getMemoFee: 0n,
  getAllowDelegateOptimization: 1n,
  getUnfreezeDelayDays: 14n,
  getAllowOptimizedReturnValueOfChainId: 1n,
  getAllowDynamicEnergy: 1n,
  getDynamicEnergyThreshold: 5_000_000_000n,
  getDynamicEnergyIncreaseFactor: 2_000n,
  getDynamicEnergyMaxFactor: 34_000n,
  getAllowTvmShangHai: 1n,
  getAllowCancelAllUnfreezeV2: 1n,
  getMaxDelegateLockPeriod: 864_000n,
  getAllowOldRewardOpt: 1n,
  getAllowEnergyAdjustment: 1n,
  getMaxCreateAccountTxSize: 1_000n,
  getAllowStrictMath: 1n,
  getConsensusLogicOptimization: 1n,
  getAllowTvmCancun: 1n,
  getAllowTvmBlob: 1n,
  getAllowTvmSelfdestructRestriction: 1n,
  getProposalExpireTime: 259_200_000n,
  getAllowTvmOsaka: 1n,
  getAllowTvmPrague: 1n,
  getAllowHardenResourceCalculation: 1n,
  getAllowHardenExchangeCalculation: 1n,
};

/** Parameters that java-tron 4.8.0 does not have. */
const UNKNOWN_IN_4_8_0: ReadonlySet<string> = new Set([
  'getAllowTvmSelfdestructRestriction',
  'getProposalExpireTime',
  'getAllowTvmOsaka',
  'getAllowTvmPrague',
  'getAllowHardenResourceCalculation',
  'getAllowHardenExchangeCalculation',
]);
/** Switches that java-tron 4.8.0 has, and that were off on the recorded private net. */
const OFF_IN_4_8_0: ReadonlySet<string> = new Set([
  'getAllowOldRewardOpt',
  'getAllowEnergyAdjustment',
  'getAllowStrictMath',
  'getConsensusLogicOptimization',
  'getAllowTvmCancun',
  'getAllowTvmBlob',
]);

/** Switches that were on on the recorded private net, and never on the main net. */
const ON_IN_4_8_0: ReadonlySet<string> = new Set(['getAllowNewResourceModel']);

/** Returns the default parameters of a version. */
export function defaultParameters(version: Version): Parameters {
  if (version === LATEST) return DEFAULT_PARAMETERS;
  return Object.fromEntries(
    Object.entries(DEFAULT_PARAMETERS)
      .filter(([key]) => !UNKNOWN_IN_4_8_0.has(key))
      .map(([key, value]) => [key, OFF_IN_4_8_0.has(key) ? 0n : ON_IN_4_8_0.has(key) ? 1n : value]),
  );
}

export type Parameters = Readonly<Record<string, bigint>>;

/** Running totals of the whole chain. */
export interface Totals {
  /** Whole TRX staked, by resource. */
  readonly BANDWIDTH: bigint;
  readonly ENERGY: bigint;
  readonly TRON_POWER: bigint;
  readonly burned: bigint;
}

const PARAMETERS_KEY = 'p:parameters';
const TOTALS_KEY = 'p:totals';
const PRICES_KEY = 'p:energyPrices';
const VERSION_KEY = 'p:version';

export function parametersAt(state: Reader): Parameters {
  return state.get(PARAMETERS_KEY) as Parameters;
}

/** Returns the version that the chain behaves like. A chain saved before versions existed behaves like 4.8.0. */
export function versionAt(state: Reader): Version {
  return (state.get(VERSION_KEY) as Version | undefined) ?? '4.8.0';
}

export function versionEntry(version: Version): readonly [string, Version] {
  return [VERSION_KEY, version];
}

/** Returns one parameter; 0 if it was never set. */
export function parameter(state: Reader, key: string): bigint {
  return parametersAt(state)[key] ?? 0n;
}

export function parametersEntry(parameters: Parameters): readonly [string, Parameters] {
  return [PARAMETERS_KEY, parameters];
}

export function totalsAt(state: Reader): Totals {
  return (state.get(TOTALS_KEY) as Totals | undefined) ?? { BANDWIDTH: 0n, ENERGY: 0n, TRON_POWER: 0n, burned: 0n };
}

/** Changes the whole chain's stake in every past state too. It stays at least 1 TRX. */
export function forceEnergyWeight(store: Store, changeTrx: bigint): void {
  store.forceEach(TOTALS_KEY, (value) => {
    if (value === undefined) return value;
    const totals = value as Totals;
    const ENERGY = totals.ENERGY + changeTrx;
    return { ...totals, ENERGY: ENERGY < 1n ? 1n : ENERGY };
  });
}

export function addTotals(state: State, change: Partial<Totals>): void {
  const now = totalsAt(state);
  state.put(TOTALS_KEY, {
    BANDWIDTH: now.BANDWIDTH + (change.BANDWIDTH ?? 0n),
    ENERGY: now.ENERGY + (change.ENERGY ?? 0n),
    TRON_POWER: now.TRON_POWER + (change.TRON_POWER ?? 0n),
    burned: now.burned + (change.burned ?? 0n),
  });
}

/** Returns the history of getEnergyFee as the node prints it: `ms:sun,ms:sun`. */
export function energyPricesAt(state: Reader): string {
  return (state.get(PRICES_KEY) as string | undefined) ?? '0:100';
}

export function energyPricesEntry(prices: string): readonly [string, string] {
  return [PRICES_KEY, prices];
}
