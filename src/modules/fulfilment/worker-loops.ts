/**
 * Starts the tasks of orders on request, since tests and benches need only some of them. They stop when the application
 * closes, before any connection does; Numberer and Pruning stop by themselves.
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { Repeater } from '../../platform/support/repeat.js';
import { Numberer } from '../events/numberer.js';
import { Log } from '../../platform/observability/logger.js';
import { Reconciler } from '../reconciliation/reconciler.js';
import { FulfilmentGauges } from './fulfilment-gauges.js';
import { FulfilmentLoop } from './loop/fulfilment-loop.js';
import { OrdersProcessor } from './loop/orders.processor.js';
import { Pruning } from './loop/pruning.js';
import { WalletLoops } from './wallet-loops.js';

/** Limit of the start's wait for the first reconciliation. Then the reconciliation continues beside the work. */
const FIRST_RECONCILING_MS = 5000;

@Injectable()
export class WorkerLoops implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly reconcileRepeater: Repeater;

  constructor(
    private readonly fulfilmentLoop: FulfilmentLoop,
    private readonly ordersProcessor: OrdersProcessor,
    private readonly fulfilmentGauges: FulfilmentGauges,
    private readonly pruning: Pruning,
    private readonly numberer: Numberer,
    private readonly walletLoops: WalletLoops,
    reconciler: Reconciler,
    log: Log,
  ) {
    this.reconcileRepeater = new Repeater({
      run: () => reconciler.reconcile(),
      retryMs: 5000,
      onFailure: (err) => {
        log.error({ err }, 'failed to reconcile records');
      },
    });
  }

  async start(): Promise<void> {
    // Before anything is sent: actions that a restored backup does not know of must not be repeated.
    const looked = this.reconcileRepeater.start();
    await withDeadline(looked, FIRST_RECONCILING_MS, 'the first look at the records').catch(() => undefined);
    this.fulfilmentLoop.start();
    this.ordersProcessor.start();
    this.walletLoops.start();
    void this.fulfilmentGauges.start();
    this.pruning.start();
    this.numberer.start();
  }

  /** Stops claiming. Nest calls this hook in all modules before it waits for any of them. */
  onModuleDestroy(): void {
    this.fulfilmentLoop.stopClaiming();
    this.walletLoops.end();
    this.reconcileRepeater.end();
  }

  /**
   * Waits without a limit, since connections close under any task that continues after it. The process itself ends in
   * time, and unfinished work is left as in a crash.
   */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([
      this.fulfilmentLoop.stop(),
      this.walletLoops.stop(),
      this.fulfilmentGauges.stop(),
      this.reconcileRepeater.stop(),
    ]);
  }
}
