/**
 * The sender process: delivers events to webhooks. Because it connects to foreign hosts, it holds only the key of their
 * secrets, and a login that reads events and endpoints. It may be killed at any moment; another continues its work.
 */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { withDeadline } from '../../platform/support/clock.js';
import { crashTrapOf } from '../../platform/support/crash-point.js';
import { failStart } from '../../platform/support/fatal.js';
import { Sealers } from '../../platform/support/sealers.js';
import { readSenderConfig } from '../../platform/config/sender-config.js';
import { openAdmin } from '../../platform/observability/admin.js';
import { createLogger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { closeApp, Stopping } from '../../platform/observability/shutdown.js';
import { SenderModule } from './sender.module.js';
import { SENDER_PLACES } from '../../modules/sender/crash-places.js';
import { EndpointWatch } from '../../modules/sender/endpoint-watch.js';
import { SenderLoop } from '../../modules/sender/sender-loop.js';
import { Database } from '../../platform/database/database.js';
import { aboutDatabase, checkUsable } from '../../platform/database/database-checks.js';
import { watchDatabase } from '../../platform/database/database-gauges.js';
import { setTrap } from '../../platform/database/crash-places.js';

/** An older pass means that the sender is stuck, regardless of its own reports. */
const LOOK_AGE_MAX_SEC = 10;

async function start(): Promise<void> {
  const config = readSenderConfig(process.env);
  const trap = crashTrapOf(config.crashAt);
  const log = createLogger(config);
  const stopping = new Stopping(log);
  const app = await NestFactory.createApplicationContext(SenderModule.for(config, log), {
    logger: false,
    abortOnError: false,
  });
  setTrap(SENDER_PLACES, app, trap);
  const loop = app.get(SenderLoop);
  const database = app.get(Database);
  const { held } = app.get(Sealers);
  const metrics = app.get(Metrics);
  metrics.collectDefaults();
  watchDatabase(metrics.registry, database);
  const admin = await openAdmin({
    host: config.http.adminHost,
    port: config.http.adminPort,
    metrics,
    checks: {
      database: () => checkUsable(database, held),
      working: stopping.check,
      look: async () => {
        if (loop.readAgeSec > LOOK_AGE_MAX_SEC) throw new Error('what is due is not read');
        return Promise.resolve();
      },
    },
    about: () => aboutDatabase(database),
    log,
  });
  loop.start();
  app.get(EndpointWatch).start();
  log.info({ admin: admin.address() }, 'sending');
  stopping.onSignal(() => withDeadline(closeApp(app, log), config.sender.stopSec * 1000, 'the stop'));
}

start().catch(failStart);
