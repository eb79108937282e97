#!/usr/bin/env bash
# Guess: LISTEN through a pooler in transaction mode fails, or at worst its notifications are lost.
# Seen: LISTEN succeeds, and the server connection keeps it. What is sent while another client has that connection in a
# transaction is handed to this client, which never listened. What is sent while nobody has it is lost.
# Why it matters: a process wakes up for a channel of another one, and the process that waits for deposits never does.
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
I
"${as[@]}" pgbouncer -q "$dir/pooler.ini" 2>/dev/null &
trap 'kill %1; "${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
const [direct, pooled] = process.argv.slice(2).map((port) => `postgres://postgres@127.0.0.1:${port}/postgres`);
const heard = { listener: [], other: [] };
const open = async (connectionString, name) => {
  const client = new pg.Client(connectionString);
  client.on('error', () => {}).on('notification', ({ payload }) => heard[name].push(payload));
  await client.connect();
  return client;
};
for (let i = 0; i < 50; i++) {
  const client = await open(pooled).catch(() => sleep(200));
  if (client) { await client.end(); break; }
}
const [sender, listener, other] = [await open(direct), await open(pooled, 'listener'), await open(pooled, 'other')];
const { command } = await listener.query('LISTEN deposits');
await other.query('BEGIN');
await other.query('SELECT 1');
await sender.query("NOTIFY deposits, 'while another client is in a transaction'");
await sleep(500);
await other.query('COMMIT');
await sender.query("NOTIFY deposits, 'while nobody has the connection'");
await sleep(500);
await listener.query('SELECT 1');
await sleep(500);
console.log('pg 8.23.1', { command, heard });
assert.equal(command, 'LISTEN');
assert.deepEqual(heard, { listener: [], other: ['while another client is in a transaction'] });
process.exit(0);
JS
timeout 60 node run.mjs "$port" "$pooler"
