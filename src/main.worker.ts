/**
 * The worker process: delegates, settles and reclaims what Postgres says is due. May be killed at any moment; another
 * one, or the next one, goes on where it was.
 */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { withDeadline } from './base/clock.js';
import { ADMIN_PORTS, readConfig } from './config/config.js';
import { armCrashPoint } from './base/crash-point.js';
import { messageOf } from './domain/errors.js';
import { failStart } from './base/fatal.js';
import { OrdersProcessor } from './fulfilment/loop/orders.processor.js';
import { Pruning } from './fulfilment/loop/pruning.js';
import { Reconciler } from './reconciliation/reconciler.js';
import { FulfilmentLoop } from './fulfilment/loop/fulfilment-loop.js';
import { FulfilmentGauges } from './fulfilment/fulfilment-gauges.js';
import { WalletHealth } from './fulfilment/send/wallet-health.js';
import { openAdmin } from './observability/admin.js';
import { createLogger, type Log } from './observability/logger.js';
import { Metrics } from './observability/metrics.js';
import { Stopping } from './observability/shutdown.js';
import { Sealers } from './base/sealers.js';
import { PoolSync } from './pool/pool-sync.js';
import { Repeater } from './base/repeat.js';
import { Database } from './store/database.js';
import { checkUsable } from './store/database-checks.js';
import { watchDatabase } from './store/database-gauges.js';
import { WorkerModule } from './worker.module.js';

/** A sweep older than this means that the worker is stuck, whatever it says of itself. */
const SWEEP_AGE_MAX_SEC = 10;
/** How soon the next wallet is looked at when none was due. */
const POOL_REST_MS = 250;
/** How long the work waits for the first look at the books; longer than that it goes on beside. */
const FIRST_RECONCILING_MS = 5000;

function repeatReconciling(reconciler: Reconciler, log: Log): Repeater {
  return new Repeater({
    run: () => reconciler.look(),
    retryMs: 5000,
    onFailure: (err) => {
      log.error({ err }, 'the books could not be reconciled');
    },
  });
}

/** How often it is seen whether a wallet that could not deliver can again. */
const HEALTH_REST_MS = 1000;

function repeatHealth(health: WalletHealth, log: Log): Repeater {
  return new Repeater({
    run: async () => {
      await health.look();
      return HEALTH_REST_MS;
    },
    retryMs: HEALTH_REST_MS,
    onFailure: (error) => {
      log.warn({ fault: messageOf(error) }, 'the wallets that cannot deliver could not be looked at');
    },
  });
}

/** Of the time a stop may take, what closing the queue and the connections may need. */
const CLOSING_MS = 4_000;

async function start(): Promise<void> {
  const config = readConfig(process.env, 'worker');
  armCrashPoint(config.worker.crashAt);
  const log = createLogger(config);
  const stopping = new Stopping(log);
  const app = await NestFactory.createApplicationContext(WorkerModule.for(config, log), {
    logger: false,
    abortOnError: false,
  });
  const [runner, processor, sync] = [app.get(FulfilmentLoop), app.get(OrdersProcessor), app.get(PoolSync)];
  const pool = new Repeater({
    run: async () => ((await sync.syncNext()) ? 0 : POOL_REST_MS),
    retryMs: 1000,
    onFailure: (error) => {
      log.warn({ fault: messageOf(error) }, 'a wallet could not be read');
    },
  });
  const reconciling = repeatReconciling(app.get(Reconciler), log);
  const health = repeatHealth(app.get(WalletHealth), log);
  const database = app.get(Database);
  const { held } = app.get(Sealers);
  const metrics = app.get(Metrics);
  metrics.collectDefaults();
  watchDatabase(metrics.registry, database);
  const [vitals, pruning] = [app.get(FulfilmentGauges), app.get(Pruning)];
  const admin = await openAdmin({
    host: config.http.adminHost,
    port: config.http.adminPort ?? ADMIN_PORTS.worker,
    metrics,
    checks: {
      database: () => checkUsable(database, held),
      working: stopping.check,
      sweep: async () => {
        if (runner.sweepAgeSec > SWEEP_AGE_MAX_SEC) throw new Error('the sweep stands still');
        return Promise.resolve();
      },
      follower: async () => {
        if (runner.isBehind) throw new Error('the head is known, but its blocks are not recorded');
        return Promise.resolve();
      },
    },
    log,
  });
  // Before anything is sent: what a restored backup does not know of must not be done again unseen.
  await withDeadline(reconciling.start(), FIRST_RECONCILING_MS, 'the first look at the books').catch(() => undefined);
  runner.start();
  processor.start();
  void pool.start();
  void health.start();
  void vitals.start();
  pruning.start();
  log.info({ admin: admin.address() }, 'working');

  const stopMs = config.worker.stopSec * 1000;
  const workMs = Math.max(1000, stopMs - CLOSING_MS);
  const stop = async (): Promise<void> => {
    // Ours first, and in order: the framework would close connections under running work. Work that is not over in
    // time is left as it is by the end of the process, connections and all, as in a crash.
    await processor.stop();
    await Promise.all([
      runner.stop(workMs),
      pool.stop(),
      health.stop(),
      vitals.stop(),
      pruning.stop(),
      withDeadline(reconciling.stop(), workMs, 'the look at the books'),
    ]);
    await app.close();
  };
  stopping.onSignal(() => withDeadline(stop(), stopMs, 'the stop'));
}

start().catch(failStart);
