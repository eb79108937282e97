#!/usr/bin/env bash
# Guess: after `insert().values([a, b, c]).orIgnore()` the ids are on the objects that were inserted.
# Seen: the database returns rows for the inserted ones only, and TypeORM hands them out in order. When b was ignored, b
# gets the id of c, and c gets none. `identifiers` has the same shift.
# Why it matters: the code that goes on with b's id, say to pay or to deliver, works on another merchant's row.
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
import { DataSource, EntitySchema } from 'typeorm';
const Deposit = new EntitySchema({
  name: 'deposit',
  columns: { id: { type: 'int', primary: true, generated: 'increment' }, tx: { type: 'text', unique: true } },
});
const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Deposit], synchronize: true });
await source.initialize();
const deposits = source.getRepository('deposit');
await deposits.insert({ tx: 'b' });
const given = [{ tx: 'a' }, { tx: 'b' }, { tx: 'c' }];
const { identifiers } = await deposits.createQueryBuilder().insert().values(given).orIgnore().execute();
const stored = Object.fromEntries((await deposits.find()).map(({ tx, id }) => [tx, id]));
const handed = Object.fromEntries(given.map(({ tx, id }) => [tx, id]));
console.log('typeorm 1.1.1, pg 8.23.1', { stored, handed, identifiers });
assert.equal(handed.a, stored.a);
assert.equal(handed.b, stored.c);
assert.equal(handed.c, undefined);
assert.deepEqual(identifiers, [{ id: stored.a }, { id: stored.c }, undefined]);
await source.destroy();
JS
timeout 60 node run.mjs
