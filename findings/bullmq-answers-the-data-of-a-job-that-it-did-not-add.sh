#!/usr/bin/env bash
# Guess: `add` with the id of a job that exists answers that job, or says that it added nothing.
# Seen: it answers a Job with the old id and the new data, and nothing tells that from a job that was added. What is
# stored, and what a worker gets, is the old data. Deduplication does the same, with the id of the first job.
# A job id with one colon is refused ("cannot contain :"), one with two is taken.
# Why it matters: a caller believes in a changed order that no worker will ever see.
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
await queue.add('order', { amount: 1 }, { jobId: 'o1' });
const again = await queue.add('order', { amount: 2 }, { jobId: 'o1' });
const stored = await queue.getJob('o1');
await queue.add('order', { amount: 1 }, { jobId: 'o2', deduplication: { id: 'd' } });
const other = await queue.add('order', { amount: 2 }, { jobId: 'o3', deduplication: { id: 'd' } });
const colons = await Promise.all(['a:b', 'a:b:c'].map((jobId) => queue.add('order', {}, { jobId }).then(() => 'taken', (error) => error.message)));
const seen = { answered: again.data, stored: stored.data, deduplicated: [other.id, other.data], 'a:b, a:b:c': colons };
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, {
  answered: { amount: 2 },
  stored: { amount: 1 },
  deduplicated: ['o2', { amount: 2 }],
  'a:b, a:b:c': ['Custom Id cannot contain :', 'taken'],
});
process.exit(0);
JS
timeout 60 node run.mjs
