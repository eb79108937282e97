#!/usr/bin/env bash
# Guess: when a statement of a pipelined transaction fails, its COMMIT rejects, so awaiting the COMMIT is enough.
# Seen: with `pipeline: true` the COMMIT resolves. Its command is ROLLBACK, and nothing was written. Without a pipeline
# the first error would have kept most code from sending the COMMIT at all.
# Why it matters: an order that waits for its COMMIT alone is confirmed to the merchant and is not stored.
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
import pg from 'pg';
const client = new pg.Client({ connectionString: process.env.DATABASE_URL, pipeline: true });
await client.connect();
await client.query('CREATE TABLE orders (id int PRIMARY KEY)');
await client.query('INSERT INTO orders VALUES (2)');
const results = await Promise.allSettled(
  ['BEGIN', 'INSERT INTO orders VALUES (1)', 'INSERT INTO orders VALUES (2)', 'COMMIT'].map((text) => client.query(text)),
);
const seen = results.map(({ status, value, reason }) => `${status} ${value?.command ?? reason.code}`);
const { rows } = await client.query('SELECT id FROM orders');
console.log('pg 8.23.1', seen, 'stored:', rows);
assert.deepEqual(seen, ['fulfilled BEGIN', 'fulfilled INSERT', 'rejected 23505', 'fulfilled ROLLBACK']);
assert.deepEqual(rows, [{ id: 2 }]);
await client.end();
JS
timeout 60 node run.mjs
