/**
 * Reads solid blocks in order, in the one worker that has the lease. Passes each to its consumers in the transaction
 * that moves the cursor. Blocks are read concurrently and taken in sequentially. It waits for a block that cannot be
 * read whole or on which nodes differ. The search uses the same reading with its own cursor, and waits for none of
 * that.
 */
import { Inject, Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Counter } from 'prom-client';
import { sleep } from '../support/clock.js';
import { failuresIn, runEach } from '../support/concurrency.js';
import { Repeater } from '../support/repeat.js';
import { ChainUnavailableError } from '../chain/errors.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics, addGauge } from '../observability/metrics.js';
import { Database } from '../database/database.js';
import { BLOCK_CONSUMERS, BLOCK_SEARCH, type BlockConsumer, type BlockSearch } from './block-consumer.js';
import { BlockCursor, type CursorLease } from './block-cursor.js';
import { WitnessedBlocks, type WitnessedBlock } from './witnessed-blocks.js';

/** A solid block comes every three seconds. This keeps the delay of a payment below one block. */
const REST_MS = 1000;
const REST_BY_ONE_MS = 3000;
const RETRY_MS = 2000;
/**
 * Limit of the search's wait for the consumers, so that a search that is far ahead does not make them read blocks
 * again.
 */
const PACE_MS = 2000;
/** Concurrent reads while catching up. */
const CONCURRENT_BLOCKS = 8;
/** This far behind (an hour), blocks that no consumer requires are skipped. */
const BEHIND_MAX = 1200;

