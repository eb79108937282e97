/**
 * Deletes old rows in small batches, oldest first: broadcast answers, refused requests, old idle records of wallets,
 * expired nonces, explanations of consoles and old orders of test projects. Also ends event logs at their oldest events. Never deletes ledger
 * entries, or orders, moves, legs and chain transactions of real sales. Those are kept for ever, and move to the
 * archive once long over.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { pruneNonces } from '../../auth/nonce-retention.js';
import { Config } from '../../../platform/config/config.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { pruneEvents } from '../../events/retention.js';
import { pruneExplanations } from '../../explain/retention.js';
import { OrderArchive } from '../../orders/order-archive.js';
import { pruneWalletDays } from '../../pool/wallet-days.js';
import { pruneRequests } from '../../requests/retention.js';
import { pruneTestOrders } from '../../test-projects/retention.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { RepeatedTask } from '../../../platform/support/repeated-task.js';
import { confirmedNow } from '../../../platform/database/confirmed-clock.js';
import { Database } from '../../../platform/database/database.js';
import { oldestIds } from '../../../platform/database/retention-sql.js';
import { closeReadings } from './receiver-usage.js';

/** Small enough for a statement to take milliseconds, so that other sessions do not wait. */
const BATCH = 1000;
/** About twenty rows each, with all dependent rows. */
const TEST_ORDERS = 100;
/** Five rows each, with legs and transactions. */
const ARCHIVED_ORDERS = 200;
const IDLE_MS = 60_000;
const BUSY_MS = 100;

const OLDEST_BROADCASTS = oldestIds('broadcast', 'sent_at');
const PRUNE_BROADCASTS = {
  name: 'prune_broadcasts',
  text: `DELETE FROM broadcast WHERE id = ANY (ARRAY(${OLDEST_BROADCASTS})) RETURNING id`,
};

@Injectable()
export class Pruning extends RepeatedTask {
  private readonly pruned: Counter<'table'>;
  private readonly archived: Counter;
  private readonly archive: OrderArchive;

  constructor(
    private readonly database: Database,
    private readonly config: Config,
    metrics: Metrics,
    log: Log,
  ) {
    super(IDLE_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to delete old rows');
    });
    this.pruned = new Counter({
      name: 'pruned_rows_total',
      help: 'Rows past their retention, by `table`.',
      labelNames: ['table'],
      registers: [metrics.registry],
    });
    this.archived = new Counter({
      name: 'archived_orders_total',
      help: 'Ended orders moved to the archive.',
      registers: [metrics.registry],
    });
    this.archive = new OrderArchive(database);
  }

  protected override async runOnce(): Promise<number> {
    return (await this.pruneOnce()) < BATCH ? IDLE_MS : BUSY_MS;
  }

  /** Runs one bounded step. Returns the largest number of rows that it took from one table. */
  async pruneOnce(): Promise<number> {
    const { broadcastsDays, eventsDays } = this.config.retention;
    const broadcasts = broadcastsDays === 0 ? 0 : await this.pruneBroadcasts(broadcastsDays);
    this.pruned.inc({ table: 'broadcast' }, broadcasts);
    const events = eventsDays === 0 ? 0 : await pruneEvents(this.database, eventsDays, BATCH);
    this.pruned.inc({ table: 'event' }, events);
    const requests = await pruneRequests(this.database, BATCH);
    this.pruned.inc({ table: 'refused_request' }, requests);
    const nonces = await pruneNonces(this.database, BATCH);
    this.pruned.inc({ table: 'request_nonce' }, nonces);
    const explanations = await pruneExplanations(this.database, BATCH);
    this.pruned.inc({ table: 'explanation_request' }, explanations);
    const days = await pruneWalletDays(this.database, BATCH);
    this.pruned.inc({ table: 'pool_wallet_day' }, days);
    const testOrders = await pruneTestOrders(this.database, TEST_ORDERS);
    this.pruned.inc({ table: 'orders' }, testOrders);
    await closeReadings(this.database, BATCH);
    const isMore = testOrders === TEST_ORDERS || (await this.archiveSome());
    return Math.max(broadcasts, events, requests, nonces, explanations, days, isMore ? BATCH : 0);
  }

  private async pruneBroadcasts(days: number): Promise<number> {
    const now = await confirmedNow(this.database);
    return now === undefined ? 0 : (await this.database.query(PRUNE_BROADCASTS, [days, BATCH, now])).length;
  }

  private async archiveSome(): Promise<boolean> {
    const { ordersDays } = this.config.retention;
    if (ordersDays === 0) return false;
    const { archived, isMore } = await this.archive.step(ordersDays, ARCHIVED_ORDERS);
    this.archived.inc(archived);
    return isMore;
  }
}
