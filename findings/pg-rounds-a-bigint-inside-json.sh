#!/usr/bin/env bash
# Guess: pg answers a bigint as text, so that it stays exact, and does so wherever a row holds one.
# Seen: a bigint column and a bigint[] are text. The same value inside json or jsonb (json_build_object, json_agg, row_to_json)
# is a number, rounded beyond 2^53 - 1. Postgres itself writes and compares it exactly.
# Why it matters: a query that is rewritten to read an order with its entries at once rounds their amounts, and code that
# adds texts as BigInt throws for the small ones.
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
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
const { rows } = await client.query(`SELECT sun AS "column", ARRAY[sun] AS list, json_build_object('sun', sun) AS json,
    jsonb_build_object('sun', sun) AS jsonb, json_build_object('sun', sun)::text AS json_as_text
  FROM (SELECT 9007199254740993::bigint AS sun) entry`);
console.log('pg 8.23.1', rows[0]);
assert.deepEqual(rows[0], {
  column: '9007199254740993',
  list: ['9007199254740993'],
  json: { sun: 9007199254740992 },
  jsonb: { sun: 9007199254740992 },
  json_as_text: '{"sun" : 9007199254740993}',
});
await client.end();
JS
timeout 60 node run.mjs
