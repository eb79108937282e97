#!/usr/bin/env bash
# Guess: behind a pooler in transaction mode a session's advisory lock fails, or is lost at the end of the transaction.
# Seen: the server connection keeps it. The next client that is given this connection gets the same lock, because one
# session may take it twice. `pg_advisory_unlock` of the first client answers false when it is given another connection,
# and the lock outlives both clients.
# Why it matters: two processes run the same migration or payout together, and later no other connection gets the lock.
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
const [direct, pooled] = process.argv.slice(2).map((port) => `postgres://postgres@127.0.0.1:${port}/postgres`);
const open = async (connectionString) => {
  const client = new pg.Client(connectionString);
  client.on('error', () => {});
  await client.connect();
  return client;
};
const ask = async (client, sql) => Object.values((await client.query(sql)).rows[0])[0];
for (let i = 0; i < 50; i++) {
  const client = await open(pooled).catch(() => sleep(200));
  if (client) { await client.end(); break; }
}
const clientsOf = async (url) => [await open(url), await open(url)];
const take = 'SELECT pg_try_advisory_lock(7)';
const seen = {};
const [first, second] = await clientsOf(direct);
seen['without a pooler'] = [await ask(first, take), await ask(second, take)];
await Promise.all([first.end(), second.end()]);
// The server ends a session shortly after its client has gone.
const observer = await open(direct);
while ((await ask(observer, "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'")) > 0) await sleep(100);
const [one, two] = await clientsOf(pooled);
seen['through PgBouncer'] = [await ask(one, take), await ask(two, take)];
await two.query('BEGIN'); // It now holds the connection that has the lock, so the first one gets another.
seen['unlocked by its owner'] = await ask(one, 'SELECT pg_advisory_unlock(7)');
await two.query('COMMIT');
await Promise.all([one.end(), two.end()]);
await sleep(500);
seen['left after both have gone'] = await ask(observer, "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'");
await observer.end();
console.log('pg 8.23.1', seen);
assert.deepEqual(seen, {
  'without a pooler': [true, false],
  'through PgBouncer': [true, true],
  'unlocked by its owner': false,
  'left after both have gone': 1,
});
process.exit(0);
JS
timeout 60 node run.mjs "$port" "$pooler"
