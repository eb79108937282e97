#!/usr/bin/env bash
# Guess: row-level security adds its condition to the query, and the indexes that served the query still do.
# Seen: an index serves a row-secured table only for comparisons that Postgres calls leakproof. `=` of text and integers
# is; `=` of an enum and of numeric, LIKE, @> and lower() are not. The same query of the same rows reads the whole table
# for a role with a policy, and uses the index for the owner.
# Why it matters: with a status that is an enum, a list of open orders reads all rows of the tenant, and those of all
# tenants without an index on the tenant. No test finds it that runs as the owner.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
bin=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -1 || true)
[ -n "$bin" ] || bin=$(command -v initdb || true)
if [ -z "$bin" ]; then echo 'this needs the programs of Postgres'; exit 1; fi
bin=$(dirname "$bin")
"$bin/postgres" --version
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pg@8.23.1 >/dev/null
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
as=()
if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; as=(runuser -u postgres --); fi
"${as[@]}" "$bin/initdb" -D "$dir/data" -A trust -U postgres >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -w -t 30 -o "-p $port -k $dir -h 127.0.0.1" -l "$dir/log" start >/dev/null
trap '"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import pg from 'pg';
const client = new pg.Client(`postgres://postgres@127.0.0.1:${process.argv[2]}/postgres`);
await client.connect();
await client.query(`
  CREATE TYPE status AS ENUM ('open', 'done');
  CREATE TABLE orders (id bigint PRIMARY KEY, tenant integer, status status, status_text text, amount numeric, receiver text, tags text[]);
  INSERT INTO orders
    SELECT i, i % 50, s::status, s, i, 'T' || md5(i::text), ARRAY[i::text]
      FROM generate_series(1, 20000) i, LATERAL (SELECT CASE WHEN i % 500 = 0 THEN 'open' ELSE 'done' END AS s) x;
  CREATE INDEX ON orders (status); CREATE INDEX ON orders (status_text); CREATE INDEX ON orders (amount);
  CREATE INDEX ON orders (receiver text_pattern_ops); CREATE INDEX ON orders (lower(receiver)); CREATE INDEX ON orders USING gin (tags);
  ANALYZE orders;
  ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
  CREATE ROLE tenant; GRANT SELECT ON orders TO tenant;
  CREATE POLICY own ON orders TO tenant USING (tenant = current_setting('app.tenant')::integer);
  SET app.tenant = '7'`);
const seen = {};
for (const condition of ["status_text = 'open'", 'id = 5', "status = 'open'", 'amount = 5', "receiver LIKE 'Tabc%'", "lower(receiver) = 'tabc'", "tags @> '{5}'"]) {
  const plans = {};
  for (const role of ['postgres', 'tenant']) {
    await client.query(`SET ROLE ${role}`);
    const { rows } = await client.query(`EXPLAIN SELECT * FROM orders WHERE ${condition}`);
    plans[role] = rows.some((row) => row['QUERY PLAN'].includes('Index Scan')) ? 'index' : 'whole table';
  }
  seen[condition] = `${plans.postgres}, ${plans.tenant}`;
}
await client.end();
console.log('for the owner, for the tenant:', seen);
assert.deepEqual(seen, {
  "status_text = 'open'": 'index, index',
  'id = 5': 'index, index',
  "status = 'open'": 'index, whole table',
  'amount = 5': 'index, whole table',
  "receiver LIKE 'Tabc%'": 'index, whole table',
  "lower(receiver) = 'tabc'": 'index, whole table',
  "tags @> '{5}'": 'index, whole table',
});
JS
timeout 60 node run.mjs "$port"
