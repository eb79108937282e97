/**
 * The API process. Starts while Redis or the chain are away; refuses to start on a wrong setting, without the
 * database, or with a schema older than the code. On SIGTERM: stops accepting, finishes what is in flight, closes.
 */
import 'reflect-metadata';
import type { Server } from 'node:http';
import { ApiModule } from './api.module.js';
import { sleep } from './clock.js';
import { readConfig } from './config.js';
import { messageOf } from './errors.js';
import { createLogger } from './http/logger.js';
import { Metrics } from './http/metrics.js';
import { createHttpApp, serverOf } from './http/server.js';
import { OrderWaits } from './orders/waits.js';

/** How long requests in flight may take to finish after SIGTERM. */
const DRAIN_MS = 20_000;
const DRAIN_STEP_MS = 50;

/** Stops accepting; resolves when the last request was answered, or after the limit with the rest cut off. */
async function drain(server: Server): Promise<void> {
  const closed = new AbortController();
  server.close(() => {
    closed.abort();
  });
  // A connection that was busy at the close turns idle with its answer; kept alive, it would hold the server open.
  for (let waited = 0; waited < DRAIN_MS && !closed.signal.aborted; waited += DRAIN_STEP_MS) {
    server.closeIdleConnections();
    await sleep(DRAIN_STEP_MS, closed.signal);
  }
  server.closeAllConnections();
}

async function start(): Promise<void> {
  const config = readConfig();
  const log = createLogger(config);
  const app = await createHttpApp(ApiModule.for(config, log), config, log);
  app.get(Metrics).collectDefaults();
  await app.listen(config.http.port, config.http.host);
  const server = serverOf(app);
  log.info({ address: server.address() }, 'listening');

  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    log.info({}, 'stopping');
    // Callers who asked to wait get their answer now, so that none of them is cut off.
    app.get(OrderWaits).releaseAll();
    drain(server)
      .then(() => app.close())
      .then(
        () => process.exit(0),
        (err: unknown) => {
          log.error({ err }, 'The stop failed.');
          process.exit(1);
        },
      );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

start().catch((error: unknown) => {
  console.error(JSON.stringify({ level: 'fatal', msg: messageOf(error) }));
  process.exit(1);
});