@Injectable()
export class BlockFollower implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly repeater: Repeater;
  private readonly searchRepeater: Repeater;
  private readonly blocksRead: Counter;
  private fence = -1n;
  private blocksBehind = 0;
  /** Our lease in the last pass and the height read so far; undefined without the lease. */
  private lease: { readonly fence: bigint; readonly solid: number } | undefined;
  private currentPass: Promise<boolean> | undefined;

  /** `consumers`: in this order within a block's transaction. Consumers that lock balances come last. */
  constructor(
    private readonly cursor: BlockCursor,
    private readonly blocks: WitnessedBlocks,
    private readonly database: Database,
    @Inject(BLOCK_CONSUMERS) private readonly consumers: readonly BlockConsumer[],
    @Inject(BLOCK_SEARCH) private readonly search: BlockSearch,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    addGauge(
      metrics.registry,
      'deposit_blocks_behind',
      'Solid blocks still to read; 0 in workers that read none.',
      () => this.blocksBehind,
    );
    this.blocksRead = new Counter({
      name: 'deposit_blocks_read_total',
      help: 'Solid blocks read for deposits and chain costs.',
      registers: [metrics.registry],
    });
    const failed = (task: string) => (error: unknown) => {
      if (error instanceof ChainUnavailableError)
        log.warn({ fault: messageOf(error) }, `failed to ${task}; will retry`);
      else log.error({ err: error }, `failed to ${task}`);
    };
    this.repeater = new Repeater({
      run: async () => {
        if (await this.runPass()) return 0;
        await this.workBetweenBlocks().catch((error: unknown) => {
          if (!failuresIn(error).every((each) => each instanceof ChainUnavailableError)) throw error;
          log.debug({ fault: messageOf(error) }, 'failed to work between blocks; will retry');
        });
        return this.needsWitnesses ? REST_MS : REST_BY_ONE_MS;
      },
      retryMs: RETRY_MS,
      onFailure: failed('read solid blocks'),
    });
    this.searchRepeater = new Repeater({
      run: async () => ((await this.runSearch()) ? 0 : REST_BY_ONE_MS),
      retryMs: RETRY_MS,
      onFailure: failed('search solid blocks'),
    });
  }

  start(): void {
    void this.repeater.start();
    void this.searchRepeater.start();
  }

  /** Stops claiming. Nest calls this hook on all modules before it waits for their work. */
  onModuleDestroy(): void {
    this.repeater.end();
    this.searchRepeater.end();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.repeater.stop(), this.searchRepeater.stop()]);
  }

  /**
   * Takes in the next solid blocks, a few per call. Returns true when more are left. Throws ChainUnavailableError;
   * blocks already taken in stay.
   */
  async runPass(): Promise<boolean> {
    const passing = this.readNext().finally(() => {
      this.currentPass = undefined;
    });
    this.currentPass = passing;
    return passing;
  }

  /**
   * Searches the next solid blocks, a few per call. Returns true when more are left. Throws ChainUnavailableError;
   * blocks already searched stay.
   */
  async runSearch(): Promise<boolean> {
    const left = await this.search.searchNext(this.lease !== undefined);
    if (left === undefined || left === 0) return false;
    // A search far ahead of catching-up consumers would make every block be read twice. It waits a bounded time only.
    const paced = new AbortController();
    await Promise.race([this.currentPass?.catch(messageOf), sleep(PACE_MS, paced.signal)]);
    paced.abort();
    return true;
  }

  private async readNext(): Promise<boolean> {
    const lease = await this.takeLease();
    if (lease === undefined) return false;
    for (const consumer of this.consumers) await consumer.prepare?.(lease.fence);
    const height = this.needsWitnesses
      ? await this.blocks.readHeight()
      : (await this.blocks.readHeadByOneNode()).number;
    const from = Number(lease.block_number) + 1;
    this.blocksBehind = Math.max(0, height - from + 1);
    // Must follow the height: an address paid in a block that is solid by now was already assigned then.
    for (const consumer of this.consumers) await consumer.loadWatched?.();
    if (this.needsWitnesses) return this.readBlocks(lease, height);
    if (this.blocksBehind <= BEHIND_MAX) {
      try {
        return await this.readBlocks(lease, height);
      } catch (error) {
        // Blocks read from a single node may have been wrong.
        if (!(error instanceof OtherChainError)) throw error;
      }
    }
    await this.skipToHead(lease.fence);
    return false;
  }

  /** Runs the work of all consumers between blocks, even if one fails. Throws ChainUnavailableError. */
  async workBetweenBlocks(): Promise<void> {
    if (this.lease === undefined || this.blocksBehind > 0) return;
    const { fence, solid } = this.lease;
    await runEach(this.consumers.map((consumer) => async () => consumer.workBetweenBlocks?.(fence, solid)));
  }

  private get needsWitnesses(): boolean {
    return this.consumers.some((consumer) => consumer.needsWitnesses === true);
  }

  private async takeLease(): Promise<CursorLease | undefined> {
    let lease = await this.cursor.claim(this.fence);
    if (lease === undefined && (await this.cursor.readHeight()) === undefined) {
      await this.cursor.start(await this.blocks.readHeadByOneNode());
      lease = await this.cursor.claim(this.fence);
    }
    this.lease = lease && { fence: lease.fence, solid: Number(lease.block_number) };
    if (lease !== undefined) this.fence = lease.fence;
    else {
      this.blocksBehind = 0;
      for (const consumer of this.consumers) consumer.loseLease?.();
    }
    return lease;
  }

  private async readBlocks(lease: CursorLease, height: number): Promise<boolean> {
    const from = Number(lease.block_number) + 1;
    const to = Math.min(height, from + CONCURRENT_BLOCKS - 1);
    if (to < from) return false;
    const reading = Array.from({ length: to - from + 1 }, (_, index) => this.readBlock(from + index));
    let before = lease.block_id;
    for (const block of reading) {
      const read = await block;
      if (read instanceof Error) throw read;
      // A final block is never reverted: these nodes follow another chain than those that were read before.
      if (read.parentId !== before) {
        this.blocks.forgetFrom(read.number);
        throw new OtherChainError(read.number, before);
      }
      before = read.id;
      if (!(await this.consumeBlock(read, lease.fence))) return false;
      this.blocksBehind -= 1;
      this.lease = { fence: lease.fence, solid: read.number };
      this.blocksRead.inc();
    }
    return to < height;
  }

  /** Returns false, without any change, when the lease was lost. */
  private async consumeBlock(block: WitnessedBlock, fence: bigint): Promise<boolean> {
    for (const consumer of this.consumers) await consumer.inspect?.(block);
    const committed = await this.database.transaction(async (tx) => {
      if (!(await this.cursor.move(tx, block, fence))) return undefined;
      const done: (() => void)[] = [];
      for (const consumer of this.consumers) done.push(await consumer.consumeBlock(tx, block));
      return done;
    });
    for (const after of committed ?? []) after();
    return committed !== undefined;
  }

  /** Returns errors as values: a later block may fail before its result is awaited. */
  private async readBlock(number: number): Promise<WitnessedBlock | Error> {
    const watched = {
      payments: (address: string) => this.consumers.some((consumer) => consumer.watchesPayments?.(address) === true),
      costs: (address: string) => this.consumers.some((consumer) => consumer.watchesCosts?.(address) === true),
    };
    try {
      return await (this.needsWitnesses
        ? this.blocks.read(number, watched)
        : this.blocks.readByOneNode(number, watched));
    } catch (error) {
      return error instanceof Error ? error : new Error(messageOf(error));
    }
  }

  private async skipToHead(fence: bigint): Promise<void> {
    const head = await this.blocks.readHeadByOneNode();
    this.log.warn({ block: head.number, behind: this.blocksBehind }, 'solid blocks skipped unread');
    await this.cursor.skipTo(head, fence);
    this.blocksBehind = 0;
  }
}

/** The nodes' current block does not have the last read block as its parent. */
class OtherChainError extends ChainUnavailableError {
  constructor(number: number, before: string) {
    super(`a solid block ${number.toString()} after ${before}`, []);
  }
}
