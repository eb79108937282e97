#!/usr/bin/env bash
# Guess: `job.waitUntilFinished` of a job that has already completed resolves with its result, or with undefined when
# `removeOnComplete: true` has removed it.
# Seen: when the wait begins before the job completes, it resolves with the result. When it begins after, it rejects with
# "Missing key for job", as for a job that never existed. The same job, the same options: only the moment differs.
# Why it matters: the caller takes a payment that was made for one that failed, and sends it again.
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
import { Queue, QueueEvents, Worker } from 'bullmq';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const [queue, events] = [new Queue('orders', { connection }), new QueueEvents('orders', { connection })];
await events.waitUntilReady();
let work;
const worker = new Worker('orders', async () => { await new Promise((resolve) => (work = resolve)); return 'paid'; }, { connection });
const outcomeOf = (job) => job.waitUntilFinished(events, 10_000).catch(({ message }) => message.replace(/bull:orders:\d+/, 'ID'));
const until = async (isTrue) => { while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10)); };
const run = async (isWaitEarly) => {
  const completed = new Promise((resolve) => events.once('completed', resolve));
  const job = await queue.add('order', {}, { removeOnComplete: true });
  await until(() => work !== undefined);
  const early = isWaitEarly ? outcomeOf(job) : undefined;
  // The wait has asked Redis and listens.
  await new Promise((resolve) => setTimeout(resolve, 300));
  work();
  work = undefined;
  await completed;
  return early ?? outcomeOf(job);
};
const seen = { 'waits before it completes': await run(true), 'waits after': await run(false) };
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, { 'waits before it completes': 'paid', 'waits after': 'Missing key for job ID. isFinished' });
process.exit(0);
JS
timeout 60 node run.mjs
