#!/usr/bin/env bash
# Guess: `find` with `take: 1` and the lock option `onLocked: 'skip_locked'` gives the first free job, also with
# relations.
# Seen: with a relation it gives nothing while another worker holds the first job, although two more are free. TypeORM
# sends two statements: one chooses the ids without a lock, the other locks and skips the chosen row. `limit(1)` of the
# query builder, or `take` without a relation, gives job 2.
# Why it matters: workers that take jobs with their parts run one after another, and each idle pass looks like an empty
# queue.
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
const Job = new EntitySchema({
  name: 'job',
  columns: { id: { type: 'int', primary: true } },
  relations: { parts: { type: 'one-to-many', target: 'part', inverseSide: 'job' } },
});
const Part = new EntitySchema({
  name: 'part',
  columns: { id: { type: 'int', primary: true } },
  relations: { job: { type: 'many-to-one', target: 'job', inverseSide: 'parts' } },
});
const source = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Job, Part], synchronize: true });
await source.initialize();
await source.getRepository('job').insert([{ id: 1 }, { id: 2 }, { id: 3 }]);
await source.getRepository('part').insert([1, 2, 3].map((id) => ({ id, job: { id } })));
const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked', tables: ['job'] };
const builder = (manager) =>
  manager.getRepository('job').createQueryBuilder('job').innerJoinAndSelect('job.parts', 'part').orderBy('job.id')
    .setLock('pessimistic_write', undefined, ['job']).setOnLocked('skip_locked');
const ways = {
  'find, take: 1': (manager) => manager.find('job', { order: { id: 'ASC' }, take: 1, lock }),
  'find, take: 1, relations': (manager) =>
    manager.find('job', { order: { id: 'ASC' }, take: 1, lock, relations: { parts: true } }),
  'builder, join, take(1)': (manager) => builder(manager).take(1).getMany(),
  'builder, join, limit(1)': (manager) => builder(manager).limit(1).getMany(),
};
const seen = {};
for (const [way, takeJob] of Object.entries(ways)) {
  const idsOf = (jobs) => jobs.map(({ id }) => id);
  await source.transaction(async (first) => {
    seen[way] = { first: idsOf(await takeJob(first)) };
    seen[way].second = await source.transaction(async (second) => idsOf(await takeJob(second)));
  });
}
console.log('typeorm 1.1.1, pg 8.23.1: jobs of two workers', seen);
const free = { first: [1], second: [2] };
const none = { first: [1], second: [] };
assert.deepEqual(Object.values(seen), [free, none, none, free]);
await source.destroy();
JS
timeout 60 node run.mjs
