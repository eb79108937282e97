// Metering of one contract run under TRON's rules: price and penalty of every opcode, step limit, calls and created
// addresses. Depends on the shape of @ethereumjs/evm's frames, but starts none.
import type { EVMResult } from '@ethereumjs/evm';
import { type Account as EvmAccount, Address } from '@ethereumjs/util';
import { accountAt } from './accounts.js';
import { keccak256 } from './address.js';
import { FACTOR_ONE, contractAt, energyStateAt } from './contract-store.js';
import { CALLS, CREATES, type Frame, VmHalt, VmTimeout, operationName, priceOf } from './energy.js';
import { type TronStateManager, tronAddress } from './evm-state.js';
import { type InternalDraft, type InternalTransaction, InternalTransactions } from './internal-transactions.js';
import { isPrecompiled } from './precompiles.js';
import type { Reader } from './state.js';
import type { VmRules } from './vm-rules.js';

/** A frame of the run. Hashes of its internal transactions derive from its hash. */
interface OpenFrame {
  readonly hash: string;
  /** Index of its own internal transaction; undefined for the root and for precompiled contracts. */
  readonly index: number | undefined;
  /** The sender that the frame's code sees. */
  readonly caller: string;
  readonly token: Token;
  /** Version of the running code: 1 for a contract made under compatible-EVM rules, otherwise 0. */
  readonly version: number;
}

/** A TRC10 token sent with a call; id 0 means none. */
interface Token {
  readonly id: string;
  readonly value: bigint;
}
const NO_TOKEN: Token = { id: '0', value: 0n };
export interface VmRequest {
  readonly state: Reader;
  readonly caller: string;
  /** The called contract, or the address of a deployment. */
  readonly contract: string;
  readonly isCreate: boolean;
  readonly data: Uint8Array;
  readonly value: bigint;
  /** The TRC10 token sent with the transaction. */
  readonly token?: Token;
  readonly energyLimit: bigint;
  readonly txId: string;
  readonly block: {
    readonly number: bigint;
    readonly timeMs: bigint;
    readonly witness: string;
    /** Returns a block's id; undefined if the chain has no such block. */
    readonly idOf: (number: number) => string | undefined;
  };
  readonly headMs: bigint;
  /** Maintenance cycle for dynamic energy, and its activation flag. */
  readonly cycle: bigint;
  readonly dynamicEnergy: boolean;
  readonly energyFee: bigint;
  readonly chainId: bigint;
  readonly rules: VmRules;
  /** CPU time that java-tron grants the run, ms. */
  readonly cpuMs: bigint;
}

/**
 * Opcodes that one transaction may run for each millisecond of java-tron's CPU limit. Counting steps makes the outcome
 * deterministic; 80 ms, main net's limit, are about half a second here.
 */
const STEPS_PER_MS = 6_250;
const JUMP = 0x56;

const STATIC_FORBIDDEN: ReadonlySet<number> = new Set([
  ...[0x55, 0x5d, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xf0, 0xf5, 0xff],
  ...[0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf],
]);
/** Opcodes that a static call may run unless they carry a value. */
const CARRIERS: ReadonlySet<number> = new Set([0xd0, 0xf1]);

export interface RunState {
  opCode: number;
  stack: { _store: bigint[]; _len: number; pop(): bigint; push(value: bigint): void };
  memoryWordCount: bigint;
  memory: {
    read(offset: number, size: number): Uint8Array;
    write(offset: number, size: number, value: Uint8Array): void;
  };
  gasLeft: bigint;
  messageGasLimit?: bigint | undefined;
  env: { readonly address: Address; readonly depth: number; contract: EvmAccount };
  returnBytes: Uint8Array;
  interpreter: {
    isStatic(): boolean;
    getReturnDataSize(): bigint;
    addStipend(energy: bigint): void;
    revert(output: Uint8Array): void;
    finish(output: Uint8Array): void;
    selfDestruct(to: Address): Promise<void>;
    initialEnergy?: bigint;
    factor?: bigint;
    user?: string;
  };
}
export interface CallMessage {
  readonly depth: number;
  readonly caller: Address;
  readonly to?: Address;
  readonly codeAddress: Address;
  readonly value: bigint;
  readonly data: Uint8Array;
  readonly delegatecall: boolean;
}
export interface CreateMessage {
  caller: Address;
  salt?: Uint8Array;
  code: Uint8Array;
  depth: number;
}

