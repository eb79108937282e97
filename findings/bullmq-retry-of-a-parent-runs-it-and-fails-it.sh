#!/usr/bin/env bash
# Guess: `retry()` of a parent that failed because its child had failed is refused, or takes up the child first.
# Seen: the parent's processor runs to its end, without the child's result, and only then the job fails: "Cannot
# complete job … because it has at least one failed child". Each further `retry()` runs it again. When the child is
# retried and completes first, the parent's retry completes.
# Why it matters: the refund of the parent is paid, and the job reads as failed. The operator who retries pays it
# again.
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
import { FlowProducer, Queue, Worker } from 'bullmq';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const flows = new FlowProducer({ connection });
const queue = new Queue('orders', { connection });
let isAway = true;
let paid = 0;
const work = async (job) => {
  if (job.name === 'pay') paid += 1;
  else if (isAway) throw new Error('the node is away');
};
new Worker('orders', work, { connection }).on('error', () => {});
const add = () => flows.add({
  name: 'pay',
  queueName: 'orders',
  children: [{ name: 'deliver', queueName: 'orders', opts: { failParentOnFailure: true } }],
});
/** The state of a job when it has ended, and how often the parent has paid by then. */
const end = async ({ id }) => {
  for (let i = 0; i < 100; i++) {
    const job = await queue.getJob(id);
    const state = await job.getState();
    const reason = job.failedReason?.replaceAll(/[0-9a-f-]{36}/g, '…');
    if (state === 'completed' || (state === 'failed' && reason)) return [state, `paid ${paid}`, ...(state === 'failed' ? [reason] : [])];
    await sleep(50);
  }
};
const retry = async (job) => {
  await (await queue.getJob(job.id)).retry();
  await sleep(500);
  return end(job);
};
const { job: parent, children: [{ job: child }] } = await add();
const seen = {
  'the parent': await end(parent),
  'its retry': await retry(parent),
  'its second retry': await retry(parent),
};
isAway = false;
seen['the retry of the child'] = await retry(child);
seen['the retry of the parent after it'] = await retry(parent);
console.log('bullmq 6.7.0', seen);
const reason = 'Cannot complete job … because it has at least one failed child. moveToFinished';
assert.deepEqual(seen, {
  'the parent': ['failed', 'paid 0', 'child bull:orders:… failed'],
  'its retry': ['failed', 'paid 1', reason],
  'its second retry': ['failed', 'paid 2', reason],
  'the retry of the child': ['completed', 'paid 2'],
  'the retry of the parent after it': ['completed', 'paid 3'],
});
process.exit(0);
JS
timeout 90 node run.mjs
