// The chain: blocks, mempool, forks and state. Every change goes through one queue, so a request never sees a
// half-executed transaction. Independent of HTTP.
import { type Block, makeBlock, nextWitness } from './block.js';
import { installBlockHashHistory, recordBlockHash } from './block-hash-history.js';
import { BroadcastError } from './errors.js';
import { type Receipt, broadcastErrorOf, execute } from './execute.js';
import type { Context } from './fees.js';
import { text } from './fields.js';
import {
  energyPricesAt,
  energyPricesEntry,
  forceEnergyWeight,
  parameter,
  parametersAt,
  parametersEntry,
  totalsAt,
  versionAt,
} from './parameters.js';
import { Overlay, type Reader, type State, Store } from './state.js';
import { type Packed, type Tx, checkSignatureSizes, checkSignatures, packTx, unpackTx } from './transactions.js';
import type { BlockInfo } from './vm-transactions.js';
import { type Maintenance, cycleAt, finishBlock, maintenanceAt, maintenanceEntry } from './witnesses.js';

export const BLOCK_STEP_MS = 3_000;
const EXPIRY_AHEAD_MAX_MS = 86_400_000n;
const TAPOS_BLOCKS = 65_536;
const TX_BYTES_MAX = 500 * 1024;
const BLOCK_BYTES_MAX = 2_000_000;
/** Least number of blocks that a fork can revert. States this far behind a head or a solid head are readable. */
export const UNDO_MIN = 64;

export interface ChainOptions {
  readonly seed: string;
  readonly startMs: number;
  /** Blocks behind the head that must stay readable. */
  readonly reach: number;
  /** More pending transactions than this lead to SERVER_BUSY. TRON: 2 000. */
  readonly pendingMax: number;
  /** Wall clock, ms; only for the timestamp of transactions that the node builds. */
  readonly now: () => number;
}

/** A transaction in a block. */
export interface Included extends Packed {
  readonly block: number;
  readonly receipt: Receipt;
}

export class Chain {
  readonly store = new Store();
  readonly blocks: Block[];
  readonly included = new Map<string, Included>();
  readonly mempool = new Map<string, Tx>();
  forks = 0;
  /** Time of the newest block ever made: a fork reverts blocks, not the elapsed time. */
  private madeToMs = 0;
  /** Minimum time of the next block. */
  private notBeforeMs = 0;
  private tail: Promise<unknown> = Promise.resolve();

  constructor(
    readonly options: ChainOptions,
    genesis: Block,
  ) {
    this.blocks = [genesis];
  }

  /** Runs `work` exclusively, after all work queued earlier. */
  exclusively<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  get head(): Block {
    return this.block(this.blocks.length - 1);
  }

  /** Returns the block of this number. Throws if it does not exist; `blocks` returns undefined then. */
  block(number: number): Block {
    const block = this.blocks[number];
    if (block === undefined) throw new Error(`no block ${String(number)}`);
    return block;
  }

  /** Returns the execution context of a transaction or read after block `after`. */
  context(state: State, after: Block = this.head, isBuilding = false): Context {
    const headMs = BigInt(after.timeMs);
    return { state, headMs, slot: headMs / BigInt(BLOCK_STEP_MS), isBuilding };
  }

  /** Time of block 0 on the grid of blocks and maintenances, ms. */
  get genesisMs(): bigint {
    return BigInt(this.options.startMs - BLOCK_STEP_MS);
  }

  /** Returns the state entry of the first maintenance after `fromMs`. */
  maintenanceFrom(cycle: bigint, fromMs: bigint): readonly [string, Maintenance] {
    return maintenanceEntry(cycle, this.genesisMs, parameter(this.store, 'getMaintenanceTimeInterval'), fromMs);
  }

  /** Computes the maintenance cycle of a chain that was saved before cycles were, from its time. */
  adoptMaintenance(): void {
    if (maintenanceAt(this.store) !== undefined) return;
    const headMs = BigInt(this.head.timeMs);
    const interval = parameter(this.store, 'getMaintenanceTimeInterval');
    const cycle = (headMs - this.genesisMs) / (interval > 0n ? interval : 1n) + 1n;
    this.store.force(...this.maintenanceFrom(cycle, headMs));
  }

  private readonly idOf = (number: number): string | undefined => this.blocks[number]?.id;

  get chainId(): bigint {
    return BigInt(`0x${this.block(0).id.slice(-8)}`);
  }

  /** Returns a block's data as contracts see it: constant calls run on the head. */
  infoOf(state: Reader, block: Block): BlockInfo {
    return {
      number: BigInt(block.number),
      timeMs: BigInt(block.timeMs),
      witness: block.witness,
      cycle: cycleAt(state),
      chainId: this.chainId,
      idOf: this.idOf,
    };
  }

