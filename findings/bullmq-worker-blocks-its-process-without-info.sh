#!/usr/bin/env bash
# Guess: a worker whose Redis user may not run INFO reports an error, and waits or ends.
# Seen: it asks again without a pause. The event loop never gets to a timer or a socket again: the process uses a whole
# core and answers nothing, and the event `error` comes hundreds of thousands of times. A queue of the same user rejects
# each call. With +info the worker works.
# Why it matters: a hosted Redis, or a user without dangerous commands, turns a worker into a process that no health check
# and no SIGTERM handler can reach.
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
cat >users.mjs <<'JS'
import { Redis } from 'ioredis';
const admin = new Redis(Number(process.env.REDIS_PORT));
const rules = ['on', '>pw', '~bull:*', '&*', '+@all', '-@dangerous'];
await admin.call('ACL', 'SETUSER', 'plain', ...rules);
await admin.call('ACL', 'SETUSER', 'informed', ...rules, '+info');
process.exit(0);
JS
cat >worker.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { Worker } from 'bullmq';
const username = process.argv[2];
const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null, username, password: 'pw' };
const worker = new Worker('orders', async () => {}, { connection });
let errors = 0;
worker.on('error', () => {
  errors++;
  if (errors === 1000) writeFileSync(`${username}.errors`, '1000');
});
// The process ends by this timer, if it is ever called.
setTimeout(() => process.exit(0), 1000);
JS
timeout 20 node users.mjs
code_of() { local code=0; timeout -s KILL "$2" node worker.mjs "$1" >/dev/null 2>&1 || code=$?; echo "$code"; }
informed=$(code_of informed 60)
plain=$(code_of plain 20)
echo 'bullmq 6.7.0'
echo "a timer of one second, with +info: exit code $informed"
echo "without INFO, killed after 20 seconds: exit code $plain"
[ "$informed" = 0 ] && [ "$plain" = 137 ]
[ -f plain.errors ] && echo 'without INFO: more than 1000 errors'
[ ! -f informed.errors ]
