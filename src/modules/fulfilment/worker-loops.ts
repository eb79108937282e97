/**
 * The worker's repeating tasks. They start on request, since tests and benches need only some of them. They stop when
 * the application closes, before any connection does.
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { Repeater } from '../../platform/support/repeat.js';
import { messageOf } from '../../domain/errors.js';
import { Numberer } from '../events/numberer.js';
import { Log } from '../../platform/observability/logger.js';
import { PoolSync } from '../pool/pool-sync.js';
import { Reconciler } from '../reconciliation/reconciler.js';
import { FulfilmentGauges } from './fulfilment-gauges.js';
import { FulfilmentLoop } from './loop/fulfilment-loop.js';
import { OrdersProcessor } from './loop/orders.processor.js';
import { Pruning } from './loop/pruning.js';
import { WalletHealth } from './send/wallet-health.js';

/** Pause when no wallet was due to be read. */
const POOL_REST_MS = 250;
/** Interval of checks for paused wallets that can deliver again. */
const HEALTH_REST_MS = 1000;
/** Limit of the start's wait for the first reconciliation. Then the reconciliation continues beside the work. */
const FIRST_RECONCILING_MS = 5000;

@Injectable()
export class WorkerLoops implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly reconcileRepeater: Repeater;
  private readonly poolRepeater: Repeater;
  private readonly healthRepeater: Repeater;

  constructor(
    private readonly fulfilmentLoop: FulfilmentLoop,
    private readonly ordersProcessor: OrdersProcessor,
    private readonly fulfilmentGauges: FulfilmentGauges,
    private readonly pruning: Pruning,
    private readonly numberer: Numberer,
    reconciler: Reconciler,
    sync: PoolSync,
    wallets: WalletHealth,
    log: Log,
  ) {
    this.reconcileRepeater = new Repeater({
      run: () => reconciler.reconcile(),
      retryMs: 5000,
      onFailure: (err) => {
        log.error({ err }, 'failed to reconcile records');
      },
    });
    this.poolRepeater = new Repeater({
      run: async () => ((await sync.syncNext()) ? 0 : POOL_REST_MS),
      retryMs: 1000,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'failed to read a wallet');
      },
    });
    this.healthRepeater = new Repeater({
      run: async () => {
        await wallets.resumeWallets();
        return HEALTH_REST_MS;
      },
      retryMs: HEALTH_REST_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'failed to check wallets that cannot deliver');
      },
    });
  }

  async start(): Promise<void> {
    // Before anything is sent: actions that a restored backup does not know of must not be repeated.
    const looked = this.reconcileRepeater.start();
    await withDeadline(looked, FIRST_RECONCILING_MS, 'the first look at the records').catch(() => undefined);
    this.fulfilmentLoop.start();
    this.ordersProcessor.start();
    void this.poolRepeater.start();
    void this.healthRepeater.start();
    void this.fulfilmentGauges.start();
    this.pruning.start();
    this.numberer.start();
  }

  /** Stops claiming. Nest calls this hook in all modules before it waits for any of them. */
  onModuleDestroy(): void {
    this.fulfilmentLoop.stopClaiming();
    this.pruning.end();
    this.numberer.end();
    for (const each of [this.poolRepeater, this.healthRepeater, this.reconcileRepeater]) each.end();
  }

  /**
   * Waits without a limit, since connections close under any task that continues after it. The process itself ends in
   * time, and unfinished work is left as in a crash.
   */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([
      this.fulfilmentLoop.stop(),
      this.poolRepeater.stop(),
      this.healthRepeater.stop(),
      this.fulfilmentGauges.stop(),
      this.pruning.stop(),
      this.numberer.stop(),
      this.reconcileRepeater.stop(),
    ]);
  }
}
