#!/usr/bin/env bash
# Guess: BullMQ 6, which has removed the options `repeat`, `utc` and `debounce`, refuses them.
# Seen: it refuses `debounce` only. `add` with `repeat` adds one job, which runs immediately and once, and keeps the
# option in its record. `utc: true` of a schedule is dropped, so its time is that of the server's own time zone. BullMQ
# 5 repeats, and reckons in UTC.
# Why it matters: after the upgrade a reconciliation runs at each start and never again, and a statement for a day in
# UTC is drawn up hours off. JavaScript callers see no error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline \
  bullmq5@npm:bullmq@5.81.5 bullmq6@npm:bullmq@6.7.0 ioredis@5.11.1 >/dev/null
if ! command -v redis-server >/dev/null; then echo 'this needs redis-server in PATH'; exit 1; fi
redis-server --version
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" >/dev/null &
trap 'kill %1; rm -rf "$dir"' EXIT
export REDIS_PORT=$port
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as five from 'bullmq5';
import * as six from 'bullmq6';
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
async function run(name, { Queue, Worker }) {
  const queue = new Queue(name, { connection });
  let runs = 0;
  const worker = new Worker(name, async () => { runs += 1; }, { connection });
  await queue.add('reconcile', {}, { repeat: { every: 300 } });
  await sleep(2_500);
  await worker.close();
  const at = async (options) => {
    const job = await queue.upsertJobScheduler('statement', { pattern: '0 5 * * *', ...options });
    return new Date(Math.round((job.timestamp + job.opts.delay) / 1_000) * 1_000).toISOString().slice(11, 16);
  };
  const debounce = await queue.add('notify', {}, { debounce: { id: 'a', ttl: 1_000 } }).then(() => 'accepted', ({ message }) => message);
  return { repeated: runs > 3 || runs, 'utc: true': await at({ utc: true }), "tz: 'UTC'": await at({ tz: 'UTC' }), debounce };
}
const seen = { 'bullmq 5.81.5': await run('five', five), 'bullmq 6.7.0': await run('six', six) };
console.log('05:00 in', process.env.TZ, seen);
assert.deepEqual(seen, {
  'bullmq 5.81.5': { repeated: true, 'utc: true': '05:00', "tz: 'UTC'": '05:00', debounce: 'accepted' },
  'bullmq 6.7.0': {
    repeated: 1,
    'utc: true': '20:00',
    "tz: 'UTC'": '05:00',
    debounce: 'Debounce option has been removed. Use deduplication option instead',
  },
});
process.exit(0);
JS
TZ=Asia/Tokyo timeout 60 node run.mjs