/** One transaction's run: its limits, step count and observations. */
export class Run {
  steps = 0;
  penalty = 0n;
  jumpTarget = 0n;
  readonly usedBy = new Map<string, bigint>();
  readonly internal = new InternalTransactions();
  private readonly frames: OpenFrame[] = [];
  /** The whole word of the address that the newest call opcode named. */
  calledWord: bigint | undefined;
  /** The token of the call that is about to begin. */
  private brought: (Token & { readonly from: string; readonly to: string }) | undefined;
  readonly addresses = new WeakMap<CreateMessage, Address>();
  readonly stepsMax: number;
  /** A failure inside a precompiled contract that ends its caller. */
  private halting: VmHalt | VmTimeout | undefined;

  constructor(
    readonly request: VmRequest,
    readonly vmState: TronStateManager,
  ) {
    this.stepsMax = Number(request.cpuMs) * STEPS_PER_MS;
  }

  get rules(): VmRules {
    return this.request.rules;
  }

  /** Lets the running contract fail once its call of a precompiled contract has returned. */
  haltCaller(error: VmHalt | VmTimeout): void {
    this.halting = error;
  }

  /** Throws the failure that a precompiled contract left for its caller. */
  throwHalt(): void {
    const error = this.halting;
    this.halting = undefined;

    if (error !== undefined) throw error;
  }

  /** Version of the running code. TRON: Program.contractVersion. */
  get version(): number {
    return this.frames.at(-1)?.version ?? 0;
  }

  /** TRON: a contract has its own version, a creation that of its creator (VMActuator, Program). */
  private versionOf(message: CallMessage): number {
    if (!this.rules.compatibleEvm) return 0;
    if (message.depth === 0 && this.request.isCreate) return 1;
    if (message.to === undefined) return this.version;
    return contractAt(this.vmState.top, tronAddress(message.codeAddress))?.version ?? 0;
  }

  /**
   * Called when a message begins. TRON: every call and creation within a transaction is an internal transaction. A call
   * of library code appears as a call of the contract to itself. A call of a precompiled contract never is one.
   */
  enter(message: CallMessage): void {
    const version = this.versionOf(message);
    if (message.depth === 0) {
      const { txId, token = NO_TOKEN, caller: from, contract } = this.request;
      this.frames.push({ hash: txId, index: undefined, caller: from, token, version });
      this.vmState.atCheckpoint = { from, to: contract, ...token };
      return;
    }
    const { to, value, data } = message;
    const { brought } = this;
    this.brought = undefined;
    this.vmState.atCheckpoint = brought;
    const token = brought ?? NO_TOKEN;
    const sender = tronAddress(message.caller);
    if (to !== undefined && isPrecompiled(this.calledWord ?? 0n, this.rules)) {
      this.frames.push({ hash: '', index: undefined, caller: sender, token, version });
      return;
    }
    const index = this.internal.list.length;
    const self = to !== undefined && message.delegatecall;
    const caller = self ? tronAddress(to) : sender;
    const { hash } = this.note({
      caller,
      to: to === undefined ? '' : tronAddress(to),
      value: self ? 0n : value,
      note: to === undefined ? 'create' : 'call',
      data,
      ...(brought === undefined ? {} : { tokens: [[brought.id, brought.value]] }),
    });
    this.frames.push({ hash, index, caller: sender, token, version });
  }

  /** The sender that the running code sees; in a delegated call, that of the calling contract. */
  get caller(): string {
    return this.frames.at(-1)?.caller ?? this.request.caller;
  }

