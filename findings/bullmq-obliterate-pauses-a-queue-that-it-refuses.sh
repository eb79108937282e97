#!/usr/bin/env bash
# Guess: an `obliterate` that is refused ("Cannot obliterate queue with active jobs") leaves the queue as it was.
# Seen: it has paused the queue first, and leaves it paused. Jobs that are added later wait, and no worker takes them.
# Nothing tells the workers; only `isPaused` shows it.
# Why it matters: a clean-up command that failed stops all deliveries until somebody calls `resume`.
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
const done = [];
const worker = new Worker('orders', async ({ name }) => { await sleep(1000); done.push(name); }, { connection });
await queue.add('first', {});
await new Promise((resolve) => worker.once('active', resolve));
const refused = await queue.obliterate().then(() => 'not refused', ({ message }) => message);
await queue.add('second', {});
await sleep(4000);
const seen = { refused, paused: await queue.isPaused(), done: [...done] };
await queue.resume();
for (let i = 0; i < 100 && done.length < 2; i++) await sleep(100);
seen['done after resume'] = done;
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, { refused: 'Cannot obliterate queue with active jobs', paused: true, done: ['first'], 'done after resume': ['first', 'second'] });
process.exit(0);
JS
timeout 60 node run.mjs
