#!/usr/bin/env bash
# Guess: the next page of `MoreThan(last.createdAt)` begins after the last row, and rows are equal to their own time.
# Seen: the column of `@CreateDateColumn` has microseconds and the loaded Date milliseconds, so the row is later than
# its own time. Each page repeats the last row, and the page after the end is never empty. `findOneBy` with the loaded
# time finds nothing, and a DELETE of it deletes nothing. With `precision: 3` all three work.
# Why it matters: a job that reads "everything since" handles its last row again and again, or never ends.
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
import { DataSource, EntitySchema, MoreThan } from 'typeorm';
const entity = (name, options) =>
  new EntitySchema({
    name,
    columns: { id: { type: 'int', primary: true }, createdAt: { type: 'timestamptz', createDate: true, ...options } },
  });
const source = new DataSource({
  type: 'postgres', url: process.env.DATABASE_URL, entities: [entity('coarse', { precision: 3 }), entity('usual')],
  synchronize: true,
});
await source.initialize();
const seen = {};
for (const name of ['usual', 'coarse']) {
  const rows = source.getRepository(name);
  for (const [id, fraction] of [[1, '123456'], [2, '200456'], [3, '200789']]) {
    await source.query(`INSERT INTO ${name} (id, "createdAt") VALUES ($1, $2)`, [id, `2026-11-30T10:00:00.${fraction}Z`]);
  }
  const pages = [];
  let after = new Date(0);
  for (let i = 0; i < 4; i++) {
    const page = await rows.find({ where: { createdAt: MoreThan(after) }, order: { createdAt: 'ASC', id: 'ASC' }, take: 10 });
    pages.push(page.map(({ id }) => id));
    after = page.at(-1)?.createdAt ?? after;
  }
  const last = await rows.findOneBy({ id: 3 });
  const own = await rows.findBy({ createdAt: last.createdAt });
  const { affected } = await rows.delete({ createdAt: last.createdAt });
  seen[name] = { pages, 'found by its own time': own.map(({ id }) => id), 'deleted by its own time': affected };
}
console.log('typeorm 1.1.1, pg 8.23.1');
console.dir(seen, { depth: 4 });
assert.deepEqual(seen.usual, { pages: [[1, 2, 3], [2, 3], [2, 3], [2, 3]], 'found by its own time': [], 'deleted by its own time': 0 });
assert.deepEqual(seen.coarse.pages[1], []);
await source.destroy();
JS
timeout 60 node run.mjs
