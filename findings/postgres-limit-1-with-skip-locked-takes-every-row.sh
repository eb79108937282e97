#!/usr/bin/env bash
# Guess: an UPDATE that joins `(SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED)` takes one row of a queue.
# Seen: it takes all 20. The table was analysed while the queue was empty, so Postgres expects one waiting row and runs
# the subquery again for each row that it meets. Each run skips the rows that this statement has already changed. The
# subquery in a CTE, or after `=`, runs once and takes one row. No plan setting is changed.
# Why it matters: a claim of one job becomes a claim of all, under one lease, and only after a quiet time.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pg@8.23.1 >/dev/null
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
import assert from 'node:assert/strict';
import pg from 'pg';
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
await client.query(`CREATE TABLE job (id bigint PRIMARY KEY, status text NOT NULL) WITH (autovacuum_enabled = off);
  CREATE INDEX ON job (id) WHERE status = 'new';
  INSERT INTO job SELECT n, 'done' FROM generate_series(1, 2000) n;
  ANALYZE job;
  INSERT INTO job SELECT n, 'new' FROM generate_series(2001, 2020) n`);
const NEXT = `SELECT id FROM job WHERE status = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`;
const TAKE = `UPDATE job SET status = 'taken'`;
const statements = {
  'FROM (SELECT … LIMIT 1)': `${TAKE} FROM (${NEXT}) next WHERE job.id = next.id AND job.status = 'new'`,
  'WITH (SELECT … LIMIT 1)': `WITH next AS (${NEXT}) ${TAKE} FROM next WHERE job.id = next.id AND job.status = 'new'`,
  '= (SELECT … LIMIT 1)': `${TAKE} WHERE id = (${NEXT}) AND status = 'new'`,
};
const taken = {};
for (const [form, text] of Object.entries(statements)) {
  await client.query('BEGIN');
  taken[form] = (await client.query(text)).rowCount;
  await client.query('ROLLBACK');
}
await client.query('ANALYZE job');
await client.query('BEGIN');
taken['FROM, analysed with 20 waiting rows'] = (await client.query(statements['FROM (SELECT … LIMIT 1)'])).rowCount;
console.log('pg 8.23.1: rows taken', taken);
assert.deepEqual(Object.values(taken), [20, 1, 1, 1]);
await client.end();
JS
timeout 60 node run.mjs
