#!/usr/bin/env bash
# Guess: a pooler passes on the SQLSTATE that Postgres would give: 53300 without a free connection, 3D000 for a database
# that does not exist.
# Seen: PgBouncer has 08P01 (protocol violation) for all of them: a full pooler, a wait that was too long, a database
# that it does not know, a parameter that it does not take. Only the message tells them apart.
# Why it matters: a client that retries by SQLSTATE gives up when the pool is busy, or retries a wrong setting for ever.
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
if ! command -v pgbouncer >/dev/null; then echo 'this needs pgbouncer in PATH'; exit 1; fi
pgbouncer --version | head -1
free_port() { node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })"; }
port=$(free_port)
pooler=$(free_port)
as=()
if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; as=(runuser -u postgres --); fi
"${as[@]}" "$bin/initdb" -D "$dir/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -w -t 30 -o "-p $port -k $dir -h 127.0.0.1" -l "$dir/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
cat >pooler.ini <<I
[databases]
postgres = host=127.0.0.1 port=$port user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
max_client_conn = 3
query_wait_timeout = 1
I
"${as[@]}" pgbouncer -q "$dir/pooler.ini" 2>/dev/null &
trap 'kill %1; "${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
const [direct, pooled] = process.argv.slice(2).map((port) => `postgres://postgres@127.0.0.1:${port}/postgres`);
const open = async (connectionString, options = {}) => {
  const client = new pg.Client({ connectionString, ...options });
  client.on('error', () => {});
  await client.connect();
  return client;
};
const refusal = (promise) => promise.then(() => 'no error', ({ code, message }) => `${code} ${message}`);
for (let i = 0; i < 50; i++) {
  const client = await open(pooled).catch(() => sleep(200));
  if (client) { await client.end(); break; }
}
const seen = {
  'no such database, direct': await refusal(open(`${direct}x`)),
  'no such database': await refusal(open(`${pooled}x`)),
  'statement_timeout at the start': await refusal(open(pooled, { statement_timeout: 500 })),
};
const holder = await open(pooled);
await holder.query('BEGIN');
const waiting = await open(pooled);
seen['no free server'] = await refusal(waiting.query('SELECT 1'));
await Promise.all([open(pooled), open(pooled)]);
seen['too many clients'] = await refusal(open(pooled));
console.log('pg 8.23.1', seen);
assert.match(seen['no such database, direct'], /^3D000 /);
for (const [name, refused] of Object.entries(seen)) if (!name.endsWith('direct')) assert.match(refused, /^08P01 /);
process.exit(0);
JS
timeout 60 node run.mjs "$port" "$pooler"
