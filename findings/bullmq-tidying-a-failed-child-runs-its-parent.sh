#!/usr/bin/env bash
# Guess: the parent of a BullMQ flow runs when all its children have completed. A child that failed keeps it from
# running.
# Seen: the failed child keeps it only as long as its record exists. `remove()` of that record, `removeOnFail` and
# `clean` from another queue run the parent as if the child had completed. `clean` in the parent's own queue deletes
# the parent, which is not among the ids that it answers, and it never runs.
# Why it matters: the refund or invoice that waits for a delivery is made, or lost, when old failures are tidied away.
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
const until = async (holds) => { for (let i = 0; i < 100 && !(await holds()); i++) await sleep(50); };
/** Adds a flow of one failing child, applies `tidy` to the child, and returns the parent's state before and after. */
async function run(name, { parents = name, opts, tidy }) {
  const [parentQueue, childQueue] = [parents, name].map((each) => new Queue(each, { connection }));
  let hasRun = false;
  let hasFailed = false;
  const work = async (job) => {
    if (job.name === 'invoice') hasRun = true;
    else throw new Error('the node is away');
  };
  const workers = [...new Set([parents, name])].map((each) => new Worker(each, work, { connection }));
  for (const worker of workers) worker.on('failed', () => { hasFailed = true; });
  const children = [{ name: 'deliver', queueName: name, opts }];
  const { job: parent, children: [{ job: child }] } = await flows.add({ name: 'invoice', queueName: parents, children });
  await until(() => hasFailed);
  await sleep(300);
  const before = await parent.getState();
  const cleaned = await tidy?.(childQueue, child);
  await until(() => hasRun);
  const after = { before, after: await parent.getState(), hasRun };
  if (Array.isArray(cleaned)) after.cleaned = cleaned.map((id) => (id === child.id ? 'deliver' : 'invoice'));
  await Promise.all([...workers, parentQueue, childQueue].map((each) => each.close()));
  return after;
}
const clean = (queue) => queue.clean(0, 100, 'failed');
const seen = {
  'left alone': await run('a', {}),
  'remove()': await run('b', { tidy: (_queue, child) => child.remove() }),
  removeOnFail: await run('c', { opts: { removeOnFail: true } }),
  'clean, another queue': await run('d', { parents: 'invoices', tidy: clean }),
  'clean, the same queue': await run('e', { tidy: clean }),
};
console.log('bullmq 6.7.0', seen);
assert.deepEqual(seen, {
  'left alone': { before: 'waiting-children', after: 'waiting-children', hasRun: false },
  'remove()': { before: 'waiting-children', after: 'completed', hasRun: true },
  removeOnFail: { before: 'completed', after: 'completed', hasRun: true },
  'clean, another queue': { before: 'waiting-children', after: 'completed', hasRun: true, cleaned: ['deliver'] },
  'clean, the same queue': { before: 'waiting-children', after: 'unknown', hasRun: false, cleaned: ['deliver'] },
});
process.exit(0);
JS
timeout 90 node run.mjs