  private nextInfo(): BlockInfo {
    const { head } = this;
    return {
      number: BigInt(head.number + 1),
      timeMs: BigInt(this.nextTime()),
      witness: nextWitness(this.options.seed, this.forks, head),
      cycle: cycleAt(this.store),
      chainId: this.chainId,
      idOf: this.idOf,
    };
  }

  private nextTime(): number {
    const after = Math.max(this.head.number === 0 ? 0 : this.head.timeMs, this.madeToMs);
    const next = after === 0 ? this.options.startMs : after + BLOCK_STEP_MS;
    return Math.max(next, Math.ceil(this.notBeforeMs / BLOCK_STEP_MS) * BLOCK_STEP_MS);
  }

  /** Opens the journal after the genesis state is complete: later changes can be reverted. */
  begin(): void {
    this.store.open(1);
  }

  /** Accepts a transaction into the mempool. Throws BroadcastError with the node's code and message. */
  async broadcast(tx: Tx): Promise<void> {
    if (versionAt(this.store) !== '4.8.0') checkSignatureSizes(tx);
    if (this.mempool.size > this.options.pendingMax) throw new BroadcastError('SERVER_BUSY', 'Server busy.');
    await this.admit(tx, this.nextInfo());
    this.mempool.set(tx.id, tx);
  }

  /** Checks and executes a transaction on the store's newest layer, in the order of TRON's Manager.pushTransaction. */
  private async admit(tx: Tx, block: BlockInfo): Promise<Receipt> {
    checkSignatures(this.store, tx);
    this.checkReference(tx);
    this.checkCommon(tx);
    if (this.included.has(tx.id) || this.mempool.has(tx.id))
      throw new BroadcastError('DUP_TRANSACTION_ERROR', 'Dup transaction.');
    return this.apply(tx, block);
  }

  private async apply(tx: Tx, block: BlockInfo): Promise<Receipt> {
    const overlay = new Overlay(this.store);
    try {
      const receipt = await execute(this.context(overlay), tx, block);
      overlay.commit(this.store);
      return receipt;
    } catch (error) {
      throw broadcastErrorOf(error);
    }
  }

  private checkReference(tx: Tx): void {
    const low = Number.parseInt(text(tx.data, 'ref_block_bytes') || '0', 16);
    const head = this.head.number;
    const number = head - ((head - low) & 0xffff);
    const block = number > head - TAPOS_BLOCKS ? this.blocks[number] : undefined;
    if (block?.id.slice(16, 32) !== text(tx.data, 'ref_block_hash'))
      throw new BroadcastError('TAPOS_ERROR', 'Tapos check error.');
  }

  private checkCommon(tx: Tx): void {
    if (tx.size > TX_BYTES_MAX) throw new BroadcastError('TOO_BIG_TRANSACTION_ERROR', 'Transaction size is too big.');
    const headMs = BigInt(this.head.timeMs);
    const next = BigInt(this.nextTime());
    if (tx.expirationMs <= headMs || tx.expirationMs > headMs + EXPIRY_AHEAD_MAX_MS || tx.expirationMs < next)
      throw new BroadcastError('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired');
  }

  /** Makes one block from the mempool. Silently drops transactions that are no longer valid. */
  async mine(): Promise<Block> {
    const parent = this.head;
    const info = this.nextInfo();
    this.store.undo();
    this.store.open(parent.number + 1);
    recordBlockHash(this.store, parent.number + 1, parent.id);
    const queue = [...this.mempool.values()];
    this.mempool.clear();
    const done: { tx: Tx; receipt: Receipt }[] = [];
    const later: Tx[] = [];
    let bytes = 0;
    for (const tx of queue) {
      if (bytes + tx.size > BLOCK_BYTES_MAX) {
        later.push(tx);
        continue;
      }
      const receipt = await this.tryAdmit(tx, info);
      if (receipt === undefined) continue;
      bytes += tx.size;
      done.push({ tx, receipt });
    }
    finishBlock(this.store, info);
    const ids = done.map(({ tx }) => tx.id);
    const block = makeBlock(this.options.seed, this.forks, parent, Number(info.timeMs), ids);
    for (const { tx, receipt } of done) this.included.set(tx.id, { ...packTx(tx), block: block.number, receipt });
    this.blocks.push(block);
    this.store.trim(Math.max(UNDO_MIN, this.options.reach) + 1);
    this.store.open(block.number + 1);
    await this.pend(later);
    return block;
  }

