// TRON's precompiled contracts: addresses, prices and results. TRON: PrecompiledContracts.java. The hashes and curves
// are @ethereumjs/evm's; signatures, modular exponentiation and questions about stake follow TRON's own rules.
import type { Common } from '@ethereumjs/common';
import { type EVMInterface, type ExecResult, getActivePrecompiles } from '@ethereumjs/evm';
import { modExp, modExpPrice } from './precompiled-modexp.js';
import { type Halting, batchValidateSign, signaturePrice, validateMultiSign } from './precompiled-signatures.js';
import { type Asking, STAKE_PRECOMPILES } from './precompiled-stake.js';
import { sha256 } from './address.js';
import type { VmRule, VmRules } from './vm-rules.js';

/** The inputs of a precompiled contract besides its call data. */
export interface PrecompileContext extends Halting, Asking {
  readonly rules: VmRules;
  readonly common: Common;
  readonly evm: EVMInterface;
}

/** The output; undefined for a failure, which costs all the energy that the call brought. */
type Output = Uint8Array | undefined;

interface Precompile {
  readonly price: (data: Uint8Array, rules: VmRules) => bigint;
  readonly run: (data: Uint8Array, context: PrecompileContext) => Output | Promise<Output>;
  /** The rule that brings the contract; undefined if every chain has it. */
  readonly rule?: VmRule;
}

/** The library's function gets this much energy: TRON's own price was checked before. */
const PLENTY = 1n << 62n;
const PAIR_BYTES = 192;

const functions = new WeakMap<Common, ReturnType<typeof getActivePrecompiles>>();

/** Runs one of @ethereumjs/evm's precompiled contracts. */
function library(address: number) {
  return async (data: Uint8Array, { common, evm }: PrecompileContext): Promise<Output> => {
    const known = functions.get(common) ?? getActivePrecompiles(common);
    functions.set(common, known);
    const run = known.get(address.toString(16).padStart(40, '0'));
    if (run === undefined) throw new Error(`@ethereumjs/evm has no precompiled contract ${address.toString(16)}`);
    const result = await run({ data, gasLimit: PLENTY, common, _EVM: evm });
    return result.exceptionError === undefined ? result.returnValue : undefined;
  };
}

function perWord(base: bigint, word: bigint) {
  return (data: Uint8Array): bigint => base + BigInt(Math.ceil(data.length / 32)) * word;
}

/** Prices of the curve functions before and after the Istanbul rules. */
function byFork(before: bigint, after: bigint) {
  return (_data: Uint8Array, { istanbul }: VmRules): bigint => (istanbul ? after : before);
}

function pairingPrice(data: Uint8Array, { istanbul }: VmRules): bigint {
  const pairs = BigInt(Math.floor(data.length / PAIR_BYTES));
  return istanbul ? 34_000n * pairs + 45_000n : 80_000n * pairs + 100_000n;
}

/** TRON (ECRecover): the word holds 41 above the address. */
async function recover(data: Uint8Array, context: PrecompileContext): Promise<Output> {
  const word = await library(1)(data, context);
  if (word?.length !== 32) return word;
  const prefixed = Uint8Array.from(word);
  prefixed[11] = 0x41;
  return prefixed;
}

/** TRON (Ripempd160, sic): SHA-256 of the first 20 bytes of the SHA-256. */
function doubleSha256(data: Uint8Array): Uint8Array {
  return sha256(sha256(data).subarray(0, 20));
}

function blakePrice(data: Uint8Array): bigint {
  const isReadable = data.length === 213 && ((data[212] ?? 0) & 0xfe) === 0;
  return isReadable ? BigInt(Buffer.from(data.subarray(0, 4)).readUInt32BE()) : 0n;
}

const hashPrice = perWord(600n, 120n);

// TRON: PrecompiledContracts.getContractForAddress.
const PRECOMPILES: ReadonlyMap<bigint, Precompile> = new Map<bigint, Precompile>([
  [0x01n, { price: () => 3_000n, run: recover }],
  [0x02n, { price: perWord(60n, 12n), run: library(2) }],
  [0x03n, { price: hashPrice, run: doubleSha256 }],
  [0x04n, { price: perWord(15n, 3n), run: library(4) }],
  [0x05n, { price: modExpPrice, run: (data, { rules }) => modExp(data, rules) }],
  [0x06n, { price: byFork(500n, 150n), run: library(6) }],
  [0x07n, { price: byFork(40_000n, 6_000n), run: library(7) }],
  [0x08n, { price: pairingPrice, run: library(8) }],
  [0x09n, { price: signaturePrice(6), run: batchValidateSign, rule: 'solidity059' }],
  [0x0an, { price: signaturePrice(5), run: validateMultiSign, rule: 'solidity059' }],
  [0x100n, { price: () => 6_900n, run: library(0x100), rule: 'osaka' }],
  [0x20003n, { price: hashPrice, run: library(3), rule: 'compatibleEvm' }],
  [0x20009n, { price: blakePrice, run: library(9), rule: 'compatibleEvm' }],
  ...STAKE_PRECOMPILES,
]);

function precompileAt(address: bigint, rules: VmRules): Precompile | undefined {
  const found = PRECOMPILES.get(address);
  return found?.rule === undefined || rules[found.rule] ? found : undefined;
}

/**
 * Returns true if a precompiled contract has this address under the rules. TRON compares the whole word: bits above the
 * address name no precompiled contract.
 */
export function isPrecompiled(address: bigint, rules: VmRules): boolean {
  return precompileAt(address, rules) !== undefined;
}

/** Returns the function that @ethereumjs/evm calls for a precompiled contract, or undefined. */
export function precompileFor(
  address: bigint,
  rules: VmRules,
  context: () => PrecompileContext,
): ((input: { readonly data: Uint8Array; readonly gasLimit: bigint }) => Promise<ExecResult>) | undefined {
  const found = precompileAt(address, rules);
  if (found === undefined) return undefined;
  return async ({ data, gasLimit }) => {
    const energy = found.price(data, rules);
    const output = energy > gasLimit ? undefined : await found.run(data, context());
    return output === undefined ? failed(gasLimit) : { executionGasUsed: energy, returnValue: output };
  };
}

/** TRON (Program.callToPrecompiledAddress): a failure takes all energy of the call and gives no data. */
function failed(gasLimit: bigint): ExecResult {
  return {
    executionGasUsed: gasLimit,
    returnValue: new Uint8Array(0),
    exceptionError: { error: 'out of gas', errorType: 'EVMError' } as unknown as NonNullable<
      ExecResult['exceptionError']
    >,
  };
}
