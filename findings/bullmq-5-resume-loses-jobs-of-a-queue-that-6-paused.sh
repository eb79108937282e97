#!/usr/bin/env bash
# Guess: processes of BullMQ 5 and 6 may share a queue for the minutes of a rolling upgrade, or of a way back.
# Seen: BullMQ 5 keeps the jobs of a paused queue in a list `paused`, BullMQ 6 leaves them in `wait`. When 6 has paused
# the queue and 5 has added a job, `resume` of 5 renames `paused` over `wait`: the jobs that waited there are in no list
# any more. Nothing reports it; their hashes stay in Redis and no worker ever gets them.
# Why it matters: orders that were paid wait for ever after a deployment was taken back.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline bullmq5@npm:bullmq@5.81.5 bullmq6@npm:bullmq@6.7.0 >/dev/null
if ! command -v redis-server >/dev/null; then echo 'this needs redis-server in PATH'; exit 1; fi
redis-server --version
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" >/dev/null &
trap 'kill %1; rm -rf "$dir"' EXIT
export REDIS_PORT=$port
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Queue as Queue5, Worker as Worker5 } from 'bullmq5';
import { Queue as Queue6 } from 'bullmq6';
setTimeout(() => { console.error('no job was worked on within 30 s'); process.exit(1); }, 30_000).unref();
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const [five, six] = [new Queue5('orders', { connection }), new Queue6('orders', { connection })];
await six.add('order', {}, { jobId: 'before' });
await six.pause();
await six.add('order', {}, { jobId: 'by-6' });
await five.add('order', {}, { jobId: 'by-5' });
const ids = async (queue) => (await queue.getJobs(['waiting', 'paused'])).map(({ id }) => id).sort();
const waiting = await ids(five);
await five.resume();
const left = await ids(six);
const done = [];
const worker = new Worker5('orders', async ({ id }) => { done.push(id); }, { connection });
await new Promise((resolve) => worker.once('drained', resolve));
const stored = await six.getJob('before');
const state = await stored.getState();
console.log('bullmq 5.81.5 and 6.7.0');
console.log({ waiting, 'after resume by 5': left, done, 'job "before"': state });
assert.deepEqual(waiting, ['before', 'by-5', 'by-6']);
assert.deepEqual(left, ['by-5']);
assert.deepEqual(done, ['by-5']);
assert.equal(state, 'unknown');
process.exit(0);
JS
timeout 60 node run.mjs
