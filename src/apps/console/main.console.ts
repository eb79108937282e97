/**
 * The console process, for merchants or for operators. Refuses to start with a wrong setting, without its pages or the
 * database. On SIGTERM it ends open streams, finishes requests in progress, and closes.
 */
import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { Sealers } from '../../platform/support/sealers.js';
import { failStart, opened } from '../../platform/support/fatal.js';
import { readConsoleConfig } from '../../platform/config/console-config.js';
import { ConsoleModule } from './console.module.js';
import { createConsoleApp } from '../../modules/console/console-app.js';
import { SessionStreams } from '../../modules/console/session-streams.js';
import { drain, leave, serverOf } from '../../platform/http/pipeline/server.js';
import { openAdmin } from '../../platform/observability/admin.js';
import { createLogger, NestLog } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { closeApp, Stopping } from '../../platform/observability/shutdown.js';
import { Database } from '../../platform/database/database.js';
import { aboutDatabase, checkRowSecurity, checkUsable } from '../../platform/database/database-checks.js';
import { watchDatabase } from '../../platform/database/database-gauges.js';
import { Replica } from '../../platform/database/replica.js';
import { watchReplica } from '../../platform/database/replica-gauges.js';

/** The pages in the build output, relative to this program's bundle. */
const PAGES_FOLDER = fileURLToPath(new URL('../../packages/console/dist', import.meta.url));

async function start(): Promise<void> {
  const config = readConsoleConfig(process.env);
  const log = createLogger(config);
  const stopping = new Stopping(log);
  const app = await createConsoleApp(ConsoleModule.for(config, log), config, PAGES_FOLDER);
  const database = app.get(Database);
  if (config.audience === 'merchant') await checkRowSecurity(database);
  const metrics = app.get(Metrics);
  metrics.collectDefaults();
  const server = serverOf(app);
  stopping.onSignal(async () => {
    // Pages reconnect, to another process or to this one's successor.
    app.get(SessionStreams).endAll();
    leave(server);
    await drain(server, config.stopSec * 1000);
    await closeApp(app, log);
  });
  await opened(app.listen(config.http.port, config.http.host), { port: 'PORT', host: 'HOST' });
  app.useLogger(new NestLog(log));
  const { held } = app.get(Sealers);
  watchDatabase(metrics.registry, database);
  watchReplica(metrics.registry, app.get(Replica));
  const admin = await openAdmin({
    host: config.http.adminHost,
    port: config.http.adminPort,
    metrics,
    checks: { database: () => checkUsable(database, held), serving: stopping.check },
    about: () => aboutDatabase(database),
    log,
  });
  log.info({ audience: config.audience, address: server.address(), admin: admin.address() }, 'listening');
}

start().catch(failStart);
