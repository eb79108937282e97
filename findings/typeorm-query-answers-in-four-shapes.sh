#!/usr/bin/env bash
# Guess: `query()` answers rows, also for INSERT, UPDATE and DELETE … RETURNING and for several statements.
# Seen: SELECT and INSERT … RETURNING answer the rows. UPDATE and DELETE answer a pair of rows and count. Two statements
# in one text answer undefined, although both ran. `const [row] = await query('UPDATE … RETURNING id')` is the list of
# rows, and true in an `if` when no row changed.
# Why it matters: a claim by UPDATE … RETURNING seems to succeed for every caller.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline typeorm@1.1.1 pg@8.23.1 reflect-metadata@0.2.2 >/dev/null
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
import { DataSource } from 'typeorm';
const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL });
await source.initialize();
await source.query('CREATE TABLE leg (id int)');
const seen = {
  insert: await source.query('INSERT INTO leg VALUES (1) RETURNING id'),
  update: await source.query('UPDATE leg SET id = 2 WHERE id = 1 RETURNING id'),
  'update of no row': await source.query('UPDATE leg SET id = 2 WHERE id = 9 RETURNING id'),
  delete: await source.query('DELETE FROM leg WHERE id = 9'),
  'two statements': await source.query('SELECT 1 AS a; INSERT INTO leg VALUES (3)'),
  'rows after that': (await source.query('SELECT count(*)::int AS n FROM leg'))[0].n,
};
console.log('typeorm 1.1.1, pg 8.23.1', JSON.stringify(seen, (_, value) => value ?? 'undefined'));
assert.deepEqual(seen, {
  insert: [{ id: 1 }],
  update: [[{ id: 2 }], 1],
  'update of no row': [[], 0],
  delete: [[], 0],
  'two statements': undefined,
  'rows after that': 2,
});
await source.destroy();
JS
timeout 60 node run.mjs
