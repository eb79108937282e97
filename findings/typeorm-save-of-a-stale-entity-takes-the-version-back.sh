#!/usr/bin/env bash
# Guess: with `@VersionColumn` a save of a stale entity is refused, or at least raises the version.
# Seen: `save` overwrites the newer row without an error and writes the stale version too: 2 becomes 1. `upsert` changes
# the row and leaves its version. `update` and `increment` raise it.
# Why it matters: a third writer that read version 1 then passes its check, although the row has changed twice.
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
const Order = new EntitySchema({
  name: 'order',
  columns: { id: { type: 'int', primary: true }, state: { type: 'text' }, paid: { type: 'int', default: 0 }, version: { type: 'int', version: true } },
});
const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Order], synchronize: true });
await source.initialize();
const orders = source.getRepository('order');
const version = async () => (await orders.findOneBy({ id: 1 })).version;
await orders.save({ id: 1, state: 'new' });
const [one, other] = [await orders.findOneBy({ id: 1 }), await orders.findOneBy({ id: 1 })];
const seen = { new: await version() };
await orders.save({ ...one, state: 'paid' });
seen['after a save'] = await version();
await orders.save({ ...other, state: 'expired' });
seen['after a stale save'] = await version();
seen.state = (await orders.findOneBy({ id: 1 })).state;
await orders.upsert({ id: 1, state: 'failed' }, ['id']);
seen['after upsert'] = await version();
await orders.update({ id: 1 }, { state: 'done' });
seen['after update'] = await version();
await orders.increment({ id: 1 }, 'paid', 1);
seen['after increment'] = await version();
console.log('typeorm 1.1.1, pg 8.23.1', seen);
assert.deepEqual(seen, {
  new: 1, 'after a save': 2, 'after a stale save': 1, state: 'expired', 'after upsert': 1, 'after update': 2, 'after increment': 3,
});
await source.destroy();
JS
timeout 60 node run.mjs
