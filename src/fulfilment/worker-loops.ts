/**
 * All that a worker does again and again. Begins when asked to, since a test or a bench wants parts of it; ends when
 * the application closes, before any connection does.
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { withDeadline } from '../base/clock.js';
import { Repeater } from '../base/repeat.js';
import { messageOf } from '../domain/errors.js';
import { Numberer } from '../events/numberer.js';
import { Log } from '../observability/logger.js';
import { PoolSync } from '../pool/pool-sync.js';
import { Reconciler } from '../reconciliation/reconciler.js';
import { FulfilmentGauges } from './fulfilment-gauges.js';
import { FulfilmentLoop } from './loop/fulfilment-loop.js';
import { OrdersProcessor } from './loop/orders.processor.js';
import { Pruning } from './loop/pruning.js';
import { WalletHealth } from './send/wallet-health.js';

/** How soon the next wallet is read when none was due. */
const POOL_REST_MS = 250;
/** How often it is seen whether a wallet that could not deliver can again. */
const HEALTH_REST_MS = 1000;
/** How long the work waits for the first look at the records; longer than that it goes on beside. */
const FIRST_RECONCILING_MS = 5000;

@Injectable()
export class WorkerLoops implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly reconciling: Repeater;
  private readonly pool: Repeater;
  private readonly health: Repeater;

  constructor(
    private readonly fulfilment: FulfilmentLoop,
    private readonly processor: OrdersProcessor,
    private readonly gauges: FulfilmentGauges,
    private readonly pruning: Pruning,
    private readonly numberer: Numberer,
    reconciler: Reconciler,
    sync: PoolSync,
    wallets: WalletHealth,
    log: Log,
  ) {
    this.reconciling = new Repeater({
      run: () => reconciler.look(),
      retryMs: 5000,
      onFailure: (err) => {
        log.error({ err }, 'the records could not be reconciled');
      },
    });
    this.pool = new Repeater({
      run: async () => ((await sync.syncNext()) ? 0 : POOL_REST_MS),
      retryMs: 1000,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'a wallet could not be read');
      },
    });
    this.health = new Repeater({
      run: async () => {
        await wallets.look();
        return HEALTH_REST_MS;
      },
      retryMs: HEALTH_REST_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'the wallets that cannot deliver could not be checked');
      },
    });
  }

  async start(): Promise<void> {
    // Before anything is sent: what a restored backup does not know of must not be done again unseen.
    const looked = this.reconciling.start();
    await withDeadline(looked, FIRST_RECONCILING_MS, 'the first look at the records').catch(() => undefined);
    this.fulfilment.start();
    this.processor.start();
    void this.pool.start();
    void this.health.start();
    void this.gauges.start();
    this.pruning.start();
    this.numberer.start();
  }

  /** Claims nothing more. Nest calls this hook of all modules before it waits for the work of any. */
  onModuleDestroy(): void {
    this.fulfilment.end();
    this.pruning.end();
    this.numberer.end();
    for (const each of [this.pool, this.health, this.reconciling]) each.end();
  }

  /**
   * Without a limit of its own, since connections close under whatever goes on after it: the process ends in time, with
   * work that is not over left as it is, as in a crash.
   */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([
      this.fulfilment.stop(),
      this.pool.stop(),
      this.health.stop(),
      this.gauges.stop(),
      this.pruning.stop(),
      this.numberer.stop(),
      this.reconciling.stop(),
    ]);
  }
}
