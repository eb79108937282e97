// TRON's price of every opcode. TRON: EnergyCost.java, OperationRegistry.java, VM.java.
// Only prices opcodes and the checks before them; runs none.
import type { VmRule, VmRules } from './vm-rules.js';

/** A halt of TRON's VM: the Java exception, its message, and the result code on the receipt. */
export class VmHalt {
  /** With both names @ethereumjs/evm treats this as a halt of the frame that consumes its energy. */
  readonly errorType = 'EVMError';
  readonly error: string = 'out of gas';
  constructor(
    readonly exception: string,
    readonly message: string,
    readonly result: string,
  ) {}
}

/** TRON: an impossible transfer ends a frame like any halt, but the transaction pays only for the energy it used. */
export class TransferHalt extends VmHalt {
  override readonly error: string;
  constructor(
    message: string,
    readonly isOfRoot: boolean,
  ) {
    super('Program$TransferException', message, 'TRANSFER_FAILED');
    this.error = isOfRoot ? 'revert' : 'out of gas';
  }
}

/** The whole transaction ran too long. Unlike a VmHalt, no calling contract can catch it. */
export class VmTimeout extends Error {}

/** Inputs of a price: the stack, memory and the running contract. */
export interface Frame {
  /** Number of values on the stack. */
  readonly height: number;
  /** Returns the n-th value from the top; 1 = top. */
  peek(n: number): bigint;
  readonly memoryBytes: number;
  /** Set by pricing: the memory in bytes that the opcode will reach. */
  memoryEnd: bigint;
  readonly energyLeft: bigint;
  readonly rules: VmRules;
  hasSlot(slot: bigint): boolean;
  /** True for an address without account, a precompiled contract's too. */
  isDead(address: bigint): boolean;
}

interface Operation {
  readonly name: string;
  readonly takes: number;
  readonly gives: number;
  readonly price: (frame: Frame, op: number) => bigint;
  /** The rule that brings the opcode; undefined if every chain has it. */
  readonly rule: VmRule | undefined;
}

const MEMORY_MAX = 3n * 1024n * 1024n;
const STACK_MAX = 1024;
const WORD = 32n;

function fixed(energy: bigint): () => bigint {
  return () => energy;
}
const ZERO = fixed(0n);
const BASE = fixed(2n);
const VERY_LOW = fixed(3n);
const LOW = fixed(5n);
const MID = fixed(8n);
const HIGH = fixed(10n);
const STAKE = fixed(10_000n);

function needs(offset: bigint, size: bigint): bigint {
  return size === 0n ? 0n : offset + size;
}

function memoryPrice(frame: Frame, end: bigint, op: number): bigint {
  if (end > MEMORY_MAX)
    throw new VmHalt(
      'Program$OutOfMemoryException',
      `Out of Memory when '${operationName(op)}' operation executing`,
      'OUT_OF_MEMORY',
    );
  frame.memoryEnd = end;
  const words = wordsOf(end);
  const before = BigInt(frame.memoryBytes) / WORD;
  if (words <= before) return 0n;
  const cost = (n: bigint): bigint => 3n * n + (n * n) / 512n;
  return cost(words) - cost(before);
}

function wordsOf(size: bigint): bigint {
  return (size + 31n) / WORD;
}

/** TRON: EnergyCost.getMloadCost2, getMStoreCost2, getMStore8Cost2 add 1 once the rule is on. */
function touch(size: bigint) {
  return (frame: Frame, op: number): bigint =>
    (frame.rules.pricedMemory ? 1n : 0n) + memoryPrice(frame, frame.peek(1) + size, op);
}

/** TRON: EnergyCost.getMCopyCost; the later of both offsets decides about memory. */
function memoryCopy(frame: Frame, op: number): bigint {
  const [to, from, size] = [frame.peek(1), frame.peek(2), frame.peek(3)];
  return 3n + memoryPrice(frame, needs(to > from ? to : from, size), op) + 3n * wordsOf(size);
}

/** TRON: EnergyCost.getSuicideCost, getSuicideCost2, getSuicideCost3. */
function selfDestruct(frame: Frame): bigint {
  const { rules } = frame;
  const paysHeir = rules.restrictedSelfDestruct || rules.energyAdjustment;
  const newHeir = paysHeir && frame.isDead(frame.peek(1)) ? 25_000n : 0n;
  return (rules.restrictedSelfDestruct ? 5_000n : 0n) + newHeir;
}

/** Returns the price of an opcode that reaches memory; its offset and size are at these places of the stack. */
function range(base: bigint, offsetAt: number, sizeAt: number, perWord = 0n) {
  return (frame: Frame, op: number): bigint => {
    const size = frame.peek(sizeAt);
    return base + memoryPrice(frame, needs(frame.peek(offsetAt), size), op) + perWord * wordsOf(size);
  };
}

function exp(frame: Frame): bigint {
  const exponent = frame.peek(2);
  return 10n + 10n * BigInt(exponent === 0n ? 0 : Math.ceil(exponent.toString(16).length / 2));
}

/**
 * TRON: writing a slot with a row costs 5 000, even a row set to zero in this transaction; a new non-zero row costs
 * 20 000.
 */
