// Runs contracts on @ethereumjs/evm with TRON's prices, dynamic energy, addresses and refusals.
// Works on a state it is given and never decides whether the result is kept.
import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { type EVM, type EVMResult, type EVMRunCallOpts, createEVM } from '@ethereumjs/evm';
import { Address } from '@ethereumjs/util';
import { base58OfHex, keccak256 } from './address.js';
import { FACTOR_ONE, energyStateAt } from './contract-store.js';
import { CALLS, CREATES, type Frame, VmHalt, VmTimeout, operationName, priceOf } from './energy.js';
import { TronStateManager, tronAddress } from './evm-state.js';
import { accountAt } from './accounts.js';
import type { Reader } from './state.js';

/** One log as the node prints it: the contract's 20 bytes, topics and data, all hex. */
export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}
/** A call between contracts or a value it moved. */
export interface InternalCall {
  readonly caller: string;
  to: string;
  readonly value: bigint;
  readonly note: 'call' | 'create';
  rejected: boolean;
}
export interface VmRequest {
  readonly state: Reader;
  readonly caller: string;
  /** The contract to call, or the address a deployment will have. */
  readonly contract: string;
  readonly isCreate: boolean;
  readonly data: Uint8Array;
  readonly value: bigint;
  readonly energyLimit: bigint;
  readonly txId: string;
  readonly block: { readonly number: bigint; readonly timeMs: bigint; readonly witness: string };
  readonly headMs: bigint;
  /** Maintenance cycle for dynamic energy, and whether that is on. */
  readonly cycle: bigint;
  readonly dynamicEnergy: boolean;
  readonly energyFee: bigint;
  readonly chainId: bigint;
}
export interface VmResult {
  /** SUCCESS, REVERT, OUT_OF_ENERGY, … as a receipt shows it. */
  readonly result: string;
  /** The Java exception behind a failure that is no revert. */
  readonly halt?: { readonly exception: string; readonly message: string };
  readonly energyUsed: bigint;
  readonly penalty: bigint;
  readonly output: string;
  readonly logs: readonly Log[];
  readonly internal: readonly InternalCall[];
  /** Energy each contract used before penalties, for its dynamic-energy state. */
  readonly usedBy: ReadonlyMap<string, bigint>;
  readonly deleted: readonly string[];
  readonly vmState: TronStateManager;
}

/**
 * Opcodes one transaction may run. Our choice: stands for java-tron's 80 ms of CPU, counted in steps so that the
 * same transaction always ends the same way; about half a second here.
 */
const STEPS_MAX = 500_000;
const DEPTH_MAX = 64;
const JUMP = 0x56;
const STATIC_FORBIDDEN: ReadonlySet<number> = new Set([0x55, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xf0, 0xf5, 0xff]);

interface RunState {
  opCode: number;
  stack: { _store: bigint[]; _len: number };
  memoryWordCount: bigint;
  gasLeft: bigint;
  messageGasLimit?: bigint | undefined;
  env: { address: Address };
  interpreter: {
    isStatic(): boolean;
    getReturnDataSize(): bigint;
    initialEnergy?: bigint;
    factor?: bigint;
    user?: string;
  };
}
interface OpEntry {
  opcodeInfo: {
    name: string;
    code: number;
    isAsync: boolean;
    dynamicGas: boolean;
    isInvalid: boolean;
    fee: number;
    feeBigInt: bigint;
    fullName: string;
  };
  opHandler: unknown;
  gasHandler: (run: RunState, gas: bigint) => bigint;
}
/** The members of the EVM that are replaced; they are private in its types but stable within the pinned version. */
interface EvmInside {
  _opcodeMap: OpEntry[];
  _generateAddress: (message: CreateMessage) => Promise<Address>;
}
interface CallMessage {
  readonly depth: number;
  readonly caller: Address;
  readonly to?: Address;
  readonly value: bigint;
  readonly delegatecall: boolean;
}
interface CreateMessage {
  caller: Address;
  salt?: Uint8Array;
  code: Uint8Array;
  depth: number;
}

/** One transaction's run: its limits, its count of steps, and what it saw. */
class Run {
  steps = 0;
  penalty = 0n;
  creations = 0n;
  jumpTarget = 0n;
  readonly usedBy = new Map<string, bigint>();
  readonly internal: InternalCall[] = [];
  readonly open: (InternalCall | null)[] = [];
  readonly addresses = new WeakMap<CreateMessage, Address>();

  constructor(
    readonly request: VmRequest,
    readonly vmState: TronStateManager,
  ) {}

