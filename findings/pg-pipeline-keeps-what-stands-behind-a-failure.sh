#!/usr/bin/env bash
# Guess: a pipeline means the same in every client of Postgres, so what pg's `pipeline: true` sends behind a failed
# statement is not executed, as in libpq's pipeline.
# Seen: pg ends each statement with its own Sync. Statements before and behind the failed one are committed. psycopg,
# which uses libpq's pipeline, keeps none of the three: without BEGIN they are one transaction up to the Sync.
# Why it matters: an entry and its charge that are sent together are both kept or both undone in one client, and half
# kept in the other.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pg@8.23.1 >/dev/null
python=$(command -v python3 || true)
if [ -z "$python" ]; then echo 'this needs python3 with pip in PATH'; exit 1; fi
timeout 300 "$python" -m pip install -qq --disable-pip-version-check --root-user-action ignore --target lib \
  'psycopg[binary]==3.3.6'
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
import pg from 'pg';
const client = new pg.Client({ connectionString: process.env.DATABASE_URL, pipeline: true });
await client.connect();
const add = (value) => client.query('INSERT INTO in_node VALUES ($1::int)', [value]);
const sent = await Promise.allSettled([add('1'), add('none'), add('3')]);
const { rows } = await client.query('SELECT array_agg(n ORDER BY n) AS kept FROM in_node');
console.log(JSON.stringify({ sent: sent.map(({ status }) => status), kept: rows[0].kept }));
await client.end();
JS
cat >run.py <<'PY'
import json, os, sys
sys.path.insert(0, 'lib')
import psycopg
with psycopg.connect(os.environ['DATABASE_URL'], autocommit=True) as client:
    sent = []
    try:
        with client.pipeline():
            for value in ('1', 'none', '3'):
                client.execute('INSERT INTO in_libpq VALUES (%s::int)', [value])
    except psycopg.Error as error:
        sent.append(type(error).__name__)
    kept = client.execute('SELECT array_agg(n ORDER BY n) FROM in_libpq').fetchone()[0]
    print(json.dumps({'failed with': sent, 'kept': kept}))
PY
"$bin/psql" -q "$DATABASE_URL" -c 'CREATE TABLE in_node (n int)' -c 'CREATE TABLE in_libpq (n int)'
node_seen=$(timeout 60 node run.mjs)
libpq_seen=$(timeout 60 "$python" run.py)
echo "pg 8.23.1, pipeline: $node_seen"
echo "psycopg 3.3.6, pipeline: $libpq_seen"
[ "$node_seen" = '{"sent":["fulfilled","rejected","fulfilled"],"kept":[1,3]}' ]
[ "$libpq_seen" = '{"failed with": ["InvalidTextRepresentation"], "kept": null}' ]
