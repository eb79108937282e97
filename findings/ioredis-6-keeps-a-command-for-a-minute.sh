#!/usr/bin/env bash
# Guess: a command to a Redis that is away fails as soon with ioredis 6 as with 5: `maxRetriesPerRequest` is 20 in
# both.
# Seen: the pauses between the 20 attempts have changed. With 5 they grow by 50 ms, and the command rejects after 10.5
# seconds. With 6 they double up to 5 seconds, and it rejects after 71 to 76 seconds. With the `retryStrategy` of 5 it
# is 10.5 seconds again.
# Why it matters: a request that goes on without its cache when Redis is away now waits longer than its caller or proxy
# does, and a restarted Redis is found up to 5 seconds late.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline five@npm:ioredis@5.11.1 six@npm:ioredis@6.0.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { Redis as Five } from 'five';
import { Redis as Six } from 'six';
/** Time passes 50 times as fast here. */
const realTimeout = globalThis.setTimeout;
globalThis.setTimeout = (callback, ms, ...rest) => realTimeout(callback, ms / 50, ...rest);
const server = createServer();
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const { port } = server.address();
await new Promise((closed) => server.close(closed));
/** The pauses in seconds until a command rejects. */
async function run(Redis, options) {
  const pauses = [];
  const redis = new Redis({ host: '127.0.0.1', port, ...options });
  redis.on('error', () => {}).on('reconnecting', (ms) => pauses.push(ms));
  await assert.rejects(redis.get('price'), { name: 'MaxRetriesPerRequestError' });
  redis.disconnect();
  return pauses.slice(0, 20).reduce((sum, ms) => sum + ms, 0) / 1_000;
}
const seen = {
  '5.11.1': await run(Five, {}),
  '6.0.0': await run(Six, {}),
  '6.0.0, the strategy of 5': await run(Six, { retryStrategy: (times) => Math.min(times * 50, 2_000) }),
};
console.log('ioredis: seconds until a command rejects', seen);
const { '6.0.0': six, ...others } = seen;
assert.deepEqual(others, { '5.11.1': 10.5, '6.0.0, the strategy of 5': 10.5 });
assert.ok(six >= 71 && six < 76);
process.exit(0);
JS
timeout 60 node run.mjs
