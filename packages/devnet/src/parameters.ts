// Chain parameters (committee proposals) and the running totals of the chain.
import type { Reader, State, Store } from './state.js';

/** Defaults of the recorded private net, otherwise main net's; features that need a committee vote are off. */
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
  getUpdateAccountPermissionFee: 100_000_000n,
  getMultiSignFee: 1_000_000n,
  getAllowAccountStateRoot: 0n,
  getAllowTvmConstantinople: 1n,
  getAllowTvmSolidity059: 1n,
  getAllowTvmIstanbul: 1n,
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
  getAllowNewResourceModel: 1n,
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
  getMaxCreateAccountTxSize: 1_000n,
};

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

export function parametersAt(state: Reader): Parameters {
  return state.get(PARAMETERS_KEY) as Parameters;
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
