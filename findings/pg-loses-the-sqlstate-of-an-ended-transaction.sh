#!/usr/bin/env bash
# Guess: the statement after an idle transaction was ended rejects with SQLSTATE 25P03, so a retry can decide by it.
# Seen: pg hands 25P03 to the client's `error` event. The statement rejects with an Error that has no code, "Client has
# encountered a connection error and is not queryable". A server that is stopped between two statements does the same
# with 57P01. Only a statement that is running at that moment gets the code.
# Why it matters: a retry that decides by `error.code` takes the outage for a bug and fails the order.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pg@8.23.1 >/dev/null
bin=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -1 || true)
[ -n "$bin" ] || bin=$(command -v initdb || true)
if [ -z "$bin" ]; then echo 'this needs the programs of Postgres'; exit 1; fi
bin=$(dirname "$bin")
"$bin/postgres" --version
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
as=()
if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; as=(runuser -u postgres --); fi
"${as[@]}" "$bin/initdb" -D "$dir/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -w -t 30 -o "-p $port -k $dir -h 127.0.0.1" -l "$dir/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
export DATABASE_URL="postgres://postgres@127.0.0.1:$port/postgres"
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
const admin = new pg.Client(process.env.DATABASE_URL);
await admin.connect();
const open = async () => {
  const client = new pg.Client(process.env.DATABASE_URL);
  const events = [];
  client.on('error', ({ code }) => events.push(code));
  await client.connect();
  await client.query('BEGIN');
  return { client, events, pid: (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid };
};
const codeOf = (promise) => promise.then(() => 'no error', ({ code }) => code ?? 'no code');
const idle = await open();
await idle.client.query("SET LOCAL idle_in_transaction_session_timeout = '200ms'");
while (idle.events.length === 0) await sleep(50);
const between = await open();
await admin.query('SELECT pg_terminate_backend($1)', [between.pid]);
while (between.events.length === 0) await sleep(50);
const running = await open();
const asked = codeOf(running.client.query('SELECT pg_sleep(5)'));
await sleep(300);
await admin.query('SELECT pg_terminate_backend($1)', [running.pid]);
const seen = {
  'idle too long': [idle.events[0], await codeOf(idle.client.query('SELECT 1'))],
  'ended between statements': [between.events[0], await codeOf(between.client.query('SELECT 1'))],
  'ended while running': [await asked],
};
console.log('pg 8.23.1: code of the event, code of the statement', seen);
assert.deepEqual(seen, {
  'idle too long': ['25P03', 'no code'],
  'ended between statements': ['57P01', 'no code'],
  'ended while running': ['57P01'],
});
process.exit(0);
JS
timeout 60 node run.mjs
