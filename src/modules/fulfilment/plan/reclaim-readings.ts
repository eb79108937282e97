/**
 * Reads a receiver's energy before a reclaim is built if other rentals of it continue. The reading later shows the used
 * energy that the reclaim left behind. Bounded, and shared by all reclaims of a receiver in a pass.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { ChainUnavailableError, NodeError } from '../../../platform/chain/errors.js';
import { resourcesOf, TronClient } from '../../../platform/chain/tron.client.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import type { EnergyRatio } from '../../pool/energy-ratio.js';
import { Database } from '../../../platform/database/database.js';
import type { View } from '../follow/chain-view.js';

/** Subject of the node request. */
export const RECEIVER_USAGE = 'the energy of a receiver';
/** Answers are short. The request budget that all processes share limits their rate. */
const READS_MAX = 16;
/**
 * Time that a reclaim waits for a reading, by the chain's clock. Then it is built without one, because it holds
 * capacity.
 */
const WAIT_MAX_MS = 60_000;

/** A rental that has ended does not count as another one: it is reclaimed too. */
const BESIDE = {
  name: 'receivers_with_other_rentals',
  text: `SELECT v.receiver FROM unnest($1::text[]) AS v(receiver) WHERE EXISTS (
    SELECT FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = v.receiver
        AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      JOIN open_orders o ON o.id = l.order_id
     WHERE l.kind = 'rental' AND NOT o.undoing AND (o.ends_at IS NULL OR o.ends_at > $2))`,
};

/** A receiver's energy as one node returned it: at `block` or a later one, pending transactions included. */
export interface ReceiverReading extends EnergyRatio {
  readonly used: bigint;
  readonly limit: bigint;
  readonly block: number;
}

export interface Readings {
  readonly read: ReadonlyMap<string, ReceiverReading>;
  /** Receivers that no node answered for: their reclaims wait. */
  readonly unread: ReadonlySet<string>;
}

@Injectable()
export class ReclaimReadings {
  private readonly readings: Counter<'outcome'>;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.readings = new Counter({
      name: 'reclaim_usage_readings_total',
      help: 'Readings of a receiver’s energy before a reclaim, by `outcome`.',
      labelNames: ['outcome'],
      registers: [metrics.registry],
    });
  }

  /** Reads the receivers that have other, continuing rentals. */
  async read(receivers: readonly string[], view: View, clockMs: number): Promise<Readings> {
    const distinct = [...new Set(receivers)];
    const read = new Map<string, ReceiverReading>();
    const unread = new Set<string>();
    if (distinct.length === 0) return { read, unread };
    const rows = await this.database.query<{ receiver: string }>(BESIDE, [distinct, new Date(clockMs)]);
    await forEachConcurrently(rows, READS_MAX, async ({ receiver }) => {
      const reading = await this.readOne(receiver, view);
      this.readings.inc({ outcome: reading === undefined ? 'unanswered' : 'read' });
      if (reading === undefined) unread.add(receiver);
      else read.set(receiver, reading);
    });
    return { read, unread };
  }

  /** Returns true if a reclaim has waited long enough and is built without a reading. */
  isPatienceOver(lateMs: number): boolean {
    return lateMs > WAIT_MAX_MS;
  }

  private async readOne(receiver: string, view: View): Promise<ReceiverReading | undefined> {
    try {
      return await this.client.pool.ask(RECEIVER_USAGE, async (node) => {
        const known = node.head?.number ?? 0;
        const block = known >= view.head.number ? known : (await node.readHead()).number;
        if (block < view.head.number) {
          throw new NodeError(node.name, 'unhealthy', 'its head is behind the one that was followed');
        }
        const { energyUsed, energyLimit, totalEnergyLimit, totalEnergyWeight } = await resourcesOf(node, receiver);
        return { used: energyUsed, limit: energyLimit, totalEnergyLimit, totalEnergyWeight, block };
      });
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.log.warn({ fault: messageOf(error), receiver }, 'failed to read the energy of a receiver before a reclaim');
      return undefined;
    }
  }
}
