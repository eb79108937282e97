#!/usr/bin/env bash
# Guess: a bigint column is text in TypeORM, because a number would round it, so `sum` of it is text too.
# Seen: entities carry the column as text, and `sum`, `minimum` and `maximum` answer a number that is rounded beyond
# 2^53 - 1. `increment` counts in the database and stays exact.
# Why it matters: a balance that is added up in sun no longer matches its ledger.
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
const Account = new EntitySchema({ name: 'account', columns: { id: { type: 'int', primary: true }, sun: { type: 'bigint' } } });
const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Account], synchronize: true });
await source.initialize();
const accounts = source.getRepository('account');
await accounts.insert({ id: 1, sun: '9007199254740993' });
const { sun } = await accounts.findOneBy({ id: 1 });
const seen = { entity: sun, sum: await accounts.sum('sun'), maximum: await accounts.maximum('sun') };
await accounts.increment({ id: 1 }, 'sun', 2);
seen['after increment by 2'] = (await accounts.findOneBy({ id: 1 })).sun;
console.log('typeorm 1.1.1, pg 8.23.1', seen);
assert.deepEqual(seen, {
  entity: '9007199254740993',
  sum: 9007199254740992,
  maximum: 9007199254740992,
  'after increment by 2': '9007199254740995',
});
await source.destroy();
JS
timeout 60 node run.mjs
