#!/usr/bin/env bash
# Guess: a list given to `query()` for a jsonb column is stored as JSON, as an object is; or it is refused.
# Seen: pg writes each list as a Postgres array. A list with items is refused (22P02), and [] becomes the text {}, which
# is valid JSON: an empty object is stored. `query()` of TypeORM does the same; its repositories and postgres.js store
# [].
# Why it matters: the tests with items fail and are repaired; the empty case passes, and a reader's `for … of` then
# throws.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pg@8.23.1 postgres@3.4.9 typeorm@1.1.1 reflect-metadata@0.2.2 >/dev/null
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
import 'reflect-metadata';
import assert from 'node:assert/strict';
import pg from 'pg';
import postgres from 'postgres';
import { DataSource, EntitySchema } from 'typeorm';
const Order = new EntitySchema({
  name: 'order',
  columns: { id: { type: 'int', primary: true, generated: 'increment' }, legs: { type: 'jsonb' } },
});
const url = process.env.DATABASE_URL;
const source = new DataSource({ type: 'postgres', url, entities: [Order], synchronize: true });
await source.initialize();
const client = new pg.Client(url);
await client.connect();
const sql = postgres(url);
const TEXT = 'INSERT INTO "order" (legs) VALUES ($1) RETURNING legs';
const ways = {
  'pg query': async (value) => (await client.query(TEXT, [value])).rows[0].legs,
  'pg query, JSON.stringify': async (value) => (await client.query(TEXT, [JSON.stringify(value)])).rows[0].legs,
  'typeorm query': async (value) => (await source.query(TEXT, [value]))[0].legs,
  'typeorm save': async (value) => {
    const { id } = await source.getRepository('order').save({ legs: value });
    return (await source.getRepository('order').findOneBy({ id })).legs;
  },
  'postgres.js': async (value) => (await sql`INSERT INTO "order" (legs) VALUES (${value}) RETURNING legs`)[0].legs,
};
const seen = {};
for (const [way, insert] of Object.entries(ways)) {
  seen[way] = [];
  for (const value of [{}, [], [{ id: 1 }]]) {
    seen[way].push(await insert(value).then((stored) => JSON.stringify(stored), ({ code }) => code));
  }
}
console.log('pg 8.23.1, typeorm 1.1.1, postgres 3.4.9: {}, [] and [{"id":1}] are stored as', seen);
const asGiven = ['{}', '[]', '[{"id":1}]'];
const asArray = ['{}', '{}', '22P02'];
assert.deepEqual(Object.values(seen), [asArray, asGiven, asArray, asGiven, asGiven]);
await client.end();
await sql.end();
await source.destroy();
JS
timeout 60 node run.mjs
