#!/usr/bin/env bash
# Guess: INCRBY is exact up to 2^63, so a balance in sun can be counted in Redis and moved in a Lua script.
# Seen: Redis counts exactly, but ioredis makes a rounded number of the answer beyond 2^53. `stringNumbers`
# answers text. In a script the answer of INCRBY is rounded before Lua sees it, and GET plus 0 stores the rounded value.
# Why it matters: a budget in sun loses a sun at each script, and the ledger no longer adds up.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline ioredis@5.11.1 >/dev/null
if ! command -v redis-server >/dev/null; then echo 'this needs redis-server in PATH'; exit 1; fi
redis-server --version
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" >/dev/null &
trap 'kill %1; rm -rf "$dir"' EXIT
export REDIS_PORT=$port
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
const port = Number(process.env.REDIS_PORT);
const redis = new Redis({ port });
const text = new Redis({ port, stringNumbers: true });
const amount = '9007199254740993';
await redis.set('sun', amount);
const seen = {
  GET: await redis.get('sun'),
  INCRBY: await redis.incrby('sun', 0),
  'INCRBY, stringNumbers': await text.incrby('sun', 0),
  'INCRBY in a script': await text.eval("return redis.call('INCRBY', KEYS[1], 0)", 1, 'sun'),
  'still stored': await redis.get('sun'),
};
await redis.eval("redis.call('SET', KEYS[1], string.format('%.0f', redis.call('GET', KEYS[1]) + 0))", 1, 'sun');
seen['after GET + 0 in a script'] = await redis.get('sun');
console.log('ioredis 5.11.1', (await redis.info('server')).match(/redis_version:\S+/)[0], seen);
assert.deepEqual(seen, {
  GET: amount,
  INCRBY: 9007199254740992,
  'INCRBY, stringNumbers': amount,
  'INCRBY in a script': '9007199254740992',
  'still stored': amount,
  'after GET + 0 in a script': '9007199254740992',
});
process.exit(0);
JS
timeout 60 node run.mjs
