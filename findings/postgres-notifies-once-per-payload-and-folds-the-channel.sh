#!/usr/bin/env bash
# Guess: each NOTIFY of a transaction arrives, and `LISTEN OrderPaid` hears `pg_notify('OrderPaid', …)`.
# Seen: equal payloads of one transaction arrive once. LISTEN folds a bare name to lower case, and pg_notify does not:
# nothing arrives and nothing fails. A listener whose own transaction is open hears nothing until it ends.
# Why it matters: two equal deposits in one block wake the crediting process once, so it must read the table, not count.
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
const open = async () => { const client = new pg.Client(process.env.DATABASE_URL); await client.connect(); return client; };
const sender = await open();
const listener = await open();
const heard = [];
listener.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`));
const hear = async () => { await sleep(500); return heard.splice(0); };
await listener.query('LISTEN deposit');
await listener.query('LISTEN OrderPaid');
await sender.query('BEGIN');
for (const payload of ['5 USDT', '5 USDT', '7 USDT']) await sender.query("SELECT pg_notify('deposit', $1)", [payload]);
await sender.query('COMMIT');
const seen = { 'three notifications': await hear() };
await sender.query("SELECT pg_notify('OrderPaid', 'by function')");
await sender.query("NOTIFY OrderPaid, 'by statement'");
seen['two of OrderPaid'] = await hear();
await listener.query('BEGIN');
await listener.query('SELECT 1');
await sender.query("NOTIFY deposit, 'late'");
seen['in an open transaction'] = await hear();
await listener.query('COMMIT');
seen['after its end'] = await hear();
console.log('pg 8.23.1', (await sender.query('SHOW server_version')).rows[0], seen);
assert.deepEqual(seen, {
  'three notifications': ['deposit 5 USDT', 'deposit 7 USDT'],
  'two of OrderPaid': ['orderpaid by statement'],
  'in an open transaction': [],
  'after its end': ['deposit late'],
});
process.exit(0);
JS
timeout 60 node run.mjs
