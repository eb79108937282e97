#!/usr/bin/env bash
# Guess: a child of a flow whose id an earlier job has is as good as that job: the parent runs when the job has
# completed, and fails when it has failed and the child says `failParentOnFailure`. Or `add` refuses.
# Seen: only an earlier job without a parent that has completed lets the new parent run. One that had a parent, even if
# it completed, or one that failed, leaves the new parent waiting for ever, without an error or an event. The child
# runs no second time.
# Why it matters: ids by order number are there to make a flow repeatable, and the repeat hangs.
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
const ran = [];
const work = async ({ id, name }) => {
  ran.push(id);
  if (name === 'bad') throw new Error('the node is away');
};
new Worker('orders', work, { connection });
/** The state in which a job ends, or in which it still is after three seconds. */
const settled = async (job) => {
  for (let i = 0; i < 60; i++) {
    const state = await job.getState();
    if (state === 'completed' || state === 'failed') return state;
    await sleep(50);
  }
  return job.getState();
};
const addFlow = async (child) => (await flows.add({ name: 'pay', queueName: 'orders', children: [{ queueName: 'orders', ...child }] })).job;
const seen = {};
for (const name of ['good', 'bad']) {
  for (const earlier of ['alone', 'in a flow']) {
    const jobId = `${name} ${earlier}`;
    const child = { name, opts: { jobId, failParentOnFailure: true } };
    await settled(earlier === 'alone' ? await queue.add(name, {}, { jobId }) : await addFlow(child));
    const state = await settled(await addFlow(child));
    seen[`${name} child, earlier ${earlier}`] = [state, `the child ran ${ran.filter((id) => id === jobId).length} times`];
  }
}
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, {
  'good child, earlier alone': ['completed', 'the child ran 1 times'],
  'good child, earlier in a flow': ['waiting-children', 'the child ran 1 times'],
  'bad child, earlier alone': ['waiting-children', 'the child ran 1 times'],
  'bad child, earlier in a flow': ['waiting-children', 'the child ran 1 times'],
});
process.exit(0);
JS
timeout 90 node run.mjs
