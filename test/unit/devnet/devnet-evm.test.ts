// The devnet's VM beside @ethereumjs/evm at the same hard fork, where TRON agrees with Ethereum; energy beside a price
// list of its own.
import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { type EVM, createEVM, getActivePrecompiles } from '@ethereumjs/evm';
import { Address } from '@ethereumjs/util';
import fc from 'fast-check';
import { newAccount, putAccount } from '../../../packages/devnet/src/accounts.js';
import { putCode } from '../../../packages/devnet/src/contract-store.js';
import { type VmResult, runVm } from '../../../packages/devnet/src/evm.js';
import { DEFAULT_PARAMETERS, defaultParameters, parametersEntry } from '../../../packages/devnet/src/parameters.js';
import { modExp, modExpPrice } from '../../../packages/devnet/src/precompiled-modexp.js';
import { Store } from '../../../packages/devnet/src/state.js';
import { vmRulesAt } from '../../../packages/devnet/src/vm-rules.js';

const CONTRACT = `41${'c0'.repeat(20)}`;
const CALLER = `41${'ca'.repeat(20)}`;
const ENERGY = 10_000_000n;
const DATA = Buffer.from('00112233445566778899aabbccddeeff'.repeat(5), 'hex');

function ours(code: string): Promise<VmResult> {
  const store = new Store();
  store.put(...parametersEntry(DEFAULT_PARAMETERS));
  putAccount(store, newAccount(CONTRACT, 'contract', 0n));
  putCode(store, CONTRACT, Buffer.from(code, 'hex'));
  return runVm({
    state: store,
    caller: CALLER,
    contract: CONTRACT,
    isCreate: false,
    data: DATA,
    value: 0n,
    energyLimit: ENERGY,
    txId: '77'.repeat(32),
    block: { number: 5n, timeMs: 9_000n, witness: CALLER, idOf: () => undefined },
    headMs: 9_000n,
    cycle: 1n,
    dynamicEnergy: false,
    energyFee: 100n,
    chainId: 1n,
    rules: vmRulesAt(store),
    cpuMs: 80n,
  });
}

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Osaka });

interface Theirs {
  readonly output: string | undefined;
  /** Energy by the price list below. */
  readonly energy: number;
}

/** TRON: EnergyCost.java. Prices without memory, copies and bytes; names as @ethereumjs/evm has them. */
const PRICES: Readonly<Record<string, number>> = {
  ...prices(0, 'STOP RETURN REVERT CALLDATACOPY CODECOPY'),
  ...prices(1, 'JUMPDEST MLOAD MSTORE MSTORE8'),
  ...prices(2, 'ADDRESS CALLDATASIZE CODESIZE POP PC MSIZE RETURNDATASIZE PUSH0'),
  ...prices(3, 'ADD SUB LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CALLDATALOAD PUSH DUP SWAP MCOPY'),
  ...prices(5, 'MUL DIV SDIV MOD SMOD SIGNEXTEND CLZ'),
  ...prices(8, 'ADDMOD MULMOD'),
  ...prices(10, 'EXP'),
  ...prices(30, 'KECCAK256'),
  ...prices(50, 'SLOAD'),
  ...prices(100, 'TLOAD TSTORE'),
};

function prices(price: number, names: string): Record<string, number> {
  return Object.fromEntries(names.split(' ').map((name) => [name, price]));
}

function wordsOf(bytes: bigint): number {
  return Math.ceil(Number(bytes) / 32);
}

async function theirs(code: string): Promise<Theirs> {
  const evm: EVM = await createEVM({ common });
  const to = new Address(Buffer.from(CONTRACT.slice(2), 'hex'));
  await evm.stateManager.putCode(to, Buffer.from(code, 'hex'));
  let energy = 0;
  let words = 0;
  const rows = new Set<bigint>();
  evm.events.on('step', (step) => {
    const { name } = step.opcode;
    const [first = 0n, second = 0n, third = 0n] = [...step.stack].reverse();
    energy += PRICES[name] ?? PRICES[name.replace(/\d+$/, '')] ?? 0;
    if (name === 'EXP') energy += 10 * Math.ceil(second.toString(2).length / 8) * (second === 0n ? 0 : 1);
    if (name === 'KECCAK256') energy += 6 * wordsOf(second);
    if (name.endsWith('COPY')) energy += 3 * wordsOf(third);
    if (name === 'SSTORE') {
      energy += !rows.has(first) && second !== 0n ? 20_000 : 5_000;
      rows.add(first);
    }
    words = Math.max(words, Number(step.memoryWordCount));
  });
  const caller = new Address(Buffer.from(CALLER.slice(2), 'hex'));
  let execResult;
  try {
    ({ execResult } = await evm.runCall({ caller, to, data: DATA, gasLimit: 1_000_000_000n }));
  } catch (error) {
    // The library allocates memory for RETURN and REVERT before it charges for it.
    if ((error as Error).name === 'RangeError') return { output: undefined, energy };
    throw error;
  }
  const memory = 3 * words + Math.floor((words * words) / 512);
  return {
    output: execResult.exceptionError === undefined ? Buffer.from(execResult.returnValue).toString('hex') : undefined,
    energy: energy + memory,
  };
}

