#!/usr/bin/env bash
# Guess: `findOneBy({ key: null })` finds the row whose key is NULL, and with undefined no row, or any.
# Seen: TypeORM 0.3 drops both conditions and answers the first row of the table. TypeORM 1 throws for both, and asks for
# IsNull(); `findBy({})` still answers every row. `delete` differs: 0.3 deletes no row for either, 1 throws too.
# Why it matters: an upgrade turns a look-up that was wrong without a sound into an error of the request; a query that is
# tried in 0.3 first finds another customer's order.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline typeorm0@npm:typeorm@0.3.28 typeorm1@npm:typeorm@1.1.1 pg@8.23.1 reflect-metadata@0.2.2 >/dev/null
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
import * as typeorm0 from 'typeorm0';
import * as typeorm1 from 'typeorm1';
const attempt = (promise) => promise.catch(({ message }) => message.replace(/ encountered.*/s, ' encountered'));
const tryWith = async ({ DataSource, EntitySchema }, name) => {
  const Order = new EntitySchema({ name, columns: { id: { type: 'int', primary: true }, key: { type: 'text', nullable: true } } });
  const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Order], synchronize: true });
  await source.initialize();
  const orders = source.getRepository(name);
  await orders.insert([{ id: 1, key: 'of another customer' }, { id: 2, key: null }]);
  const idOf = (found) => found?.id ?? found;
  const seen = {
    'findOneBy null': idOf(await attempt(orders.findOneBy({ key: null }))),
    'findOneBy undefined': idOf(await attempt(orders.findOneBy({ key: undefined }))),
    'delete null': await attempt(orders.delete({ key: null }).then(({ affected }) => affected)),
    'findBy {}': (await orders.findBy({})).length,
  };
  await source.destroy();
  return seen;
};
const seen = { '0.3.28': await tryWith(typeorm0, 'order_of_0'), '1.1.1': await tryWith(typeorm1, 'order_of_1') };
console.log('typeorm', seen);
assert.deepEqual(seen, {
  '0.3.28': { 'findOneBy null': 1, 'findOneBy undefined': 1, 'delete null': 0, 'findBy {}': 2 },
  '1.1.1': {
    'findOneBy null': 'Null value encountered',
    'findOneBy undefined': 'Undefined value encountered',
    'delete null': 'Null value encountered',
    'findBy {}': 2,
  },
});
JS
timeout 60 node run.mjs
