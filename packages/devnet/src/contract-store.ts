// State of a smart contract besides its account: settings, code, storage, dynamic-energy state.
import { parameter } from './parameters.js';
import type { Message } from './schema.js';
import type { Reader, State } from './state.js';

export interface Contract {
  readonly address: string;
  readonly origin: string;
  readonly name: string;
  readonly abi: Message;
  readonly bytecode: string;
  readonly userPercent: bigint;
  readonly originEnergyLimit: bigint;
  readonly codeHash: string;
  readonly trxHash: string;
  /** 1 if it was made under compatible-EVM rules; otherwise 0 or absent. */
  readonly version?: number;
}

/** TRON's dynamic energy: a contract's usage in its last cycle, and the surcharge on its calls in 1/10 000. */
export interface EnergyState {
  readonly used: bigint;
  readonly factor: bigint;
  readonly cycle: bigint;
  /** True for a fixed factor that usage does not change. No real contract has one. */
  readonly isHeld?: boolean;
}

export const FACTOR_ONE = 10_000n;
/** Upper bound of the factor on a local chain: +10 000 %. */
export const FACTOR_MAX = 100n * FACTOR_ONE;
const OWNED_TOKENS_KEY = 'p:ownedTokens';

export function contractAt(state: Reader, address: string): Contract | undefined {
  return state.get(`k:${address}`) as Contract | undefined;
}

export function putContract(state: State, contract: Contract): void {
  state.put(`k:${contract.address}`, contract);
}

export function codeAt(state: Reader, address: string): Uint8Array | undefined {
  return state.get(`c:${address}`) as Uint8Array | undefined;
}

export function putCode(state: State, address: string, code: Uint8Array): void {
  state.put(`c:${address}`, code);
}

/** Key of a storage slot: address and 64-hex slot. The value is the word's shortest hex. */
export function slotKey(address: string, slot: string): string {
  return `s:${address}${slot}`;
}

export function removeContract(state: State, address: string): void {
  state.put(`k:${address}`, undefined);
  state.put(`c:${address}`, undefined);
}

export function energyStateEntry(address: string, value: EnergyState): readonly [string, EnergyState] {
  return [`e:${address}`, value];
}

/** A token with its owner's private key (hex), for owner transactions by the control port. */
export interface OwnedToken {
  readonly address: string;
  readonly key: string;
}

export function addOwnedToken(state: State, token: OwnedToken): void {
  state.put(OWNED_TOKENS_KEY, [...ownedTokensAt(state), token]);
}

export function ownedTokensAt(state: Reader): readonly OwnedToken[] {
  return (state.get(OWNED_TOKENS_KEY) as readonly OwnedToken[] | undefined) ?? [];
}

/** Returns the dynamic-energy state of a contract, advanced to `cycle`. TRON: ContractStateCapsule.catchUpToCycle. */
export function energyStateAt(state: Reader, address: string, cycle: bigint): EnergyState {
  const last = state.get(`e:${address}`) as EnergyState | undefined;
  if (last?.isHeld === true) return { ...last, used: last.cycle === cycle ? last.used : 0n, cycle };
  if (last === undefined || last.cycle === 0n || last.cycle > cycle) return { used: 0n, factor: 0n, cycle };
  if (last.cycle === cycle) return last;
  const step = Number(parameter(state, 'getDynamicEnergyIncreaseFactor')) / Number(FACTOR_ONE);
  const max = parameter(state, 'getDynamicEnergyMaxFactor');
  let { factor } = last;
  let from = last.cycle;
  if (last.used >= parameter(state, 'getDynamicEnergyThreshold')) {
    from += 1n;
    const raised = BigInt(Math.trunc(Number(factor + FACTOR_ONE) * (1 + step))) - FACTOR_ONE;
    factor = raised > max ? max : raised;
  }
  const idle = cycle - from;
  if (idle > 0n) {
    const lowered = BigInt(Math.trunc(Number(factor + FACTOR_ONE) * (1 - step / 4) ** Number(idle))) - FACTOR_ONE;
    factor = lowered > 0n ? lowered : 0n;
  }
  return { used: 0n, factor, cycle };
}
