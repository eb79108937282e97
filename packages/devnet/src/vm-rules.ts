// Rules of TRON's VM that committee decisions switch on and off. TRON: VMConfig, ConfigLoader.load.
import { type Parameters, parametersAt } from './parameters.js';
import type { Reader } from './state.js';

/** Each rule with the chain parameter that switches it. TRON: ConfigLoader.load reads each as `== 1`. */
const SWITCHES = {
  /** CALLTOKEN, TOKENBALANCE, CALLTOKENVALUE, CALLTOKENID. */
  trc10: 'getAllowTvmTransferTrc10',
  /** SHL, SHR, SAR, CREATE2, EXTCODEHASH. */
  constantinople: 'getAllowTvmConstantinople',
  /** ISCONTRACT, and the precompiled contracts 0x09 and 0x0a. */
  solidity059: 'getAllowTvmSolidity059',
  /** CHAINID, SELFBALANCE, and the lower prices of 0x06 to 0x08. */
  istanbul: 'getAllowTvmIstanbul',
  /** VOTEWITNESS, WITHDRAWREWARD, and the precompiled contracts 0x1000005 to 0x100000a (TIP-271). */
  vote: 'getAllowTvmVote',
  /** BASEFEE. */
  london: 'getAllowTvmLondon',
  /** Contract version 1, GASPRICE, 0x20003 and 0x20009. */
  compatibleEvm: 'getAllowTvmCompatibleEvm',
  /** A base price of 1 for MLOAD, MSTORE and MSTORE8. */
  pricedMemory: 'getAllowHigherLimitForMaxCpuTimeOfOneTx',
  /** PUSH0. */
  shanghai: 'getAllowTvmShangHai',
  /** 25 000 for a SELFDESTRUCT whose heir has no account, and the whole memory of VOTEWITNESS (TIP-653). */
  energyAdjustment: 'getAllowEnergyAdjustment',
  /** TLOAD, TSTORE, MCOPY (TIP-650, TIP-651). */
  cancun: 'getAllowTvmCancun',
  /** BLOBHASH, BLOBBASEFEE (TIP-745). */
  blob: 'getAllowTvmBlob',
  /** SELFDESTRUCT by TIP-6780, and the sizes that 0x09 and 0x0a accept. */
  restrictedSelfDestruct: 'getAllowTvmSelfdestructRestriction',
  /**
   * CLZ (TIP-7939), 0x100 (TIP-7951), prices and bounds of 0x05 (TIP-7823, TIP-7883, TIP-871), TIP-854, and the memory
   * of VOTEWITNESS without overflow.
   */
  osaka: 'getAllowTvmOsaka',
} as const;

/** A name of a rule. `stake2` follows from the unfreezing delay. */
export type VmRule = keyof typeof SWITCHES | 'stake2';
export type VmRules = Readonly<Record<VmRule, boolean>>;

// One object of parameters lives until a decision changes it, and every call needs its rules.
const known = new WeakMap<Parameters, VmRules>();

/** Returns the rules in force at a state. */
export function vmRulesAt(state: Reader): VmRules {
  const parameters = parametersAt(state);
  const before = known.get(parameters);
  if (before !== undefined) return before;
  const switched = Object.entries(SWITCHES).map(([rule, key]) => [rule, parameters[key] === 1n]);
  // TRON: DynamicPropertiesStore.supportUnfreezeDelay switches all of stake 2.0.
  const rules = Object.fromEntries([
    ...switched,
    ['stake2', (parameters['getUnfreezeDelayDays'] ?? 0n) > 0n],
  ]) as VmRules;
  known.set(parameters, rules);
  return rules;
}
