#!/usr/bin/env bash
# Guess: with `removeOnComplete: { age: 1 }` a completed job is gone after a second, and its id can be added again.
# Seen: the age is looked at only when a later job of the queue completes. Until then the job stays, and `add` with its
# id adds nothing, without an error. Once any other job completes, the same `add` runs.
# Why it matters: a daily job with a fixed id, or the id as an idempotency key for an hour, works in a busy queue and
# does nothing in a quiet one.
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
const queue = new Queue('reports', { connection, defaultJobOptions: { removeOnComplete: { age: 1 } } });
const runs = { daily: 0, other: 0 };
const worker = new Worker('reports', async ({ name }) => { runs[name]++; }, { connection });
const add = async (name, jobId) => {
  await queue.add(name, {}, { jobId });
  await sleep(500);
};
await add('daily', 'report');
await sleep(3000);
const seen = { 'completed jobs, 3 s later': await queue.getCompletedCount() };
await add('daily', 'report');
seen['runs after the second add'] = runs.daily;
await add('other');
await add('daily', 'report');
seen['runs after another job and a third add'] = runs.daily;
console.log('bullmq 6.7.0', seen);
assert.deepEqual(Object.values(seen), [1, 1, 2]);
await worker.close();
await queue.close();
JS
timeout 60 node run.mjs
