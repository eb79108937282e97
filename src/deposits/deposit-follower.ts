/**
 * Reads solid blocks for deposits, one after the other, in the one worker that has the turn. Blocks are read side by side
 * and taken in in their order; a block that cannot be read whole, or on which nodes differ, is waited for.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { Repeater } from '../base/repeat.js';
import { ChainUnavailableError } from '../chain/errors.js';
import { messageOf } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Database } from '../store/database.js';
import { ADDRESSES } from './deposit-sql.js';
import { DepositBook } from './deposit-book.js';
import { HeadSightings } from './head-sightings.js';
import { RateRecorder } from './rate-recorder.js';
import { WitnessedBlocks, type WitnessedBlock } from './witnessed-blocks.js';

const LEASE_SEC = 20;
/** A solid block comes every three seconds. */
const REST_MS = 1000;
const RETRY_MS = 2000;
/** Read at once while it catches up. */
const BLOCKS_AT_ONCE = 8;

@Injectable()
export class DepositFollower implements BeforeApplicationShutdown {
  private readonly repeater: Repeater;
  private readonly read: Counter;
  private fence = -1n;
  private behind = 0;
  /** Whose turn it was in the last pass, if ours, and how far solid blocks are read. */
  private turn: { readonly fence: bigint; readonly solid: number } | undefined;
  private addresses: ReadonlySet<string> = new Set();

  constructor(
    private readonly book: DepositBook,
    private readonly blocks: WitnessedBlocks,
    private readonly sightings: HeadSightings,
    private readonly rates: RateRecorder,
    private readonly database: Database,
    metrics: Metrics,
    log: Log,
  ) {
    const behind = (): number => this.behind;
    new Gauge({
      name: 'deposit_blocks_behind',
      help: 'Solid blocks that are not read for deposits yet, as the worker that reads them last saw; 0 in the others.',
      registers: [metrics.registry],
      collect() {
        this.set(behind());
      },
    });
    this.read = new Counter({
      name: 'deposit_blocks_read_total',
      help: 'Solid blocks that this worker read for deposits.',
      registers: [metrics.registry],
    });
    this.repeater = new Repeater({
      run: async () => {
        if (await this.pass()) return 0;
        await this.lookAhead().catch((error: unknown) => {
          if (!(error instanceof ChainUnavailableError)) throw error;
          log.debug({ fault: messageOf(error) }, 'blocks of the head are not the same at two nodes yet');
        });
        return REST_MS;
      },
      retryMs: RETRY_MS,
      onFailure: (error) => {
        if (error instanceof ChainUnavailableError)
          log.warn({ fault: messageOf(error) }, 'deposits wait for the nodes');
        else log.error({ err: error }, 'blocks could not be read for deposits');
      },
    });
  }

  start(): void {
    void this.repeater.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
  }

  /**
   * Takes in the blocks that are solid by now, up to a few at once. True when there are more. Throws
   * ChainUnavailableError; what was taken in by then stays.
   */
  async pass(): Promise<boolean> {
    const turn = await this.book.claim(this.fence, LEASE_SEC);
    if (turn === undefined) {
      this.behind = 0;
      this.turn = undefined;
      return false;
    }
    this.fence = turn.fence;
    this.turn = { fence: turn.fence, solid: Number(turn.block_number) };
    await this.rates.record();
    await this.book.decideWaiting(turn.fence);
    const height = await this.blocks.height();
    const from = Number(turn.block_number) + 1;
    const to = Math.min(height, from + BLOCKS_AT_ONCE - 1);
    this.behind = Math.max(0, height - from + 1);
    // After the height: whoever was paid in a block that is solid by now had the address before.
    await this.loadAddresses();
    if (to < from) return false;
    const reading = Array.from({ length: to - from + 1 }, (_, index) => this.readBlock(from + index));
    let before = turn.block_id;
    for (const block of reading) {
      const read = await block;
      if (read instanceof Error) throw read;
      // A final block is never reverted: the nodes are of another chain than those it was read from.
      if (read.parentId !== before) {
        throw new ChainUnavailableError(`a solid block ${read.number.toString()} after ${before}`, []);
      }
      before = read.id;
      if (!(await this.book.takeIn(read, turn.fence, LEASE_SEC))) return false;
      this.behind -= 1;
      this.turn = { fence: turn.fence, solid: read.number };
      this.read.inc();
    }
    return to < height;
  }

  /** Notes what is paid in blocks that are not solid yet. Throws ChainUnavailableError. */
  async lookAhead(): Promise<void> {
    if (this.turn === undefined || this.behind > 0) return;
    await this.sightings.look(this.turn.fence, this.turn.solid, (address) => this.addresses.has(address));
  }

  /** Errors as values: those of later blocks may come before anybody waits for them. */
  private async readBlock(number: number): Promise<WitnessedBlock | Error> {
    try {
      return await this.blocks.read(number, (address) => this.addresses.has(address));
    } catch (error) {
      return error instanceof Error ? error : new Error(messageOf(error));
    }
  }

  /** All of them, when there are more than before: addresses are only ever added. */
  private async loadAddresses(): Promise<void> {
    const [row] = await this.database.query<{ count: number }>(COUNT_ADDRESSES);
    if (row?.count === this.addresses.size) return;
    const rows = await this.database.query<{ address: string }>(ADDRESSES);
    this.addresses = new Set(rows.map(({ address }) => address));
  }
}

const COUNT_ADDRESSES = {
  name: 'count_deposit_addresses',
  text: 'SELECT count(*)::integer AS count FROM deposit_address',
};
