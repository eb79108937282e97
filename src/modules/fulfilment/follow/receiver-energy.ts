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
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { Log } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { Database } from '../../../platform/database/database.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';

/** Limits of concurrent blocks and of orders that wait. Further ones are skipped. */
const CONCURRENT_MAX = 4;
const WAITING_MAX = 500;
/** Concurrent reads of the receivers of one block. */
const READS_MAX = 2;
/** Readings before a send are written together. */
const GATHER_MS = 250;
/** Limits of concurrent reads before a send, which no sender waits for, and of orders remembered until their send. */
const CONCURRENT_BEFORE_MAX = 16;
const BEFORE_MAX = 256;
/** A node may learn of the block, or answer at all, a little later. */
const TRIES_MAX = 10;
const RETRY_MS = 1000;

const WRITE_BEFORE = {
  name: 'energy_before',
  text: `INSERT INTO receiver_energy AS e (order_id, before_energy, before_block)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(id, energy, block) ORDER BY id
    ON CONFLICT (order_id) DO UPDATE SET before_energy = excluded.before_energy, before_block = excluded.before_block`,
};

/** Written only while the block that delivered the order is still on record as part of the chain. */
const WRITE_AFTER = {
  name: 'energy_after',
  text: `INSERT INTO receiver_energy AS e (order_id, after_energy, after_block)
    SELECT v.id, v.energy, v.block FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(id, energy, block)
     WHERE EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = v.id AND t.block_id = $4 AND t.status IN ('included', 'solid'))
     ORDER BY v.id
    ON CONFLICT (order_id) DO UPDATE SET after_energy = excluded.after_energy, after_block = excluded.after_block`,
};

const RECEIVERS = {
  name: 'energy_receivers',
  text: `SELECT receive_address AS address, array_agg(id::text) AS ids FROM open_orders
    WHERE id = ANY ($1::bigint[]) AND kind = 'rental' AND status = 'delivered' GROUP BY receive_address`,
};

/** A receiver and its orders. */
interface Receiver {
  readonly address: string;
  readonly ids: readonly string[];
}

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
  /** Readings to be written. */
  private unwritten = new Map<bigint, Reading>();
  private readonly waiting: { readonly orders: number; readonly work: () => Promise<void> }[] = [];
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
      help: 'Readings of a receiver’s energy for its order’s page, by `when` and `outcome` (`late`: after the first send; `left_out`: too many).',
      labelNames: ['when', 'outcome'],
      registers: [metrics.registry],
    });
  }

  /** Starts reads for rentals that have sent nothing yet. */
  startReadsBefore(orders: Iterable<ClaimedOrder>): void {
    for (const { id, kind, status, receiver } of orders) {
      if (kind !== 'rental' || status !== 'reserved') continue;
      if (this.readingBefore >= CONCURRENT_BEFORE_MAX) this.count('before', 'left_out');
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
      if (reading === undefined) continue;
      if (this.unwritten.size >= WAITING_MAX) this.count('before', 'left_out');
      else if (this.unwritten.size > 0 || this.enqueue('before', 1, () => this.writeBefore())) {
        this.unwritten.set(id, reading);
      }
    }
  }

  /** Reads the receivers of orders that `block` delivered, once a node's head has reached it. */
  startReadsAfter(orderIds: readonly bigint[], block: BlockHead): void {
    if (orderIds.length > 0) this.enqueue('after', orderIds.length, () => this.readAfter(orderIds, block));
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

  private async writeBefore(): Promise<void> {
    await sleep(GATHER_MS, this.stopping.signal);
    const rows = [...this.unwritten];
    this.unwritten = new Map();
    await this.database.query(WRITE_BEFORE, [
      rows.map(([id]) => id),
      rows.map(([, { energy }]) => energy),
      rows.map(([, { block }]) => block),
    ]);
  }

  /** Reads each receiver once for all its orders, and writes the answers of a try together. */
  private async readAfter(orderIds: readonly bigint[], block: BlockHead): Promise<void> {
    // An activation has no reading. An order whose block was reverted is delivered again later.
    let left: readonly Receiver[] = await this.database.query<Receiver>(RECEIVERS, [orderIds]);
    for (let tries = 1; left.length > 0 && tries <= TRIES_MAX && !this.stopping.signal.aborted; tries += 1) {
      if (tries > 1) await sleep(RETRY_MS, this.stopping.signal);
      left = await this.tryReadAfter(left, block);
    }
    this.count('after', 'unanswered', ordersOf(left));
  }

  /** Returns the receivers that no node answered for. */
  private async tryReadAfter(receivers: readonly Receiver[], block: BlockHead): Promise<Receiver[]> {
    const left: Receiver[] = [];
    const read: { readonly id: string; readonly reading: Reading }[] = [];
    await forEachConcurrently(receivers, READS_MAX, async (receiver) => {
      const reading = await this.readOnce(receiver.address, block.number);
      if (reading === undefined) left.push(receiver);
      else read.push(...receiver.ids.map((id) => ({ id, reading })));
    });
    if (read.length > 0) {
      const columns = [read.map(({ id }) => id), read.map(({ reading }) => reading.energy)];
      const blocks = read.map(({ reading }) => reading.block);
      await this.database.query(WRITE_AFTER, [...columns, blocks, Buffer.from(block.id, 'hex')]);
      this.count('after', 'read', read.length);
    }
    return left;
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

  /** Returns false if it is left out. */
  private enqueue(when: 'before' | 'after', orders: number, work: () => Promise<void>): boolean {
    const waiting = this.waiting.reduce((sum, each) => sum + each.orders, 0);
    if (this.stopping.signal.aborted || waiting >= WAITING_MAX) {
      this.count(when, 'left_out', orders);
      return false;
    }
    this.waiting.push({ orders, work });
    this.startNext();
    return true;
  }

  private startNext(): void {
    while (this.running.size < CONCURRENT_MAX) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.run(next.work);
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

  private count(when: 'before' | 'after', outcome: 'read' | 'late' | 'unanswered' | 'left_out', orders = 1): void {
    this.readings.inc({ when, outcome }, orders);
  }
}

const ordersOf = (receivers: readonly Receiver[]): number => receivers.reduce((sum, { ids }) => sum + ids.length, 0);
