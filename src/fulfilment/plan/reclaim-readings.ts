/**
 * Reads what a receiver has of energy before a reclaim is built, where other rentals of it go on: by it, what the reclaim
 * leaves behind of used energy is known afterwards. Bounded, and shared by all reclaims of a receiver in a pass.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { forEachConcurrently } from '../../base/concurrency.js';
import { ChainUnavailableError, NodeError } from '../../chain/errors.js';
import { resourcesOf, TronClient } from '../../chain/tron.client.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../observability/logger.js';
import { Metrics } from '../../observability/metrics.js';
import type { EnergyRatio } from '../../pool/energy-ratio.js';
import { Database } from '../../store/database.js';
import type { View } from '../follow/chain-view.js';

/** How the question is named. */
export const RECEIVER_USAGE = 'the energy of a receiver';
/** Short answers; the processes' shared request budget limits their rate. */
const READS_MAX = 16;
/** A reclaim waits so long, by the chain's clock, for a reading; then it goes without, since it holds capacity. */
const WAIT_MAX_MS = 60_000;

/** A rental whose end has come is no other one: it is reclaimed too. */
const BESIDE = {
  name: 'receivers_with_other_rentals',
  text: `SELECT v.receiver FROM unnest($1::text[]) AS v(receiver) WHERE EXISTS (
    SELECT FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = v.receiver
        AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      JOIN open_orders o ON o.id = l.order_id
     WHERE l.kind = 'rental' AND NOT o.undoing AND (o.ends_at IS NULL OR o.ends_at > $2))`,
};

/** A receiver's energy as one node showed it: at `block` or a later one, with what was pending there. */
export interface ReceiverReading extends EnergyRatio {
  readonly used: bigint;
  readonly limit: bigint;
  readonly block: number;
}

export interface Readings {
  readonly read: ReadonlyMap<string, ReceiverReading>;
  /** No node answered: reclaims of these receivers wait. */
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
      help: 'Readings of receivers’ energy before a reclaim beside other rentals, by outcome.',
      labelNames: ['outcome'],
      registers: [metrics.registry],
    });
  }

  /** Reads the receivers beside whose reclaims other rentals go on. */
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

  /** Whether a reclaim has waited long enough for a reading, so that it is built without one. */
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