  /**
   * Makes a block no earlier than `fromMs`, as if the slots before were missed, from the mempool and `transactions`.
   * Throws BroadcastError if one of them is invalid; the block is made nevertheless.
   */
  async mineFrom(fromMs: number, transactions: readonly Tx[]): Promise<Block> {
    this.notBeforeMs = fromMs;
    for (const tx of transactions) this.mempool.set(tx.id, tx);
    const block = await this.mine();
    // A second broadcast of an omitted transaction throws the reason.
    for (const tx of transactions) if (!this.included.has(tx.id)) await this.broadcast(tx);
    return block;
  }

  private async tryAdmit(tx: Tx, info: BlockInfo): Promise<Receipt | undefined> {
    try {
      return await this.admit(tx, info);
    } catch (error) {
      if (error instanceof BroadcastError) return undefined;
      throw error;
    }
  }

  /** Executes transactions again as pending, in order, and drops those that are no longer valid. */
  private async pend(list: readonly Tx[]): Promise<void> {
    for (const tx of list) if ((await this.tryAdmit(tx, this.nextInfo())) !== undefined) this.mempool.set(tx.id, tx);
  }

  /** Reverts the newest `depth` blocks. Their transactions return to the mempool, or are lost with `drop`. */
  async fork(depth: number, drop: boolean): Promise<{ readonly dropped: readonly Block[] }> {
    const most = Math.min(this.store.depth - 1, this.head.number);
    if (depth < 1 || depth > most) throw new RangeError(`depth must be from 1 to ${String(most)}`);
    const dropped: Block[] = [];
    const back: Tx[] = [];
    this.store.undo();
    for (let i = 0; i < depth; i++) {
      const block = this.blocks.pop();
      if (block === undefined || !this.store.undo()) throw new Error('fork went past what can be undone');
      dropped.unshift(block);
      // TRON: slots follow the wall clock, so replacement blocks have later times than the reverted ones.
      this.madeToMs = Math.max(this.madeToMs, block.timeMs);
      for (const id of [...block.txIds].reverse()) {
        const known = this.included.get(id);
        this.included.delete(id);
        if (known !== undefined) back.unshift(unpackTx(known));
      }
    }
    this.forks++;
    const queue = [...(drop ? [] : back), ...this.mempool.values()];
    this.mempool.clear();
    this.store.open(this.head.number + 1);
    await this.pend(queue);
    return { dropped };
  }

  /** Removes pending transactions, all or the named ones, as a node that lost them would. Returns their count. */
  async evict(ids: readonly string[] | null): Promise<number> {
    const keep = ids === null ? [] : [...this.mempool.values()].filter((tx) => !ids.includes(tx.id));
    const gone = this.mempool.size - keep.length;
    await this.replay(keep, () => undefined);
    return gone;
  }

  /** Applies `change` to every past and pending state, then executes the mempool again. */
  async replay(queue: readonly Tx[], change: () => void): Promise<void> {
    this.store.undo();
    this.mempool.clear();
    change();
    this.store.open(this.head.number + 1);
    await this.pend(queue);
  }

  /** Sets chain parameters in all states, as a committee decision that was always in force. */
  async setParameters(change: Readonly<Record<string, bigint>>): Promise<void> {
    await this.replay([...this.mempool.values()], () => {
      const next = { ...parametersAt(this.store), ...change };
      const price = change['getEnergyFee'];
      if (price !== undefined && price !== parameter(this.store, 'getEnergyFee')) {
        const prices = `${energyPricesAt(this.store)},${String(this.head.timeMs)}:${String(price)}`;
        this.store.force(...energyPricesEntry(prices));
      }
      this.store.force(...parametersEntry(next));
      if (change['getMaintenanceTimeInterval'] !== undefined) this.moveMaintenance();
      installBlockHashHistory(this.store);
    });
  }

  /** Moves the next maintenance to the grid of the current interval; cycles stay. */
  private moveMaintenance(): void {
    const [key, { nextMs }] = this.maintenanceFrom(1n, BigInt(this.head.timeMs));
    this.store.forceEach(key, (value) => (value === undefined ? value : { ...(value as Maintenance), nextMs }));
  }

  /** Sets the TRX that the whole chain stakes for energy, as if others had staked or unstaked. Applies from now on. */
  async setEnergyWeight(trx: bigint): Promise<void> {
    await this.replay([...this.mempool.values()], () => {
      forceEnergyWeight(this.store, trx - totalsAt(this.store).ENERGY);
    });
  }

  /** Sets one value in the current and every past state. */
  async setValue(entry: readonly [string, unknown]): Promise<void> {
    await this.replay([...this.mempool.values()], () => {
      this.store.force(...entry);
    });
  }

  /** The energy cycle at the head. */
  get cycle(): bigint {
    return cycleAt(this.store);
  }
}
