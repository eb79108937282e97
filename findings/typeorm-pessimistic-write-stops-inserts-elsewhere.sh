#!/usr/bin/env bash
# Guess: `pessimistic_write` on a merchant's row stops others that lock or change this row, and nothing else.
# Seen: it also stops each INSERT of a row that refers to the merchant: its foreign key locks the merchant's row as FOR
# KEY SHARE, which conflicts with FOR UPDATE. An UPDATE of the balance does not stop it, nor does the mode
# 'for_no_key_update', which still excludes other writers.
# Why it matters: a lock taken "for the balance" makes each new order of the merchant wait for that transaction.
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
const Merchant = new EntitySchema({
  name: 'merchant',
  columns: { id: { type: 'int', primary: true }, credits: { type: 'bigint', default: 0 } },
});
const Order = new EntitySchema({
  name: 'order',
  columns: { id: { type: 'int', primary: true, generated: 'increment' } },
  relations: { merchant: { type: 'many-to-one', target: 'merchant' } },
});
const source = new DataSource({
  type: 'postgres', url: process.env.DATABASE_URL, entities: [Merchant, Order], synchronize: true,
  extra: { options: '-c lock_timeout=300' },
});
await source.initialize();
await source.getRepository('merchant').insert({ id: 1 });
const lock = (mode) => (manager) => manager.findOne('merchant', { where: { id: 1 }, lock: { mode } });
const holders = {
  'UPDATE of the balance': (manager) => manager.update('merchant', { id: 1 }, { credits: 5 }),
  for_no_key_update: lock('for_no_key_update'),
  pessimistic_write: lock('pessimistic_write'),
};
const seen = {};
for (const [name, hold] of Object.entries(holders)) {
  await source.transaction(async (manager) => {
    await hold(manager);
    const outcome = (promise) => promise.then(() => 'goes through', ({ code }) => code);
    seen[name] = {
      'INSERT of an order': await outcome(source.getRepository('order').insert({ merchant: { id: 1 } })),
      'another UPDATE': await outcome(source.getRepository('merchant').update({ id: 1 }, { credits: 6 })),
    };
  });
}
console.log('typeorm 1.1.1, pg 8.23.1: while a transaction holds the row', seen);
const [updated, noKey, write] = Object.values(seen).map(Object.values);
assert.deepEqual([updated, noKey, write], [['goes through', '55P03'], ['goes through', '55P03'], ['55P03', '55P03']]);
await source.destroy();
JS
timeout 60 node run.mjs
