#!/usr/bin/env bash
# Guess: two nested `manager.transaction` in a Promise.all are two savepoints, and end as they would one after another.
# Seen: one depth counter names the savepoints of both. Both open "typeorm_1" and release "typeorm_2", which does not
# exist. So all three transactions fail, although no statement of their work did. The outer one also rolls back to a
# savepoint only. Its connection returns to the pool inside the failed transaction, and later queries on it fail with
# 25P02. One after another, the same two commit.
# Why it matters: one pass that settles its items side by side makes unrelated requests fail until the process restarts.
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
const Item = new EntitySchema({ name: 'item', columns: { id: { type: 'text', primary: true } } });
const run = async (way) => {
  const statements = [];
  const source = new DataSource({
    type: 'postgres', url: process.env.DATABASE_URL, entities: [Item], synchronize: true, dropSchema: true,
  });
  await source.initialize();
  const outcome = await source
    .transaction(async (outer) => {
      const query = outer.queryRunner.query.bind(outer.queryRunner);
      outer.queryRunner.query = (text, ...rest) => (statements.push(text), query(text, ...rest));
      await way((id) => outer.transaction((inner) => inner.insert('item', { id })));
    })
    .then(() => 'committed', ({ code }) => code);
  const queries = [];
  for (let i = 0; i < 3; i++) {
    queries.push(await source.query('SELECT id FROM item ORDER BY id').then((rows) => rows.map(({ id }) => id), ({ code }) => code));
  }
  await source.destroy();
  return { outcome, 'queries afterwards': queries, savepoints: statements.filter((text) => text.includes('SAVEPOINT')) };
};
const seen = {
  'one after another': await run(async (insert) => { await insert('a'); await insert('b'); }),
  'side by side': await run((insert) => Promise.all([insert('a'), insert('b')])),
};
console.log('typeorm 1.1.1, pg 8.23.1');
console.dir(seen, { depth: 4 });
assert.equal(seen['one after another'].outcome, 'committed');
assert.deepEqual(seen['one after another']['queries afterwards'], Array(3).fill(['a', 'b']));
assert.notEqual(seen['side by side'].outcome, 'committed');
assert.deepEqual(seen['side by side']['queries afterwards'], Array(3).fill('25P02'));
assert.deepEqual(seen['side by side'].savepoints.slice(0, 3), ['SAVEPOINT typeorm_1', 'SAVEPOINT typeorm_1', 'RELEASE SAVEPOINT typeorm_2']);
JS
timeout 60 node --no-deprecation run.mjs