// Opcodes that both chains have with equal meaning. Calls, GAS and the block's values differ by design.
const SAME = [
  ...['01', '02', '03', '04', '05', '06', '07', '08', '09', '0a', '0b'],
  ...['10', '11', '12', '13', '14', '15', '16', '17', '18', '19', '1a', '1b', '1c', '1d', '1e'],
  ...['20', '30', '35', '36', '37', '38', '39', '3d'],
  ...['50', '51', '52', '53', '54', '55', '58', '59', '5b', '5c', '5d', '5e', '5f'],
  ...['80', '81', '82', '83', '90', '91', '92', '93'],
];

const small = fc.integer({ min: 0, max: 200 }).map((n) => `60${n.toString(16).padStart(2, '0')}`);
const large = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => `7f${Buffer.from(bytes).toString('hex')}`);
const step = fc.oneof(
  { weight: 5, arbitrary: small },
  { weight: 1, arbitrary: large },
  { weight: 6, arbitrary: fc.constantFrom(...SAME) },
);
/** Pushes what the steps may take, and at the end returns the top of the stack and a hash of all memory. */
const programs = fc
  .array(step, { minLength: 1, maxLength: 60 })
  .map((steps) => `${'6007'.repeat(12)}${steps.join('')}5952595f205952595ff3`);

const random = { numRuns: 300, seed: 4_820 };

test('random programs give what @ethereumjs/evm gives at Osaka, for the energy of the price list', async () => {
  let agreed = 0;
  await fc.assert(
    fc.asyncProperty(programs, async (code) => {
      const [own, other] = [await ours(code), await theirs(code)];
      expect([code, own.result === 'SUCCESS' ? own.output : undefined]).toEqual([code, other.output]);
      if (other.output === undefined) return;
      agreed++;
      expect([code, Number(own.energyUsed)]).toEqual([code, other.energy]);
    }),
    random,
  );
  // Otherwise most programs would fail, and the comparison would show little.
  expect(agreed).toBeGreaterThan(random.numRuns / 3);
});

test('random bytes fail or succeed as on @ethereumjs/evm, with the same output', async () => {
  const bytes = fc.array(
    fc.oneof(fc.constantFrom(...SAME), small, fc.constantFrom('00', 'f3', 'fd', '0c', '21', 'fe')),
    {
      minLength: 1,
      maxLength: 25,
    },
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (steps) => {
      const code = steps.join('');
      const [own, other] = [await ours(code), await theirs(code)];
      expect([code, own.result === 'SUCCESS' ? own.output : undefined]).toEqual([code, other.output]);
    }),
    random,
  );
});

function rulesOf(version: '4.8.0' | '4.8.2'): ReturnType<typeof vmRulesAt> {
  const store = new Store();
  store.put(...parametersEntry(defaultParameters(version)));
  return vmRulesAt(store);
}

/** Input of 0x05 with operands of these lengths. */
function operands(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Buffer {
  const lengths = [base, exponent, modulus].map(({ length }) => length.toString(16).padStart(64, '0')).join('');
  return Buffer.concat([Buffer.from(lengths, 'hex'), base, exponent, modulus]);
}

test('0x05 gives what @ethereumjs/evm gives at Osaka, for the same price (TIP-7823, TIP-7883, TIP-871)', async () => {
  const modexp = getActivePrecompiles(common).get('05'.padStart(40, '0'));
  if (modexp === undefined) throw new Error('no modexp');
  const evm = await createEVM({ common });
  const bytes = fc.uint8Array({ maxLength: 70 });
  await fc.assert(
    fc.asyncProperty(bytes, bytes, bytes, fc.integer({ min: 0, max: 40 }), async (base, exponent, modulus, cut) => {
      const whole = operands(base, exponent, modulus);
      const data = whole.subarray(0, whole.length - Math.min(cut, whole.length));
      const { executionGasUsed, returnValue } = await modexp({ data, gasLimit: 10n ** 12n, common, _EVM: evm });
      const rules = rulesOf('4.8.2');
      expect(modExpPrice(data, rules)).toBe(executionGasUsed);
      expect(Buffer.from(modExp(data, rules) ?? []).toString('hex')).toBe(Buffer.from(returnValue).toString('hex'));
    }),
    { ...random, numRuns: 200 },
  );
});

test('0x05 refuses operands of more than 1 024 bytes at Osaka, not before (TIP-7823)', () => {
  const longer = operands(new Uint8Array(1_025), Uint8Array.of(1), Uint8Array.of(7));
  expect(modExp(longer, rulesOf('4.8.2'))).toBeUndefined();
  expect(modExp(longer, rulesOf('4.8.0'))).toEqual(Buffer.from([0]));
});

test.each([
  // EIP-198: 3^(2^256 - 2^32 - 978) mod (2^256 - 2^32 - 977), and the price of its 255 squarings.
  ['one word', operands(Uint8Array.of(3), exponentOf(255), new Uint8Array(32).fill(255)), 13_056n, 4_080n],
  ['a byte', operands(Uint8Array.of(3), Uint8Array.of(5), Uint8Array.of(7)), 0n, 500n],
])('0x05 with %s costs by EIP-198 before Osaka and by TIP-7883 since', (_name, data, before, since) => {
  expect([modExpPrice(data, rulesOf('4.8.0')), modExpPrice(data, rulesOf('4.8.2'))]).toEqual([before, since]);
});

/** A word with only the given bit set. */
function exponentOf(bit: number): Uint8Array {
  return Buffer.from((1n << BigInt(bit)).toString(16).padStart(64, '0'), 'hex');
}
