/**
 * The worker process: delegates, settles and reclaims due orders from Postgres. It may be killed at any moment; another
 * worker continues its work.
 */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { withDeadline } from '../../platform/support/clock.js';
import { ADMIN_PORTS, readConfig } from '../../platform/config/config.js';
import { REFILL_PLACES } from '../../modules/auto-delegations/crash-places.js';
import { Refills } from '../../modules/auto-delegations/refills.js';
import { BlockFollower } from '../../platform/blocks/block-follower.js';
import { DEPOSIT_PLACES } from '../../modules/deposits/crash-places.js';
import { DepositGauges } from '../../modules/deposits/deposit-gauges.js';
import { DepositTokens } from '../../modules/deposits/deposit-tokens.js';
import { TokenWatch } from '../../modules/deposits/token-watch.js';
import { crashTrapOf } from '../../platform/support/crash-point.js';
import { failStart } from '../../platform/support/fatal.js';
import { ExplanationAnswers } from '../../modules/explain/explanation-answers.js';
import { WORKER_PLACES } from '../../modules/fulfilment/crash-places.js';
import { FulfilmentLoop } from '../../modules/fulfilment/loop/fulfilment-loop.js';
import { WorkerLoops } from '../../modules/fulfilment/worker-loops.js';
import { assertExpiration } from '../../modules/pool/signer-expiration.js';
import { openAdmin } from '../../platform/observability/admin.js';
import { createLogger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { closeApp, Stopping } from '../../platform/observability/shutdown.js';
import { Sealers } from '../../platform/support/sealers.js';
import { aboutNodes } from '../../platform/chain/about-nodes.js';
import { Signer } from '../../platform/chain/keys.js';
import { requireNativeSignatures } from '../../platform/chain/native-signatures.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Database } from '../../platform/database/database.js';
import { aboutDatabase, checkUsable } from '../../platform/database/database-checks.js';
import { STATEMENT_PLACES } from '../../modules/statements/crash-places.js';
import { StatementClosing } from '../../modules/statements/statement-closing.js';
import { watchDatabase } from '../../platform/database/database-gauges.js';
import { TEST_ORDER_PLACES } from '../../modules/test-projects/crash-places.js';
import { TestOrders } from '../../modules/test-projects/test-orders.js';
import { WorkerModule } from './worker.module.js';
import { setTrap } from '../../platform/database/crash-places.js';
import { WebhookGauges } from '../../modules/webhooks/webhook-gauges.js';

const PLACES = {
  ...{ ...WORKER_PLACES, ...DEPOSIT_PLACES, ...STATEMENT_PLACES },
  ...{ ...REFILL_PLACES, ...TEST_ORDER_PLACES },
};

async function start(): Promise<void> {
  const config = readConfig(process.env, 'worker');
  if (!config.worker.allowSlowSignatures) requireNativeSignatures();
  const trap = crashTrapOf(config.worker.crashAt);
  const log = createLogger(config);
  const stopping = new Stopping(log);
  const app = await NestFactory.createApplicationContext(WorkerModule.for(config, log), {
    logger: false,
    abortOnError: false,
  });
  await app.get(DepositTokens).assertSetting();
  await assertExpiration(app.get(Signer), config.chain.expirationSec);
  setTrap(PLACES, app, trap);
  const fulfilment = app.get(FulfilmentLoop);
  const database = app.get(Database);
  const { held } = app.get(Sealers);
  const { pool } = app.get(TronClient);
  const metrics = app.get(Metrics);
  metrics.collectDefaults();
  watchDatabase(metrics.registry, database);
  const admin = await openAdmin({
    host: config.http.adminHost,
    port: config.http.adminPort ?? ADMIN_PORTS.worker,
    metrics,
    checks: {
      database: () => checkUsable(database, held),
      working: stopping.check,
      sweep: async () => {
        if (fulfilment.isSweepLate) throw new Error('the sweep stands still');
        return Promise.resolve();
      },
      follower: async () => {
        if (fulfilment.isBehind) throw new Error('the head is known, but its blocks are not recorded');
        return Promise.resolve();
      },
    },
    about: () => ({ ...aboutDatabase(database), ...aboutNodes(pool.nodes) }),
    log,
  });
  // The chain is searched for acts that the records may lack before anything is sent.
  app.get(BlockFollower).start();
  await app.get(WorkerLoops).start();
  app.get(Refills).start();
  app.get(DepositGauges).start();
  app.get(TokenWatch).start();
  app.get(WebhookGauges).start();
  app.get(StatementClosing).start();
  app.get(ExplanationAnswers).start();
  app.get(TestOrders).start();
  log.info({ admin: admin.address() }, 'working');
  // Work that does not finish in time is cut off by the process's end, as in a crash.
  stopping.onSignal(() => withDeadline(closeApp(app, log), config.worker.stopSec * 1000, 'the stop'));
}

start().catch(failStart);