  /** A message begins: calls between contracts are noted, the transaction itself and library code are not. */
  enter(message: CallMessage): void {
    if (message.depth === 0 || message.delegatecall) {
      this.open.push(null);
      return;
    }
    const to = message.to === undefined ? '' : tronAddress(message.to);
    const note = message.to === undefined ? 'create' : 'call';
    const call: InternalCall = { caller: tronAddress(message.caller), to, value: message.value, note, rejected: false };
    this.internal.push(call);
    this.open.push(call);
  }

  leave(result: EVMResult): void {
    const call = this.open.pop();
    if (call === null || call === undefined) return;
    if (result.createdAddress !== undefined) call.to = tronAddress(result.createdAddress);
    if (result.execResult.exceptionError !== undefined) call.rejected = true;
  }

  factorOf(address: string): bigint {
    if (!this.request.dynamicEnergy) return FACTOR_ONE;
    return FACTOR_ONE + energyStateAt(this.vmState.top, address, this.request.cycle).factor;
  }
}

class EnergyMeter implements Frame {
  memoryEnd = 0n;
  constructor(
    private readonly run: Run,
    private readonly state: RunState,
  ) {}
  get height(): number {
    return this.state.stack._len;
  }
  peek(n: number): bigint {
    return this.state.stack._store[this.state.stack._len - n] ?? 0n;
  }
  get memoryBytes(): number {
    return Number(this.state.memoryWordCount) * 32;
  }
  get energyLeft(): bigint {
    return this.state.gasLeft;
  }
  hasSlot(slot: bigint): boolean {
    return this.run.vmState.hasSlot(this.state.env.address, slot);
  }
  isDead(address: bigint): boolean {
    const low = address & ((1n << 160n) - 1n);
    return low > 9n && accountAt(this.run.vmState.top, '41' + low.toString(16).padStart(40, '0')) === undefined;
  }
}

function outOfEnergy(run: RunState, op: number, energy: bigint, penalty: bigint): VmHalt {
  const limit = run.interpreter.initialEnergy ?? run.gasLeft;
  const extra = penalty > 0n ? ` penaltyEnergy[${String(penalty)}],` : '';
  return new VmHalt(
    'Program$OutOfEnergyException',
    `Not enough energy for '${operationName(op)}' operation executing: curInvokeEnergyLimit[${String(limit)}], curOpEnergy[${String(energy)}],${extra} usedEnergy[${String(limit - run.gasLeft)}]`,
    'OUT_OF_ENERGY',
  );
}

/** Prices the opcode, charges the penalty, reserves what a call passes on; the EVM then deducts what is returned. */
function meter(run: Run, state: RunState): bigint {
  const op = state.opCode;
  const { interpreter } = state;
  interpreter.initialEnergy ??= state.gasLeft;
  interpreter.user ??= tronAddress(state.env.address);
  interpreter.factor ??= run.factorOf(interpreter.user);
  // Judged at jumps, which every endless run makes, so the text names the same opcode each time.
  if (++run.steps > STEPS_MAX && (op === JUMP || run.steps > 2 * STEPS_MAX))
    throw new VmTimeout(`CPU timeout for '${operationName(op)}' operation executing`);
  const frame = new EnergyMeter(run, state);
  const energy = priceOf(op, frame);
  const penalty = interpreter.factor > FACTOR_ONE ? (energy * interpreter.factor) / FACTOR_ONE - energy : 0n;
  const total = energy + penalty;
  if (state.gasLeft < total) {
    if (!CALLS.has(op)) throw outOfEnergy(state, op, energy, penalty);
    throw new VmHalt(
      'Program$OutOfEnergyException',
      `Not enough energy for '${operationName(op)}' operation executing: opEnergy[${String(total)}], programEnergy[${String(state.gasLeft)}]`,
      'OUT_OF_ENERGY',
    );
  }
  run.penalty += penalty;
  run.usedBy.set(interpreter.user, (run.usedBy.get(interpreter.user) ?? 0n) + energy);
  checkLegal(run, state, op, frame);
  const left = state.gasLeft - total;
  if (CALLS.has(op)) {
    const wanted = frame.peek(1);
    state.messageGasLimit = wanted > left ? left : wanted;
  } else if (CREATES.has(op)) state.messageGasLimit = left;
  const words = (frame.memoryEnd + 31n) / 32n;
  if (words > state.memoryWordCount) state.memoryWordCount = words;
  return total;
}

