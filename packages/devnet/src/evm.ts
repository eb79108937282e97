// Runs contracts on @ethereumjs/evm with TRON's prices, dynamic energy, addresses and refusals. Works on a given state;
// the caller decides if the changes are kept.
import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { type EVM, type EVMResult, type EVMRunCallOpts, createEVM } from '@ethereumjs/evm';
import { Address } from '@ethereumjs/util';
import { base58OfHex } from './address.js';
import { TransferHalt, VmHalt, VmTimeout } from './energy.js';
import {
  type CallMessage,
  type CreateMessage,
  Run,
  type RunState,
  type VmRequest,
  generatedAddress,
  meter,
} from './evm-meter.js';
import { tronOperations } from './evm-operations.js';
import { TronStateManager } from './evm-state.js';
import type { InternalTransaction } from './internal-transactions.js';
import { precompileFor } from './precompiles.js';

/** One log as the node prints it: the contract's 20 bytes, topics and data, in hex. */
export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}
export interface VmResult {
  /** Result code on the receipt: SUCCESS, REVERT, OUT_OF_ENERGY, … */
  readonly result: string;
  /** The Java exception of a failure other than a revert. */
  readonly halt?: { readonly exception: string; readonly message: string };
  readonly energyUsed: bigint;
  readonly penalty: bigint;
  readonly output: string;
  readonly logs: readonly Log[];
  readonly internal: readonly InternalTransaction[];
  /** Energy that each contract used before penalties, for its dynamic-energy state. */
  readonly usedBy: ReadonlyMap<string, bigint>;
  readonly deleted: readonly string[];
  readonly vmState: TronStateManager;
}

const DEPTH_MAX = 64;
const CALL = 0xf1;

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
  opHandler: (run: RunState, common: Common) => void | Promise<void>;
  gasHandler: (run: RunState, gas: bigint) => bigint;
}
/** The replaced members of the EVM. They are private in its types, but stable within the pinned version. */
interface EvmInside {
  _opcodeMap: OpEntry[];
  _generateAddress: (message: CreateMessage) => Promise<Address>;
  getPrecompile: (address: Address) => ReturnType<typeof precompileFor>;
}

/**
 * A reusable EVM with TRON's rules. Creating one takes about 2 ms, more than most calls. It is discarded when a run is
 * cut short and leaves its journal open.
 */
class Machine {
  private run: Run | undefined;
  private constructor(private readonly evm: EVM) {}

  static async make(chainId: bigint, first: TronStateManager): Promise<Machine> {
    const common = new Common({ chain: { ...Mainnet, chainId: Number(chainId) }, hardfork: Hardfork.Osaka });
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
    if (this.run === undefined) throw new Error('no run is active');
    return this.run;
  }

  private install(): void {
    const inside = this.evm as unknown as EvmInside;
    const { common } = this.evm;
    const plain = inside._opcodeMap;
    const tron = tronOperations(async (state) => plain[CALL]?.opHandler(state, common));
    inside._opcodeMap = plain.map(({ opcodeInfo, opHandler }, code) => {
      const action = tron.get(code);
      const isAsync = opcodeInfo.isAsync || action !== undefined;
      return {
        opcodeInfo: { ...opcodeInfo, code, isAsync, dynamicGas: true, isInvalid: false, feeBigInt: 0n },
        opHandler:
          action === undefined
            ? opHandler
            : (state) => action(this.current, state, async () => opHandler(state, common)),
        gasHandler: (state) => meter(this.current, state),
      };
    });
    inside.getPrecompile = (address) => {
      const run = this.current;
      return precompileFor(run.calledWord ?? BigInt(address.toString()), run.rules, () => ({
        rules: run.rules,
        state: run.vmState.top,
        caller: run.caller,
        headMs: run.request.headMs,
        common,
        evm: this.evm,
        haltCaller: (error) => {
          run.haltCaller(error);
        },
      }));
    };
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

/** Idle machines by chain id. A run removes its machine, so concurrent runs never share one. */
const idleMachines = new Map<bigint, Machine>();

const EVM_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
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
  if (name === 'invalid JUMP')
    return {
      exception: 'Program$BadJumpDestinationException',
      message: `Operation with pc isn't 'JUMPDEST': PC[${String(run.jumpTarget)}];`,
      result: 'BAD_JUMP_DESTINATION',
    };
  const known = EVM_ERRORS[name];
  if (known !== undefined) return { exception: known[0], message: name, result: known[1] };
  const message = `Not enough energy for 'save just created contract code' operation executing: ${name}`;
  return { exception: 'Program$OutOfEnergyException', message, result: 'OUT_OF_ENERGY' };
}

/** Runs one message. The result's `vmState` holds the changes; discard it unless the result is SUCCESS. */
export async function runVm(request: VmRequest): Promise<VmResult> {
  const vmState = new TronStateManager(request.state, request.headMs);
  const run = new Run(request, vmState);
  const machine = idleMachines.get(request.chainId) ?? (await Machine.make(request.chainId, vmState));
  idleMachines.delete(request.chainId);
  const base = { penalty: 0n, output: '', logs: [], internal: run.internal.list, deleted: [], vmState };
  try {
    const outcome = await machine.runCall(run, {
      caller: evmAddress(request.caller),
      origin: evmAddress(request.caller),
      ...(request.isCreate ? {} : { to: evmAddress(request.contract) }),
      data: request.data,
      value: request.value,
      gasLimit: request.energyLimit,
      gasPrice: 0n,
      skipNonceIncrement: true,
      block: blockOf(request) as never,
    });
    idleMachines.set(request.chainId, machine);
    return resultOf(run, outcome, base);
  } catch (error) {
    if (!(error instanceof VmTimeout)) throw error;
    run.internal.rejectFrom(0);
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
  run.internal.rejectFrom(0);
  const isHalt = error instanceof VmHalt;
  if (!isHalt && (error as { error?: string }).error === 'revert')
    return { ...base, ...used, result: 'REVERT', output };
  const { exception, message, result } = haltOf(run, error);
  const energyUsed = error instanceof TransferHalt && error.isOfRoot ? used.energyUsed : run.request.energyLimit;
  return { ...base, ...used, energyUsed, result, halt: { exception, message } };
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

/** Prints a log's address for constant calls: base58check of its 20 bytes if visible. */
export function logAddress(hex20: string, visible: boolean): string {
  return visible ? base58OfHex(hex20) : hex20;
}
