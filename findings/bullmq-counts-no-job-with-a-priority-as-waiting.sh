#!/usr/bin/env bash
# Guess: a job with a priority waits in front of the others, so `getWaitingCount` counts it, and priority 1 runs first.
# Seen: its state is "prioritized", and getWaitingCount and getWaiting leave it out. `count` has both. Jobs without a
# priority run before those with one, so `priority: 1` is later than none. `lifo` has no effect beside a priority.
# Why it matters: a scaler that watches the waiting jobs sees an empty queue, and "urgent" orders run last.
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
const urgent = await queue.add('priority 1', {}, { priority: 1 });
await queue.add('priority 1, lifo', {}, { priority: 1, lifo: true });
const seen = { state: await urgent.getState(), getWaitingCount: await queue.getWaitingCount(), getWaiting: (await queue.getWaiting()).length, count: await queue.count(), order: [] };
await queue.add('none', {});
new Worker('orders', async ({ name }) => { seen.order.push(name); }, { connection });
for (let i = 0; i < 100 && seen.order.length < 3; i++) await sleep(100);
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, { state: 'prioritized', getWaitingCount: 0, getWaiting: 0, count: 2, order: ['none', 'priority 1', 'priority 1, lifo'] });
process.exit(0);
JS
timeout 60 node run.mjs
