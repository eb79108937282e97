#!/usr/bin/env bash
# Guess: `retry()` of a failed job starts over, so `attempts: 3` gives three more attempts with their backoff.
# Seen: the count of attempts is kept. The job gets one attempt and fails again, and so at each further `retry()`. Only
# `retry('failed', { resetAttemptsMade: true })` grants all three.
# Why it matters: an operator retries the jobs of an outage, the first hiccup fails them again, and no retry follows.
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
let runs = 0;
new Worker('orders', async () => { runs++; throw new Error('the node is away'); }, { connection });
const { id } = await queue.add('deliver', {}, { attempts: 3 });
const runsUntilFailed = async () => {
  for (let i = 0; i < 100; i++) {
    await sleep(100);
    if ((await queue.getJobState(id)) === 'failed') break;
  }
  return runs;
};
const seen = { added: await runsUntilFailed() };
runs = 0;
await (await queue.getJob(id)).retry();
seen['after retry()'] = await runsUntilFailed();
runs = 0;
await (await queue.getJob(id)).retry('failed', { resetAttemptsMade: true });
seen['after retry() that resets'] = await runsUntilFailed();
console.log('bullmq 6.7.0: runs until the job failed', seen);
assert.deepEqual(seen, { added: 3, 'after retry()': 1, 'after retry() that resets': 3 });
process.exit(0);
JS
timeout 60 node run.mjs
