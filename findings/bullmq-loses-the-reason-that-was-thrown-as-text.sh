#!/usr/bin/env bash
# Guess: `throw 'Confirmation declined by user'` in a worker makes that text the reason of the failed job.
# Seen: failedReason is the text "null", and the stack is empty. A `failed` listener gets the text itself.
# Why it matters: wallets and signers reject with plain text, and then the queue shows no reason for a failed signature.
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
import { Queue, Worker } from 'bullmq';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const queue = new Queue('orders', { connection });
const worker = new Worker('orders', async () => { throw 'Confirmation declined by user'; }, { connection });
const failed = new Promise((resolve) => worker.once('failed', (_job, error) => resolve(error)));
const { id } = await queue.add('sign', {});
const listener = await failed;
const { failedReason, stacktrace } = await queue.getJob(id);
console.log('bullmq 6.7.0', { listener, failedReason, stacktrace });
assert.deepEqual({ listener, failedReason, stacktrace }, { listener: 'Confirmation declined by user', failedReason: 'null', stacktrace: [] });
process.exit(0);
JS
timeout 60 node run.mjs
