/**
 * The API process. Starts without Redis or the chain; refuses to start with a wrong setting, without the database, or
 * with a schema older than the code. On SIGTERM it reports not ready, serves until the load balancer has noticed, stops
 * accepting, finishes requests in progress, and closes.
 */
import 'reflect-metadata';
import { API_PLACES } from './api-crash-places.js';
import { ApiModule } from './api.module.js';
import { ADMIN_PORTS, readConfig } from '../../platform/config/config.js';
import { watchPrices } from './api-gauges.js';
import { sleep } from '../../platform/support/clock.js';
import { crashTrapOf } from '../../platform/support/crash-point.js';
import { failStart, opened } from '../../platform/support/fatal.js';
import { HeldReads } from '../../modules/events/held-reads.js';
import { openAdmin } from '../../platform/observability/admin.js';
import { createLogger, NestLog } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { createHttpApp, drain, leave, serverOf } from '../../platform/http/pipeline/server.js';
import { closeApp, Stopping } from '../../platform/observability/shutdown.js';
import { OrderWaits } from '../../modules/orders/order-waits.js';
import { Sealers } from '../../platform/support/sealers.js';
import { aboutNodes } from '../../platform/chain/about-nodes.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Database } from '../../platform/database/database.js';
import { aboutDatabase, checkUsable } from '../../platform/database/database-checks.js';
import { watchDatabase } from '../../platform/database/database-gauges.js';
import { Replica } from '../../platform/database/replica.js';
import { watchReplica } from '../../platform/database/replica-gauges.js';
import { setTrap } from '../../platform/database/crash-places.js';

/** Time for requests in progress to finish after SIGTERM. */
const DRAIN_MS = 20_000;

async function start(): Promise<void> {
  const config = readConfig(process.env, 'api');
  const trap = crashTrapOf(config.worker.crashAt);
  const log = createLogger(config);
  const stopping = new Stopping(log);
  const app = await createHttpApp(ApiModule.for(config, log), config);
  setTrap(API_PLACES, app, trap);
  const metrics = app.get(Metrics);
  metrics.collectDefaults();
  const server = serverOf(app);
  stopping.onSignal(async () => {
    // Callers that wait get their answer now, so that none of them is cut off.
    app.get(OrderWaits).releaseAll();
    app.get(HeldReads).releaseAll();
    leave(server);
    // The admin port answers until the end, so that probes see a stopping process instead of a missing one.
    await sleep(config.http.drainDelaySec * 1000);
    await drain(server, DRAIN_MS);
    await closeApp(app, log);
  });
  await opened(app.listen(config.http.port, config.http.host), { port: 'PORT', host: 'HOST' });
  // Set only now: errors before this point are logged once, by `failStart`.
  app.useLogger(new NestLog(log));
  const database = app.get(Database);
  const { held } = app.get(Sealers);
  const { pool } = app.get(TronClient);
  watchDatabase(metrics.registry, database);
  watchReplica(metrics.registry, app.get(Replica));
  watchPrices(app, metrics.registry);
  const admin = await openAdmin({
    host: config.http.adminHost,
    port: config.http.adminPort ?? ADMIN_PORTS.api,
    metrics,
    // Checks neither Redis nor the chain: without them, orders are still accepted and quotes priced from cached state.
    checks: { database: () => checkUsable(database, held), serving: stopping.check },
    about: () => ({ ...aboutDatabase(database), ...aboutNodes(pool.nodes) }),
    log,
  });
  log.info({ address: server.address(), admin: admin.address() }, 'listening');
}

start().catch(failStart);