function sstore(frame: Frame): bigint {
  return !frame.hasSlot(frame.peek(1)) && frame.peek(2) !== 0n ? 20_000n : 5_000n;
}

function log(frame: Frame, op: number): bigint {
  const size = frame.peek(2);
  const data = 8n * size;
  if (frame.energyLeft < data)
    throw new VmHalt(
      'Program$OutOfEnergyException',
      `Not enough energy for '${operationName(op)}' operation executing: opEnergy[${String(data)}], programEnergy[${String(frame.energyLeft)}]`,
      'OUT_OF_ENERGY',
    );
  return 375n + 375n * BigInt(op - 0xa0) + data + memoryPrice(frame, needs(frame.peek(1), size), op);
}

/** Returns the price of a call without the energy passed to the callee. */
function call(hasValue: boolean, makesAccount: boolean, inAt = hasValue ? 4 : 3) {
  return (frame: Frame, op: number): bigint => {
    let energy = 40n;
    if (hasValue && frame.peek(3) !== 0n) {
      energy += 9_000n;
      if (makesAccount && frame.isDead(frame.peek(2))) energy += 25_000n;
    }
    const input = needs(frame.peek(inAt), frame.peek(inAt + 1));
    const output = needs(frame.peek(inAt + 2), frame.peek(inAt + 3));
    return energy + memoryPrice(frame, input > output ? input : output, op);
  };
}

const WORD_VALUES = 1n << 256n;

/**
 * Price of VOTEWITNESS: 30 000 and the memory of both arrays. TRON: EnergyCost.getVoteWitnessCost leaves out the word
 * with an array's length, getVoteWitnessCost2 (TIP-653) counts it, getVoteWitnessCost3 (Osaka) no longer lets a length
 * overflow.
 */
function voteWitness(frame: Frame, op: number): bigint {
  const { osaka, energyAdjustment } = frame.rules;
  const lengthWords = osaka || energyAdjustment ? 1n : 0n;
  const endOf = (offsetAt: number, lengthAt: number): bigint => {
    const size = (frame.peek(lengthAt) + lengthWords) * WORD;
    return needs(frame.peek(offsetAt), osaka ? size : size % WORD_VALUES);
  };
  const [witnesses, amounts] = [endOf(4, 3), endOf(2, 1)];
  return 30_000n + memoryPrice(frame, witnesses > amounts ? witnesses : amounts, op);
}

const OPERATIONS: (Operation | undefined)[] = [];

type Definition = readonly [takes: number, gives: number, price: Operation['price'], rule?: VmRule];

function define(op: number, name: string, ...[takes, gives, price, rule]: Definition): void {
  OPERATIONS[op] = { name, takes, gives, price, rule };
}

function defineAll(names: string, first: number, ...definition: Definition): void {
  names.split(' ').forEach((name, i) => {
    if (name !== '-') define(first + i, name, ...definition);
  });
}

