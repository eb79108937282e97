#!/usr/bin/env bash
# Guess: `query_timeout` of pg ends the statement, and the connection is free for the next one.
# Seen: it rejects in the client alone. The server goes on with the statement and its locks, and the next statements of
# the same client wait behind it and run into the timeout too. `statement_timeout` is what ends the statement.
# Why it matters: a slow charge that was reported as failed takes effect a moment later.
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
await admin.query('CREATE TABLE charge (id int)');
const client = new pg.Client({ connectionString: process.env.DATABASE_URL, query_timeout: 300 });
await client.connect();
const outcome = (promise) => promise.then(() => 'done', ({ message }) => message);
const rows = async () => (await admin.query('SELECT count(*)::int AS n FROM charge')).rows[0].n;
const charge = await outcome(client.query('INSERT INTO charge SELECT 1 FROM pg_sleep(2)'));
const seen = { charge, 'rows then': await rows(), 'next statement': await outcome(client.query('SELECT 1')) };
for (let i = 0; i < 100 && (await rows()) === 0; i++) await sleep(100);
seen['rows later'] = await rows();
console.log('pg 8.23.1', seen);
assert.deepEqual(seen, { charge: 'Query read timeout', 'rows then': 0, 'next statement': 'Query read timeout', 'rows later': 1 });
process.exit(0);
JS
timeout 60 node run.mjs
