#!/usr/bin/env bash
# Guess: with `attempts: 10` a job whose worker is killed runs again, up to ten times.
# Seen: attempts count errors that a processor throws. After a kill the job runs again once; after the second kill it
# has failed, with "job stalled more than allowable limit" and one attempt made, and is not tried again. Only
# `maxStalledCount` of the workers, which is 1, allows more.
# Why it matters: two quick deployments, or two restarts for lack of memory, end a delivery whose ten attempts were
# meant to outlast an outage of hours.
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
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const [, , name, maxStalledCount] = process.argv;
const open = (queue, processor, count) =>
  new Worker(queue, processor, { connection, lockDuration: 500, stalledInterval: 500, maxStalledCount: Number(count) });
/** A job whose worker is killed so often, and then given to a worker that lives. */
async function run(queueName, kills, count) {
  const queue = new Queue(queueName, { connection });
  const { id } = await queue.add('deliver', {}, { attempts: 10 });
  for (let i = 0; i < kills; i++) {
    const child = spawn(process.execPath, ['run.mjs', queueName, String(count)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  let runs = 0;
  const worker = open(queueName, async () => { runs += 1; }, count);
  let state = 'active';
  for (let i = 0; i < 150 && state !== 'completed' && state !== 'failed'; i++) {
    await sleep(100);
    state = await (await queue.getJob(id)).getState();
  }
  const { attemptsMade, failedReason } = await queue.getJob(id);
  await worker.close();
  return { state, runs, attemptsMade, ...(failedReason && { failedReason }) };
}
if (name !== undefined) {
  open(name, () => new Promise(() => { process.send('started'); }), maxStalledCount);
} else {
  const seen = {
    'one kill': await run('one', 1, 1),
    'two kills': await run('two', 2, 1),
    'two kills, maxStalledCount 10': await run('more', 2, 10),
  };
  console.log('bullmq 6.7.0', seen);
  assert.deepEqual(seen, {
    'one kill': { state: 'completed', runs: 1, attemptsMade: 1 },
    'two kills': { state: 'failed', runs: 0, attemptsMade: 1, failedReason: 'job stalled more than allowable limit' },
    'two kills, maxStalledCount 10': { state: 'completed', runs: 1, attemptsMade: 1 },
  });
  process.exit(0);
}
JS
timeout 90 node run.mjs
