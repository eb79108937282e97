#!/usr/bin/env bash
# Guess: the event `failed` says the same on a worker and on QueueEvents: the job is given up.
# Seen: a job of three attempts fails three times on the worker, with a retry to come after the first two, and once on
# QueueEvents. There the first two are `delayed` and `waiting`.
# Why it matters: a refund that hangs on the worker's event is paid out while the order is about to be retried.
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
import { Queue, QueueEvents, Worker } from 'bullmq';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const queue = new Queue('orders', { connection });
const events = new QueueEvents('orders', { connection });
await events.waitUntilReady();
const seen = { worker: [], events: 0, exhausted: false };
events.on('failed', () => { seen.events++; }).on('retries-exhausted', () => { seen.exhausted = true; });
const worker = new Worker('orders', async () => { throw new Error('the node is away'); }, { connection });
worker.on('failed', (job) => seen.worker.push(job.attemptsMade));
await queue.add('deliver', {}, { attempts: 3, backoff: 100 });
for (let i = 0; i < 200 && !(seen.exhausted && seen.worker.length === 3); i++) await sleep(100);
await sleep(300);
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, { worker: [1, 2, 3], events: 1, exhausted: true });
process.exit(0);
JS
timeout 60 node run.mjs
