#!/usr/bin/env bash
# Guess: `save` compares values, so an entity whose amount is assigned again, as the same number, causes no UPDATE.
# Seen: the loaded bigint is the text '5'. The number 5 and the bigint 5n differ from it, and so does '1.5' from the
# numeric '1.500000': each save writes the row and raises its version. Saved as it was loaded, the row is left alone.
# Why it matters: jobs that "only save on change" write each time, and their triggers and version checks fire.
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
const Wallet = new EntitySchema({
  name: 'wallet',
  columns: {
    id: { type: 'int', primary: true },
    sun: { type: 'bigint' },
    price: { type: 'numeric', precision: 20, scale: 6 },
    version: { type: 'int', version: true },
  },
});
const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Wallet], synchronize: true });
await source.initialize();
const wallets = source.getRepository('wallet');
await wallets.insert({ id: 1, sun: '5', price: '1.5' });
const writes = async (change) => {
  const loaded = await wallets.findOneBy({ id: 1 });
  await wallets.save({ ...loaded, ...change });
  return (await wallets.findOneBy({ id: 1 })).version - loaded.version;
};
const seen = {
  'as loaded': await writes({}),
  'sun: 5': await writes({ sun: 5 }),
  'sun: 5n': await writes({ sun: 5n }),
  "price: '1.5'": await writes({ price: '1.5' }),
  "price: '1.500000'": await writes({ price: '1.500000' }),
};
console.log('typeorm 1.1.1, pg 8.23.1: versions raised', seen);
assert.deepEqual(seen, { 'as loaded': 0, 'sun: 5': 1, 'sun: 5n': 1, "price: '1.5'": 1, "price: '1.500000'": 0 });
await source.destroy();
JS
timeout 60 node run.mjs
