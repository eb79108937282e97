// A process that starts one of each service of packages/local, for the tests that kill it. Prints one JSON line with
// their process ids and URLs, then waits.
import { fileURLToPath } from 'node:url';
import './typescript.mjs';

const { startPostgres } = await import('../../packages/local/src/postgres.ts');
const { startRedis } = await import('../../packages/local/src/redis.ts');
const { startNode } = await import('../../packages/local/src/processes.ts');

const postgres = await startPostgres({ durable: true });
const redis = await startRedis({ redisUrl: 'embedded' });
const node = await startNode(fileURLToPath(new URL('child.mjs', import.meta.url)), {
  name: 'child',
  readyWhen: (line) => (line.startsWith('{') ? true : undefined),
});
const pids = [postgres.pid, redis.pid, node.pid];
console.log(JSON.stringify({ pids, databaseUrl: postgres.url, redisUrl: redis.url }));
setInterval(() => undefined, 1000);
