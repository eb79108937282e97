// Parts that the implementations of TRON's own opcodes share.
import { NodeError } from './errors.js';
import { VmHalt } from './energy.js';
import type { Run, RunState } from './evm-meter.js';
import { tronAddress } from './evm-state.js';
import type { Context } from './fees.js';
import { Overlay } from './state.js';

/** An opcode's action, after its energy was charged. `original` is @ethereumjs/evm's implementation. */
export type Action = (run: Run, state: RunState, original: () => Promise<void>) => void | Promise<void>;

const ADDRESS_MASK = (1n << 160n) - 1n;
export const LONG_MAX = (1n << 63n) - 1n;
const INT_MAX = (1n << 31n) - 1n;
const MEMORY_MAX = 3 * 1024 * 1024;

export function addressOf(word: bigint): string {
  return '41' + (word & ADDRESS_MASK).toString(16).padStart(40, '0');
}

/** TRON (DataWord.intValueSafe): more than an int counts as the largest int. */
export function intOf(word: bigint): number {
  return Number(word > INT_MAX ? INT_MAX : word);
}

export function selfOf(state: RunState): string {
  return tronAddress(state.env.address);
}

export function contextOf(run: Run): Context {
  const { headMs } = run.request;
  return { state: run.vmState.top, headMs, slot: headMs / 3_000n };
}

/** Re-reads the running contract's balance, of which @ethereumjs/evm holds a copy, after a change here. */
export async function refresh(run: Run, state: RunState): Promise<void> {
  const account = await run.vmState.getAccount(state.env.address);
  if (account !== undefined) state.env.contract = account;
}

/**
 * Runs an act of the contract. Returns undefined and changes nothing if the act is refused: the VM catches the refusal,
 * and the contract continues.
 */
export function attempt<T>(run: Run, act: (context: Context) => T): T | undefined {
  const context = contextOf(run);
  const overlay = new Overlay(context.state);
  try {
    const result = act({ ...context, state: overlay });
    overlay.commit(context.state);
    return result;
  } catch (error) {
    if (error instanceof NodeError) return undefined;
    throw error;
  }
}

/** Reads memory and extends it, without a charge. TRON: Program.memoryChunk, Memory.read. */
export function readMemory(state: RunState, offset: number, size: number, opcode: string): Uint8Array {
  if (size === 0) return new Uint8Array(0);
  if (offset + size > MEMORY_MAX)
    throw new VmHalt(
      'Program$OutOfMemoryException',
      `Out of Memory when '${opcode}' operation executing`,
      'OUT_OF_MEMORY',
    );
  const words = BigInt(Math.ceil((offset + size) / 32));
  if (words > state.memoryWordCount) state.memoryWordCount = words;
  return state.memory.read(offset, size);
}
