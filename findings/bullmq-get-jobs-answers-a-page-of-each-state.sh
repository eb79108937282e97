#!/usr/bin/env bash
# Guess: `getJobs(['waiting', 'delayed'], 0, 2)` answers the first three jobs of both states together.
# Seen: it answers six: the range counts within each state. Without the third argument, each state begins with the job
# that runs last.
# Why it matters: a list in an operator's console has pages of changing length, and a sum over "the first 1,000" is
# wrong.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline bullmq@6.7.0 ioredis@5.11.1 >/dev/null
if ! command -v redis-server >/dev/null; then echo 'this needs redis-server in PATH'; exit 1; fi
redis-server --version
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" >/dev/null &
trap 'kill %1; rm -rf "$dir"' EXIT
export REDIS_PORT=$port
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Queue } from 'bullmq';
const queue = new Queue('orders', { connection: { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null } });
for (let i = 1; i <= 5; i++) {
  await queue.add('waiting', {});
  await queue.add('delayed', {}, { delay: i * 60_000 });
}
const page = async (...range) => (await queue.getJobs(['waiting', 'delayed'], ...range)).map(({ id, name }) => `${name} ${id}`);
const seen = { '0 to 2': await page(0, 2), '0 to 2, ascending': await page(0, 2, true), '3 to 5, ascending': await page(3, 5, true) };
console.log('bullmq 6.7.0', seen);
assert.deepEqual(Object.values(seen), [
  ['waiting 9', 'waiting 7', 'waiting 5', 'delayed 10', 'delayed 8', 'delayed 6'],
  ['waiting 1', 'waiting 3', 'waiting 5', 'delayed 2', 'delayed 4', 'delayed 6'],
  ['waiting 7', 'waiting 9', 'delayed 8', 'delayed 10'],
]);
await queue.close();
JS
timeout 60 node run.mjs
