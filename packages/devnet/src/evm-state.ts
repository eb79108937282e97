// The state manager for @ethereumjs/evm: TRON accounts, code and storage over a stack of overlays. It never writes to
// the chain; the caller commits the bottom overlay after a successful transaction.
import type { AccountFields, StateManagerInterface } from '@ethereumjs/common';
import { type Account as EvmAccount, type Address, KECCAK256_NULL, createAccount } from '@ethereumjs/util';
import { accountAt, becomingContract, deleteAccount, newAccount, putAccount } from './accounts.js';
import { keccak256 } from './address.js';
import { moveToken } from './assets.js';
import { codeAt, putCode, removeContract, slotKey } from './contract-store.js';
import { Overlay, type Reader, type State } from './state.js';

const EMPTY = new Uint8Array(0);
const UNKNOWN_ROOT = new Uint8Array(32);

export function tronAddress(address: Address): string {
  return '41' + Buffer.from(address.bytes).toString('hex');
}

// The EVM reads an account with its code hash many times per call; code never changes in place.
const codeHashes = new WeakMap<Uint8Array, Uint8Array>();

function hashOf(code: Uint8Array): Uint8Array {
  const known = codeHashes.get(code);
  if (known !== undefined) return known;
  const hash = keccak256(code);
  codeHashes.set(code, hash);
  return hash;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** A contract that the transaction makes. */
export interface Creation {
  readonly maker: string;
  readonly version: number;
}

export class TronStateManager implements StateManagerInterface {
  private stack: Overlay[];
  /** Contracts created in this transaction, by address: their accounts exist before their code. */
  readonly creating = new Map<string, Creation>();

  /** A TRC10 token to move once the state of its frame is open. */
  atCheckpoint: { readonly from: string; readonly to: string; readonly id: string; readonly value: bigint } | undefined;

  constructor(
    parent: Reader,
    private readonly headMs: bigint,
  ) {
    this.stack = [new Overlay(parent)];
  }

  /** The state that the running frame sees. */
  get top(): State {
    const top = this.stack.at(-1);
    if (top === undefined) throw new Error('the overlay stack is never empty');
    return top;
  }

  /** Writes all changes into `target`. Removes slots that ended at zero, as TRON's repository does. */
  commitTo(target: State): void {
    const bottom = this.stack[0];
    bottom?.commit({
      get: (key) => target.get(key),
      put: (key, value) => {
        target.put(key, key.startsWith('s:') && value === '' ? undefined : value);
      },
    });
  }

  getAccount(address: Address): Promise<EvmAccount | undefined> {
    const tron = tronAddress(address);
    const account = accountAt(this.top, tron);
    if (account === undefined) return Promise.resolve(undefined);
    const code = codeAt(this.top, tron);
    const hash = code === undefined ? KECCAK256_NULL : hashOf(code);
    return Promise.resolve(createAccount({ balance: account.balance, codeHash: hash }));
  }

  putAccount(address: Address, account?: EvmAccount): Promise<void> {
    if (account === undefined) return this.deleteAccount(address);
    const tron = tronAddress(address);
    const known = accountAt(this.top, tron);
    if (known !== undefined && !known.isContract && this.creating.has(tron)) {
      putAccount(this.top, { ...becomingContract(known), balance: account.balance });
    } else if (known !== undefined) {
      if (known.balance !== account.balance) putAccount(this.top, { ...known, balance: account.balance });
    } else if (this.creating.has(tron)) {
      putAccount(this.top, { ...newAccount(tron, 'contract', this.headMs), balance: account.balance });
    } else if (account.balance > 0n) {
      // A call alone never creates an account; TRX sent to an unused address does.
      putAccount(this.top, { ...newAccount(tron, 'normal', this.headMs), balance: account.balance });
    }
    return Promise.resolve();
  }

  deleteAccount(address: Address): Promise<void> {
    const tron = tronAddress(address);
    if (accountAt(this.top, tron) !== undefined) deleteAccount(this.top, tron);
    removeContract(this.top, tron);
    return Promise.resolve();
  }

  async modifyAccountFields(address: Address, fields: AccountFields): Promise<void> {
    const account = (await this.getAccount(address)) ?? createAccount({});
    account.balance = fields.balance ?? account.balance;
    await this.putAccount(address, account);
  }

  putCode(address: Address, value: Uint8Array): Promise<void> {
    putCode(this.top, tronAddress(address), Uint8Array.from(value));
    return Promise.resolve();
  }

  getCode(address: Address): Promise<Uint8Array> {
    return Promise.resolve(codeAt(this.top, tronAddress(address)) ?? EMPTY);
  }

  getCodeSize(address: Address): Promise<number> {
    return Promise.resolve(codeAt(this.top, tronAddress(address))?.length ?? 0);
  }

  getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    const value = this.top.get(slotKey(tronAddress(address), hexOf(key))) as string | undefined;
    return Promise.resolve(value === undefined || value === '' ? EMPTY : Buffer.from(value, 'hex'));
  }

  /**
   * Returns true if a slot has a row, on which TRON bases SSTORE's price. A row written in this transaction remains at
   * zero.
   */
  hasSlot(address: Address, slot: bigint): boolean {
    return this.top.get(slotKey(tronAddress(address), slot.toString(16).padStart(64, '0'))) !== undefined;
  }

  putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.top.put(slotKey(tronAddress(address), hexOf(key)), hexOf(value));
    return Promise.resolve();
  }

  clearStorage(): Promise<void> {
    return Promise.resolve();
  }

  checkpoint(): Promise<void> {
    this.stack.push(new Overlay(this.top));
    const moved = this.atCheckpoint;
    this.atCheckpoint = undefined;
    if (moved !== undefined && moved.value > 0n)
      moveToken(this.top, moved.from, moved.to, moved.id, moved.value, this.headMs);
    return Promise.resolve();
  }

  commit(): Promise<void> {
    const done = this.stack.pop();
    done?.commit(this.top);
    return Promise.resolve();
  }

  revert(): Promise<void> {
    this.stack.pop();
    return Promise.resolve();
  }

  getStateRoot(): Promise<Uint8Array> {
    return Promise.resolve(UNKNOWN_ROOT);
  }

  setStateRoot(): Promise<void> {
    return Promise.resolve();
  }

  hasStateRoot(): Promise<boolean> {
    return Promise.resolve(true);
  }

  readonly originalStorageCache = {
    get: (address: Address, key: Uint8Array): Promise<Uint8Array> => this.getStorage(address, key),
    clear: (): void => undefined,
  };

  clearCaches(): void {
    this.stack = this.stack.slice(0, 1);
  }

  shallowCopy(): StateManagerInterface {
    return new TronStateManager(this.top, this.headMs);
  }
}
