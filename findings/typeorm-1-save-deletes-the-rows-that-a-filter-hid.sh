#!/usr/bin/env bash
# Guess: `save` of an order whose entries were loaded by a filter writes the order and the entries that it holds. At
# worst it fails, as in TypeORM 0.3.
# Seen: an entry that is not in the loaded list counts as an orphan. TypeORM 0.3 sets its foreign key to null, so the
# NOT NULL column refuses and nothing is saved. TypeORM 1 deletes the row, with and without `cascade`, and `save`
# resolves. With `orphanedRowAction: 'disable'` on the relation of the entry both leave the row alone.
# Why it matters: after the upgrade a status change of an order deletes the ledger entries that the filter had left
# out.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline \
  old@npm:typeorm@0.3.31 new@npm:typeorm@1.1.1 pg@8.23.1 reflect-metadata@0.2.2 >/dev/null
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
import * as newer from 'new';
import * as older from 'old';
async function run({ DataSource, EntitySchema }, { cascade, orphanedRowAction }) {
  const order = { type: 'many-to-one', target: 'order', inverseSide: 'entries', nullable: false, orphanedRowAction };
  const entries = { type: 'one-to-many', target: 'entry', inverseSide: 'order', cascade };
  const Order = new EntitySchema({ name: 'order', columns: { id: { type: 'int', primary: true }, status: { type: 'text' } }, relations: { entries } });
  const Entry = new EntitySchema({ name: 'entry', columns: { id: { type: 'int', primary: true }, sun: { type: 'bigint' } }, relations: { order } });
  const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Order, Entry], synchronize: true, dropSchema: true });
  await source.initialize();
  const orders = source.getRepository('order');
  await orders.insert({ id: 1, status: 'new' });
  await source.getRepository('entry').insert([{ id: 1, sun: '5', order: { id: 1 } }, { id: 2, sun: '7', order: { id: 1 } }]);
  const loaded = await orders.findOne({ where: { id: 1, entries: { sun: '5' } }, relations: { entries: true } });
  const saved = await orders.save({ ...loaded, status: 'paid' }).then(() => 'saved', ({ code }) => code);
  const left = await source.query('SELECT id FROM entry ORDER BY id');
  await source.destroy();
  return [saved, left.map(({ id }) => id)];
}
const seen = {};
for (const [version, typeorm] of [['0.3.31', older], ['1.1.1', newer]]) {
  seen[`${version}, cascade`] = await run(typeorm, { cascade: true });
  seen[`${version}, no cascade`] = await run(typeorm, { cascade: false });
  seen[`${version}, 'disable'`] = await run(typeorm, { cascade: true, orphanedRowAction: 'disable' });
}
console.log('typeorm, pg 8.23.1: save, and the entries of two that are left', seen);
assert.deepEqual(seen, {
  '0.3.31, cascade': ['23502', [1, 2]],
  '0.3.31, no cascade': ['23502', [1, 2]],
  "0.3.31, 'disable'": ['saved', [1, 2]],
  '1.1.1, cascade': ['saved', [1]],
  '1.1.1, no cascade': ['saved', [1]],
  "1.1.1, 'disable'": ['saved', [1, 2]],
});
process.exit(0);
JS
timeout 90 node run.mjs
