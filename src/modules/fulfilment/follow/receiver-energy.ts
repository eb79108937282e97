/**
 * Records a receiver's usable energy before the first send of an order and at or after its delivery, for the order's
 * page. Best effort: it decides nothing, delays nothing, and leaves the value out if no node answers in time.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { sleep } from '../../../platform/support/clock.js';
import type { BlockHead } from '../../../platform/chain/block.js';
import { TronClient, usableEnergyAside } from '../../../platform/chain/tron.client.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { Database } from '../../../platform/database/database.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';

/** Limits of concurrent and of waiting reads and writes. Further ones are skipped. */
const AT_ONCE_MAX = 4;
const WAITING_MAX = 500;
/** Limits of concurrent reads before a send, which no sender waits for, and of orders remembered until their send. */
const BEFORE_AT_ONCE_MAX = 16;
const BEFORE_MAX = 256;
/** A node may learn of the block, or answer at all, a little later. */
const TRIES_MAX = 10;
const RETRY_MS = 1000;

const WRITE_BEFORE = `INSERT INTO receiver_energy AS e (order_id, before_energy, before_block) VALUES ($1, $2, $3)
  ON CONFLICT (order_id) DO UPDATE SET before_energy = excluded.before_energy, before_block = excluded.before_block`;

/** Written only while the block that delivered the order is still on record as part of the chain. */
const WRITE_AFTER = `INSERT INTO receiver_energy AS e (order_id, after_energy, after_block)
  SELECT $1::bigint, $2::bigint, $3::bigint
   WHERE EXISTS (SELECT FROM open_chain_tx WHERE order_id = $1 AND block_id = $4 AND status IN ('included', 'solid'))
  ON CONFLICT (order_id) DO UPDATE SET after_energy = excluded.after_energy, after_block = excluded.after_block`;

const RECEIVER = `SELECT receive_address AS address FROM open_orders WHERE id = $1 AND kind = 'rental' AND status = 'delivered'`;

interface Reading {
  readonly energy: bigint;
  /** The node's newest known block at the request. The answer is of this block or a later one. */
  readonly block: number;
}

@Injectable()
export class ReceiverEnergy implements BeforeApplicationShutdown {
  /** Order id → reading; undefined while the read runs. */
  private readonly before = new Map<bigint, Reading | undefined>();
  private readingBefore = 0;
  private readonly waiting: (() => Promise<void>)[] = [];
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly readings: Counter<'when' | 'outcome'>;

  constructor(
    private readonly client: TronClient,
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.readings = new Counter({
      name: 'receiver_energy_readings_total',
      help: 'Readings of a receiver’s energy for its order’s page, by `when` (`before`, `after`) and `outcome`: `read`, `late` (after the first send), `unanswered`, `left_out` (too many).',
      labelNames: ['when', 'outcome'],
      registers: [metrics.registry],
    });
  }

  /** Starts reads for rentals that have sent nothing yet. */
  startReadsBefore(orders: Iterable<ClaimedOrder>): void {
    for (const { id, kind, status, receiver } of orders) {
      if (kind !== 'rental' || status !== 'reserved') continue;
      if (this.readingBefore >= BEFORE_AT_ONCE_MAX) this.count('before', 'left_out');
      else void this.readBefore(id, receiver);
    }
  }

  /**
   * Records the finished readings as the orders' first bytes go out. Later answers are discarded. TRON: a node's answer
   * includes pending transactions, so a later one may already contain our own delegation.
   */
  recordReadsBefore(orders: Iterable<ClaimedOrder>): void {
    for (const { id } of orders) {
      if (!this.before.has(id)) continue;
      const reading = this.before.get(id);
      this.before.delete(id);
      this.count('before', reading === undefined ? 'late' : 'read');
      if (reading !== undefined) {
        this.enqueue('before', () => this.database.query(WRITE_BEFORE, [id, reading.energy, reading.block]));
      }
    }
  }

  /** Reads the receivers of orders that `block` delivered, once a node's head has reached it. */
  startReadsAfter(orderIds: readonly bigint[], block: BlockHead): void {
    for (const id of orderIds) this.enqueue('after', () => this.readAfter(id, block));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    this.waiting.length = 0;
    await Promise.all(this.running);
  }

  private async readBefore(orderId: bigint, receiver: string): Promise<void> {
    this.readingBefore += 1;
    this.remember(orderId, undefined);
    const reading = await this.readOnce(receiver, 0);
    this.readingBefore -= 1;
    if (reading !== undefined && this.before.has(orderId)) this.before.set(orderId, reading);
  }

  /** Bounded, because another worker may send the order, or it may never be sent. */
  private remember(orderId: bigint, reading: Reading | undefined): void {
    this.before.delete(orderId);
    this.before.set(orderId, reading);
    const [oldest] = this.before.keys();
    if (this.before.size > BEFORE_MAX && oldest !== undefined) this.before.delete(oldest);
  }

  private async readAfter(orderId: bigint, block: BlockHead): Promise<void> {
    const [receiver] = await this.database.query<{ address: string }>(RECEIVER, [orderId]);
    // An activation has no reading. An order whose block was reverted is delivered again later.
    if (receiver === undefined) return;
    for (let tries = 1; tries <= TRIES_MAX && !this.stopping.signal.aborted; tries += 1) {
      const reading = await this.readOnce(receiver.address, block.number);
      if (reading !== undefined) {
        await this.database.query(WRITE_AFTER, [orderId, reading.energy, reading.block, Buffer.from(block.id, 'hex')]);
        this.count('after', 'read');
        return;
      }
      await sleep(RETRY_MS, this.stopping.signal);
    }
    this.count('after', 'unanswered');
  }

  /**
   * Returns undefined if no node that has block `from` answers, or while nodes contradict each other. Never rejects.
   */
  private async readOnce(address: string, from: number): Promise<Reading | undefined> {
    const { pool } = this.client;
    const [node] = pool.agreement.dispute === undefined ? pool.healthy() : [];
    const head = node?.head;
    if (node === undefined || head === undefined || head.number < from) return undefined;
    const energy = await usableEnergyAside(node, address).catch(() => undefined);
    return energy === undefined ? undefined : { energy, block: head.number };
  }

  private enqueue(when: 'before' | 'after', work: () => Promise<unknown>): void {
    if (this.stopping.signal.aborted || this.waiting.length >= WAITING_MAX) {
      this.count(when, 'left_out');
      return;
    }
    this.waiting.push(async () => {
      await work();
    });
    this.startNext();
  }

  private startNext(): void {
    while (this.running.size < AT_ONCE_MAX) {
      const work = this.waiting.shift();
      if (work === undefined) return;
      this.run(work);
    }
  }

  private run(work: () => Promise<void>): void {
    const run = work()
      .catch((error: unknown) => {
        this.log.debug({ fault: messageOf(error) }, 'failed to read receiver energy');
      })
      .finally(() => {
        this.running.delete(run);
        this.startNext();
      });
    this.running.add(run);
  }

  private count(when: 'before' | 'after', outcome: 'read' | 'late' | 'unanswered' | 'left_out'): void {
    this.readings.inc({ when, outcome });
  }
}
