#!/usr/bin/env bash
# Guess: `delay: 60000` waits one minute from the call of `add`, whatever else is set.
# Seen: it counts from the option `timestamp`. A job that carries the time of an order of an hour ago runs immediately,
# although its state is "delayed" and its delay still says 60000.
# Why it matters: a retry that keeps the order's time for its statistics has no delay, and hammers a node that is down.
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
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const queue = new Queue('orders', { connection });
await queue.add('now', {}, { delay: 60_000 });
const job = await queue.add('an hour ago', {}, { delay: 60_000, timestamp: Date.now() - 3_600_000 });
const seen = { state: await job.getState(), delay: job.delay, ran: [] };
new Worker('orders', async ({ name }) => { seen.ran.push(name); }, { connection });
for (let i = 0; i < 100 && seen.ran.length === 0; i++) await sleep(100);
await sleep(500);
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, { state: 'delayed', delay: 60_000, ran: ['an hour ago'] });
process.exit(0);
JS
timeout 60 node run.mjs