  /** The TRC10 token sent with the running frame's call. */
  get token(): Token {
    return this.frames.at(-1)?.token ?? NO_TOKEN;
  }

  /** Runs `call` with a token. The token moves inside the call's frame, so a failed call returns it. */
  async bringing(token: NonNullable<Run['brought']>, call: () => Promise<void>): Promise<void> {
    this.brought = token;
    await call();
    this.brought = undefined;
  }

  /** Records an internal transaction of the running frame. */
  note(draft: InternalDraft): InternalTransaction {
    return this.internal.add(this.frames.at(-1)?.hash ?? this.request.txId, draft);
  }

  /** Sets the address of the creation that just began. */
  created(address: string): void {
    const index = this.frames.at(-1)?.index;
    const creation = index === undefined ? undefined : this.internal.list[index];
    if (creation !== undefined) creation.to = address;
  }

  leave(result: EVMResult): void {
    const index = this.frames.pop()?.index;
    if (index !== undefined && result.execResult.exceptionError !== undefined) this.internal.rejectFrom(index);
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
  get rules(): VmRules {
    return this.run.rules;
  }
  hasSlot(slot: bigint): boolean {
    return this.run.vmState.hasSlot(this.state.env.address, slot);
  }
  isDead(address: bigint): boolean {
    const low = address & ((1n << 160n) - 1n);
    return accountAt(this.run.vmState.top, '41' + low.toString(16).padStart(40, '0')) === undefined;
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

/**
 * Prices the opcode, charges the penalty, and reserves the energy of a call. The EVM then deducts the returned amount.
 */
export function meter(run: Run, state: RunState): bigint {
  const op = state.opCode;
  const { interpreter } = state;
  interpreter.initialEnergy ??= state.gasLeft;
  interpreter.user ??= tronAddress(state.env.address);
  interpreter.factor ??= run.factorOf(interpreter.user);
  // Checked at jumps, which every endless run makes, so the message always names the same opcode.
  if (++run.steps > run.stepsMax && (op === JUMP || run.steps > 2 * run.stepsMax))
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
  const rest = state.gasLeft - total;
  // TRON (Program.getCallEnergy, getCreateEnergy): a contract of version 1 keeps a 64th.
  const left = run.version === 1 ? rest - rest / 64n : rest;
  if (CALLS.has(op)) {
    const wanted = frame.peek(1);
    state.messageGasLimit = wanted > left ? left : wanted;
  } else if (CREATES.has(op)) state.messageGasLimit = left;
  const words = (frame.memoryEnd + 31n) / 32n;
  if (words > state.memoryWordCount) state.memoryWordCount = words;
  return total;
}

function checkLegal(run: Run, state: RunState, op: number, frame: Frame): void {
  if (state.interpreter.isStatic() && (STATIC_FORBIDDEN.has(op) || (CARRIERS.has(op) && frame.peek(3) !== 0n)))
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

/** Returns a contract's address. TRON derives it from the transaction; CREATE2 uses 41 where Ethereum has ff. */
export function generatedAddress(run: Run, message: CreateMessage): Address {
  const known = run.addresses.get(message);
  if (known !== undefined) return known;
  let bytes: Uint8Array;
  if (message.depth === 0) bytes = Buffer.from(run.request.contract.slice(2), 'hex');
  else if (message.salt !== undefined)
    bytes = keccak256(
      Buffer.concat([Buffer.from([0x41]), message.caller.bytes, message.salt, keccak256(message.code)]),
    ).subarray(12);
  else {
    // TRON: the nonce before this creation's own internal transaction was counted.
    const count = Buffer.alloc(8);
    count.writeBigInt64BE(BigInt(run.internal.list.length - 1));
    bytes = keccak256(Buffer.concat([Buffer.from(run.request.txId, 'hex'), count])).subarray(12);
  }
  const address = new Address(Uint8Array.from(bytes));
  run.vmState.creating.set(tronAddress(address), { maker: tronAddress(message.caller), version: run.version });
  run.addresses.set(message, address);
  run.created(tronAddress(address));
  return address;
}