function checkLegal(run: Run, state: RunState, op: number, frame: Frame): void {
  if (state.interpreter.isStatic() && (STATIC_FORBIDDEN.has(op) || (op === 0xf1 && frame.peek(3) !== 0n)))
    throw new VmHalt(
      'Program$StaticCallModificationException',
      'Attempt to call a state modifying opcode inside STATICCALL',
      'UNKNOWN',
    );
  if (op === JUMP || op === 0x57) run.jumpTarget = frame.peek(1);
  if (op !== 0x3e) return;
  const size = state.interpreter.getReturnDataSize();
  if (frame.peek(2) + frame.peek(3) > size)
    throw new VmHalt(
      'Program$ReturnDataCopyIllegalBoundsException',
      `Illegal RETURNDATACOPY arguments: offset (${String(frame.peek(2))}) + size (${String(frame.peek(3))}) > RETURNDATASIZE (${String(size)})`,
      'UNKNOWN',
    );
}

/** TRON derives contract addresses from the transaction, CREATE2 ones with 41 where Ethereum has ff. */
function generatedAddress(run: Run, message: CreateMessage): Address {
  const known = run.addresses.get(message);
  if (known !== undefined) return known;
  let bytes: Uint8Array;
  if (message.depth === 0) bytes = Buffer.from(run.request.contract.slice(2), 'hex');
  else if (message.salt !== undefined)
    bytes = keccak256(
      Buffer.concat([Buffer.from([0x41]), message.caller.bytes, message.salt, keccak256(message.code)]),
    ).subarray(12);
  else {
    const count = Buffer.alloc(8);
    count.writeBigInt64BE(++run.creations);
    bytes = keccak256(Buffer.concat([Buffer.from(run.request.txId, 'hex'), count])).subarray(12);
  }
  const address = new Address(Uint8Array.from(bytes));
  run.vmState.creating.set(tronAddress(address), tronAddress(message.caller));
  run.addresses.set(message, address);
  return address;
}

/**
 * An EVM with TRON's rules that can be handed one run after another. Building one takes about 2 ms, more than most
 * calls, so it is kept until a run is cut short and leaves its journal open.
 */
class Machine {
  private run: Run | undefined;
  private constructor(private readonly evm: EVM) {}

  static async make(chainId: bigint, first: TronStateManager): Promise<Machine> {
    const common = new Common({ chain: { ...Mainnet, chainId: Number(chainId) }, hardfork: Hardfork.Shanghai });
    const evm = await createEVM({
      common,
      stateManager: first,
      allowUnlimitedContractSize: true,
      allowUnlimitedInitCodeSize: true,
    });
    common.updateParams({ 1: { createDataGas: 200, callStipendGas: 2300, stackLimit: DEPTH_MAX } });
    const machine = new Machine(evm);
    machine.install();
    return machine;
  }

  private get current(): Run {
    if (this.run === undefined) throw new Error('the machine runs nothing');
    return this.run;
  }

  private install(): void {
    const inside = this.evm as unknown as EvmInside;
    inside._opcodeMap = inside._opcodeMap.map((entry, code) => ({
      opcodeInfo: { ...entry.opcodeInfo, code, dynamicGas: true, isInvalid: false, feeBigInt: 0n },
      opHandler: entry.opHandler,
      gasHandler: (state: RunState) => meter(this.current, state),
    }));
    inside._generateAddress = (message) => Promise.resolve(generatedAddress(this.current, message));
    this.evm.events.on('beforeMessage', (message: CallMessage) => {
      this.current.enter(message);
    });
    this.evm.events.on('afterMessage', (result: EVMResult) => {
      this.current.leave(result);
    });
  }

  runCall(run: Run, options: EVMRunCallOpts): Promise<EVMResult> {
    this.run = run;
    this.evm.stateManager = run.vmState;
    const journal = this.evm.journal as unknown as { stateManager: TronStateManager; cleanJournal(): void };
    journal.stateManager = run.vmState;
    journal.cleanJournal();
    return this.evm.runCall(options);
  }
}

/** Machines at rest, by chain id. A run takes one out, so two at once never share. */
const resting = new Map<bigint, Machine>();

const EVM_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  'invalid JUMP': ['Program$BadJumpDestinationException', 'BAD_JUMP_DESTINATION'],
  'invalid opcode': ['Program$IllegalOperationException', 'ILLEGAL_OPERATION'],
  'stack underflow': ['Program$StackTooSmallException', 'STACK_TOO_SMALL'],
  'stack overflow': ['Program$StackTooLargeException', 'STACK_TOO_LARGE'],
  'static state change': ['Program$StaticCallModificationException', 'UNKNOWN'],
  'invalid bytecode deployed': ['Program$InvalidCodeException', 'INVALID_CODE'],
  'insufficient balance': ['Program$TransferException', 'TRANSFER_FAILED'],
};

