// Exports the times of the last successful and failed backup and drill to Prometheus:
// http://ADMIN_HOST:ADMIN_PORT/metrics. The scripts touch one mark file per outcome in the directory; its mtime is the
// time of the event.
//   node docker/backup-metrics.mjs DIRECTORY
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [, , directory] = process.argv;
if (directory === undefined) {
  console.error('Name the directory of the dumps: node docker/backup-metrics.mjs DIRECTORY');
  process.exit(64);
}
const GAUGES = ['backup-success', 'backup-failure', 'drill-success', 'drill-failure'].map((mark) => {
  const [what, outcome] = mark.split('-');
  return {
    file: join(directory, `.${mark}`),
    name: `${what}_last_${outcome}_timestamp_seconds`,
    help: `When a ${what} last ended in ${outcome}; 0 before the first.`,
  };
});

/** Returns the mtime of a mark in seconds; 0 if it does not exist. Rejects after any other failure. */
async function secondsOf(file) {
  try {
    return (await stat(file)).mtimeMs / 1000;
  } catch (error) {
    if (error.code === 'ENOENT') return 0;
    throw error;
  }
}

async function metrics() {
  await stat(directory);
  const lines = GAUGES.map(async ({ file, name, help }) => {
    const seconds = await secondsOf(file);
    return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${seconds}\n`;
  });
  return (await Promise.all(lines)).join('');
}

const server = createServer((request, response) => {
  if (!['/metrics', '/ready', '/live'].includes(request.url)) {
    response.writeHead(404).end();
    return;
  }
  metrics().then(
    (text) => response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
    (error) => response.writeHead(503, { 'Content-Type': 'text/plain' }).end(`${error.message}\n`),
  );
});
server.requestTimeout = 5000;
server.listen(Number(process.env.ADMIN_PORT ?? 9105), process.env.ADMIN_HOST ?? '127.0.0.1', () => {
  console.log(JSON.stringify({ level: 'info', msg: 'listening', admin: server.address() }));
});
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
