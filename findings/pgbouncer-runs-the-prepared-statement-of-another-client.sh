#!/usr/bin/env bash
# Guess: behind a pooler in transaction mode, a prepared statement of another connection is missing, or its name is taken:
# an error.
# Seen: pg prepares a name once per client, and then only binds it. On a server connection where another client prepared
# the same name, PgBouncer 1.18 runs that client's SQL. Both clients get the other's rows without an error.
# Why it matters: two services, or two versions of one during an upgrade, that use the same statement name read and write
# by the other's SQL.
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
I
"${as[@]}" pgbouncer -q "$dir/pooler.ini" 2>/dev/null &
trap 'kill %1; "${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
const pooled = `postgres://postgres@127.0.0.1:${process.argv[2]}/postgres`;
const open = async () => {
  const client = new pg.Client(pooled);
  client.on('error', () => {});
  await client.connect();
  return client;
};
for (let i = 0; i < 50; i++) {
  const client = await open().catch(() => sleep(200));
  if (client) { await client.end(); break; }
}
const [one, two, holder] = [await open(), await open(), await open()];
const ask = (client, text) => client.query({ name: 'read', text, values: [1] }).then(({ rows }) => rows, ({ code }) => code);
const askOne = () => ask(one, 'SELECT 5 AS balance WHERE $1 = 1');
const askTwo = () => ask(two, 'SELECT 900 AS credit_limit WHERE $1 = 1');
const seen = { 'first, on server connection 1': await askOne() };
await one.query('BEGIN'); // Holds connection 1, so the second client gets connection 2.
seen['second, on server connection 2'] = await askTwo();
await two.query('BEGIN');
await one.query('COMMIT');
await holder.query('BEGIN'); // Holds connection 1.
await two.query('COMMIT');
seen['first, on server connection 2'] = await askOne();
await one.query('BEGIN');
await holder.query('COMMIT');
seen['second, on server connection 1'] = await askTwo();
await one.query('COMMIT');
await Promise.all([one, two, holder].map((client) => client.end()));
console.log('pg 8.23.1', seen);
assert.deepEqual(seen, {
  'first, on server connection 1': [{ balance: 5 }],
  'second, on server connection 2': [{ credit_limit: 900 }],
  'first, on server connection 2': [{ credit_limit: 900 }],
  'second, on server connection 1': [{ balance: 5 }],
});
process.exit(0);
JS
timeout 60 node run.mjs "$pooler"