function haltOf(run: Run, error: unknown): { exception: string; message: string; result: string } {
  if (error instanceof VmHalt) return error;
  const name = (error as { error?: string }).error ?? 'unknown';
  const known = EVM_ERRORS[name];
  if (name === 'invalid JUMP')
    return {
      exception: 'Program$BadJumpDestinationException',
      message: `Operation with pc isn't 'JUMPDEST': PC[${String(run.jumpTarget)}];`,
      result: 'BAD_JUMP_DESTINATION',
    };
  if (known !== undefined) return { exception: known[0], message: name, result: known[1] };
  const message = `Not enough energy for 'save just created contract code' operation executing: ${name}`;
  return { exception: 'Program$OutOfEnergyException', message, result: 'OUT_OF_ENERGY' };
}

/** Runs one message. The result's `vmState` holds the changes; on anything but SUCCESS it is to be dropped. */
export async function runVm(request: VmRequest): Promise<VmResult> {
  const vmState = new TronStateManager(request.state, request.headMs);
  const run = new Run(request, vmState);
  const machine = resting.get(request.chainId) ?? (await Machine.make(request.chainId, vmState));
  resting.delete(request.chainId);
  const base = { penalty: 0n, output: '', logs: [], internal: run.internal, deleted: [], vmState };
  try {
    const outcome = await machine.runCall(run, {
      caller: evmAddress(request.caller),
      origin: evmAddress(request.caller),
      ...(request.isCreate ? {} : { to: evmAddress(request.contract) }),
      data: request.data,
      value: request.value,
      gasLimit: request.energyLimit,
      gasPrice: request.energyFee,
      skipNonceIncrement: true,
      block: blockOf(request) as never,
    });
    resting.set(request.chainId, machine);
    return resultOf(run, outcome, base);
  } catch (error) {
    if (!(error instanceof VmTimeout)) throw error;
    for (const call of run.internal) call.rejected = true;
    const halt = { exception: 'Program$OutOfTimeException', message: error.message };
    return {
      ...base,
      result: 'OUT_OF_TIME',
      halt,
      energyUsed: request.energyLimit,
      usedBy: new Map(),
      penalty: run.penalty,
    };
  }
}

function resultOf(run: Run, outcome: EVMResult, base: Omit<VmResult, 'result' | 'energyUsed' | 'usedBy'>): VmResult {
  const { execResult } = outcome;
  const used = { energyUsed: execResult.executionGasUsed, penalty: run.penalty, usedBy: run.usedBy };
  const output = Buffer.from(execResult.returnValue).toString('hex');
  const error = execResult.exceptionError;
  if (error === undefined) {
    const logs = (execResult.logs ?? []).map(([address, topics, data]) => ({
      address: Buffer.from(address).toString('hex'),
      topics: topics.map((t) => Buffer.from(t).toString('hex')),
      data: Buffer.from(data).toString('hex'),
    }));
    const deleted = [...(execResult.selfdestruct ?? new Map<string, string>()).keys()].map((a) => '41' + a.slice(2));
    return { ...base, ...used, result: 'SUCCESS', output, logs, deleted };
  }
  for (const call of run.internal) call.rejected = true;
  if ((error as { error?: string }).error === 'revert') return { ...base, ...used, result: 'REVERT', output };
  const { exception, message, result } = haltOf(run, error);
  return { ...base, ...used, energyUsed: run.request.energyLimit, result, halt: { exception, message } };
}

function evmAddress(tron: string): Address {
  return new Address(Buffer.from(tron.slice(-40).padStart(40, '0'), 'hex'));
}

function blockOf(request: VmRequest): object {
  return {
    header: {
      number: request.block.number,
      coinbase: evmAddress(request.block.witness),
      timestamp: request.block.timeMs / 1000n,
      difficulty: 0n,
      prevRandao: new Uint8Array(32),
      gasLimit: 0n,
      baseFeePerGas: request.energyFee,
      getBlobGasPrice: () => undefined,
    },
  };
}

/** An address as logs of constant calls show it with visible: base58check of its 20 bytes. */
export function logAddress(hex20: string, visible: boolean): string {
  return visible ? base58OfHex(hex20) : hex20;
}
