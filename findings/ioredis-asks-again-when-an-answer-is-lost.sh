#!/usr/bin/env bash
# Guess: a command whose connection breaks before the answer comes rejects, and the caller decides about a retry.
# Seen: ioredis 5 and 6 send it again after they have reconnected, and give the second answer. INCR counts twice, LPOP
# drops an element, and SET NX answers null, as if another process held the lock. MULTI runs twice as well. With
# `maxRetriesPerRequest: 0` the call rejects.
# Why it matters: a limit counts one request as two, and a process waits for a lock that it holds itself.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline ioredis@5.11.1 ioredis6@npm:ioredis@6.0.0 >/dev/null
if ! command -v redis-server >/dev/null; then echo 'this needs redis-server in PATH'; exit 1; fi
redis-server --version
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" >/dev/null &
trap 'kill %1; rm -rf "$dir"' EXIT
export REDIS_PORT=$port
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import net from 'node:net';
import { Redis as Redis5 } from 'ioredis';
import { Redis as Redis6 } from 'ioredis6';
const port = Number(process.env.REDIS_PORT);
let losing = false;
// Passes everything on. When it is losing, it waits for the answer and closes the connection instead of passing it on.
const proxy = net.createServer((client) => {
  const server = net.connect(port, '127.0.0.1');
  for (const socket of [client, server]) socket.on('error', () => {}).on('close', () => { client.destroy(); server.destroy(); });
  client.on('data', (data) => server.write(data));
  server.on('data', (data) => { if (losing) { losing = false; client.destroy(); } else client.write(data); });
}).listen(0, '127.0.0.1');
await new Promise((resolve) => proxy.once('listening', resolve));
const outcome = (promise) => promise.then((value) => value, ({ name }) => `throws ${name}`);
const lost = async (Redis, options, command) => {
  const redis = new Redis({ port: proxy.address().port, ...options });
  redis.on('error', () => {});
  await redis.flushall();
  await redis.rpush('list', 'first', 'second');
  losing = true;
  const result = await outcome(command(redis));
  redis.disconnect();
  return result;
};
const seen = {};
for (const [name, Redis] of [['5.11.1', Redis5], ['6.0.0', Redis6]]) {
  seen[name] = {
    INCR: await lost(Redis, {}, (redis) => redis.incr('count')),
    LPOP: await lost(Redis, {}, (redis) => redis.lpop('list')),
    'SET NX': await lost(Redis, {}, (redis) => redis.set('lock', 'me', 'PX', 60_000, 'NX')),
    MULTI: await lost(Redis, {}, (redis) => redis.multi().incr('count').exec()),
    'INCR without retries': await lost(Redis, { maxRetriesPerRequest: 0 }, (redis) => redis.incr('count')),
  };
}
console.log('ioredis', JSON.stringify(seen, null, 2));
const expected = { INCR: 2, LPOP: 'second', 'SET NX': null, MULTI: [[null, 2]], 'INCR without retries': 'throws MaxRetriesPerRequestError' };
assert.deepEqual(seen, { '5.11.1': expected, '6.0.0': expected });
process.exit(0);
JS
timeout 60 node run.mjs