define(0x00, 'STOP', 0, 0, ZERO);
defineAll('ADD - SUB', 0x01, 2, 1, VERY_LOW);
defineAll('MUL - DIV SDIV MOD SMOD', 0x02, 2, 1, LOW);
defineAll('ADDMOD MULMOD', 0x08, 3, 1, MID);
define(0x0a, 'EXP', 2, 1, exp);
define(0x0b, 'SIGNEXTEND', 2, 1, LOW);
defineAll('LT GT SLT SGT EQ - AND OR XOR - BYTE', 0x10, 2, 1, VERY_LOW);
defineAll('SHL SHR SAR', 0x1b, 2, 1, VERY_LOW, 'constantinople');
define(0x1e, 'CLZ', 1, 1, LOW, 'osaka');
define(0x15, 'ISZERO', 1, 1, VERY_LOW);
define(0x19, 'NOT', 1, 1, VERY_LOW);
define(0x20, 'SHA3', 2, 1, range(30n, 1, 2, 6n));
defineAll('ADDRESS - ORIGIN CALLER CALLVALUE - CALLDATASIZE - CODESIZE - GASPRICE', 0x30, 0, 1, BASE);
define(0x31, 'BALANCE', 1, 1, fixed(20n));
define(0x35, 'CALLDATALOAD', 1, 1, VERY_LOW);
define(0x37, 'CALLDATACOPY', 3, 0, range(0n, 1, 3, 3n));
define(0x39, 'CODECOPY', 3, 0, range(0n, 1, 3, 3n));
define(0x3b, 'EXTCODESIZE', 1, 1, fixed(20n));
define(0x3c, 'EXTCODECOPY', 4, 0, range(20n, 2, 4, 3n));
define(0x3d, 'RETURNDATASIZE', 0, 1, BASE);
define(0x3e, 'RETURNDATACOPY', 3, 0, range(0n, 1, 3, 3n));
define(0x3f, 'EXTCODEHASH', 1, 1, fixed(400n), 'constantinople');
define(0x40, 'BLOCKHASH', 1, 1, fixed(20n));
defineAll('COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT', 0x41, 0, 1, BASE);
define(0x46, 'CHAINID', 0, 1, BASE, 'istanbul');
define(0x47, 'SELFBALANCE', 0, 1, LOW, 'istanbul');
define(0x48, 'BASEFEE', 0, 1, BASE, 'london');
define(0x49, 'BLOBHASH', 1, 1, VERY_LOW, 'blob');
define(0x4a, 'BLOBBASEFEE', 0, 1, BASE, 'blob');
define(0x50, 'POP', 1, 0, BASE);
define(0x51, 'MLOAD', 1, 1, touch(32n));
define(0x52, 'MSTORE', 2, 0, touch(32n));
define(0x53, 'MSTORE8', 2, 0, touch(1n));
define(0x54, 'SLOAD', 1, 1, fixed(50n));
define(0x55, 'SSTORE', 2, 0, sstore);
define(0x56, 'JUMP', 1, 0, MID);
define(0x57, 'JUMPI', 2, 0, HIGH);
defineAll('PC MSIZE GAS', 0x58, 0, 1, BASE);
define(0x5b, 'JUMPDEST', 0, 0, fixed(1n));
define(0x5c, 'TLOAD', 1, 1, fixed(100n), 'cancun');
define(0x5d, 'TSTORE', 2, 0, fixed(100n), 'cancun');
define(0x5e, 'MCOPY', 3, 0, memoryCopy, 'cancun');
define(0x5f, 'PUSH0', 0, 1, BASE, 'shanghai');
for (let i = 1; i <= 32; i++) define(0x5f + i, `PUSH${String(i)}`, 0, 1, VERY_LOW);
for (let i = 1; i <= 16; i++) define(0x7f + i, `DUP${String(i)}`, i, i + 1, VERY_LOW);
for (let i = 1; i <= 16; i++) define(0x8f + i, `SWAP${String(i)}`, i + 1, i + 1, VERY_LOW);
for (let i = 0; i <= 4; i++) define(0xa0 + i, `LOG${String(i)}`, i + 2, 0, log);
define(0xd0, 'CALLTOKEN', 8, 1, call(true, true, 5), 'trc10');
define(0xd1, 'TOKENBALANCE', 2, 1, fixed(20n), 'trc10');
defineAll('CALLTOKENVALUE CALLTOKENID', 0xd2, 0, 1, BASE, 'trc10');
define(0xd4, 'ISCONTRACT', 1, 1, fixed(20n), 'solidity059');
define(0xd8, 'VOTEWITNESS', 4, 1, voteWitness, 'vote');
define(0xd9, 'WITHDRAWREWARD', 0, 1, fixed(20_000n), 'vote');
defineAll('FREEZEBALANCEV2 UNFREEZEBALANCEV2', 0xda, 2, 1, STAKE, 'stake2');
defineAll('CANCELALLUNFREEZEV2 WITHDRAWEXPIREUNFREEZE', 0xdc, 0, 1, STAKE, 'stake2');
defineAll('DELEGATERESOURCE UNDELEGATERESOURCE', 0xde, 3, 1, STAKE, 'stake2');
define(0xf0, 'CREATE', 3, 1, range(32_000n, 2, 3));
define(0xf1, 'CALL', 7, 1, call(true, true));
define(0xf2, 'CALLCODE', 7, 1, call(true, false));
define(0xf3, 'RETURN', 2, 0, range(0n, 1, 2));
define(0xf4, 'DELEGATECALL', 6, 1, call(false, false));
define(0xf5, 'CREATE2', 4, 1, range(32_000n, 2, 3, 6n), 'constantinople');
define(0xfa, 'STATICCALL', 6, 1, call(false, false));
define(0xfd, 'REVERT', 2, 0, range(0n, 1, 2));
define(0xff, 'SUICIDE', 1, 0, selfDestruct);

/** Opcodes that pass energy to another frame. */
export const CALLS: ReadonlySet<number> = new Set([0xd0, 0xf1, 0xf2, 0xf4, 0xfa]);
export const CREATES: ReadonlySet<number> = new Set([0xf0, 0xf5]);

export function operationName(op: number): string {
  return OPERATIONS[op]?.name ?? 'INVALID';
}

/**
 * Returns the price of the next opcode, without energy that a call passes on. Throws VmHalt if the opcode cannot run.
 */
export function priceOf(op: number, frame: Frame): bigint {
  const operation = OPERATIONS[op];
  if (operation === undefined || (operation.rule !== undefined && !frame.rules[operation.rule]))
    throw new VmHalt(
      'Program$IllegalOperationException',
      `Invalid operation code: opCode[${op.toString(16).padStart(2, '0')}];`,
      'ILLEGAL_OPERATION',
    );
  const { height } = frame;
  if (height < operation.takes)
    throw new VmHalt(
      'Program$StackTooSmallException',
      `Expected stack size ${String(operation.takes)} but actual ${String(height)};`,
      'STACK_TOO_SMALL',
    );
  if (height - operation.takes + operation.gives > STACK_MAX)
    throw new VmHalt(
      'Program$StackTooLargeException',
      `Expected: overflow ${String(STACK_MAX)} elements stack limit`,
      'STACK_TOO_LARGE',
    );
  return operation.price(frame, op);
}
