#!/usr/bin/env bash
# Guess: `decrement` of a bigint column by 0.5 is refused, as Postgres refuses '0.5' for a bigint parameter.
# Seen: TypeORM writes the number into the SQL text, where it is a numeric. The result is rounded to a whole, a half
# upwards away from zero: `decrement` by 0.5 takes nothing, `increment` by 0.5 adds 1, and 0.4 changes nothing either
# way. An amount in text is written alike: '1e3' adds 1000. As a parameter each fraction is refused.
# Why it matters: a fee that comes out as half a sun moves money into being: one account pays 0 and the other gets 1.
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
/** The balance of an account of 10 sun after a change. */
const after = async (change) => {
  await accounts.clear();
  await accounts.insert({ id: 1, sun: '10' });
  const refusal = await change().then(() => undefined, ({ message }) => message);
  return refusal ?? (await accounts.findOneBy({ id: 1 })).sun;
};
const seen = {
  'decrement 0.5': await after(() => accounts.decrement({ id: 1 }, 'sun', 0.5)),
  'increment 0.5': await after(() => accounts.increment({ id: 1 }, 'sun', 0.5)),
  'decrement 0.4': await after(() => accounts.decrement({ id: 1 }, 'sun', 0.4)),
  "increment '1e3'": await after(() => accounts.increment({ id: 1 }, 'sun', '1e3')),
  'a parameter of 0.5': await after(() => source.query('UPDATE account SET sun = sun - $1', [0.5])),
};
console.log('typeorm 1.1.1, pg 8.23.1: 10 sun become', seen);
assert.deepEqual(seen, {
  'decrement 0.5': '10',
  'increment 0.5': '11',
  'decrement 0.4': '10',
  "increment '1e3'": '1010',
  'a parameter of 0.5': 'invalid input syntax for type bigint: "0.5"',
});
await source.destroy();
JS
timeout 60 node run.mjs
