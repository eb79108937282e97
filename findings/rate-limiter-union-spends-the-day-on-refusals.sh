#!/usr/bin/env bash
# Guess: of several limits, a request that one of them refuses costs nothing in the others.
# Seen: RateLimiterUnion of rate-limiter-flexible takes points from each limit, also for a request that another one
# refuses. With 2 a second and 10 a day, a client that asks ten times in one second is served twice and has spent its
# day. Asked in turn, the second's limit first, the same client has 8 requests of the day left.
# Why it matters: a client with a short retry pause locks itself out until tomorrow, although each second has room.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline rate-limiter-flexible@11.4.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible';
const DAY_SEC = 86_400;
async function run(combine) {
  const second = new RateLimiterMemory({ keyPrefix: 'second', points: 2, duration: 1 });
  const day = new RateLimiterMemory({ keyPrefix: 'day', points: 10, duration: DAY_SEC });
  const consume = combine(second, day);
  const isServed = () => consume('merchant').then(() => true, () => false);
  const served = [];
  for (let i = 0; i < 10; i++) served.push(await isServed());
  const { remainingPoints } = await day.get('merchant');
  await sleep(1_100);
  return { served: served.filter(Boolean).length, 'left of the day': remainingPoints, 'served in the next second': await isServed() };
}
const seen = {
  union: await run((second, day) => {
    const union = new RateLimiterUnion(second, day);
    return (key) => union.consume(key);
  }),
  'in turn': await run((second, day) => async (key) => {
    await second.consume(key);
    await day.consume(key);
  }),
};
console.log('rate-limiter-flexible 11.4.0', seen);
assert.deepEqual(seen, {
  union: { served: 2, 'left of the day': 0, 'served in the next second': false },
  'in turn': { served: 2, 'left of the day': 8, 'served in the next second': true },
});
JS
timeout 60 node run.mjs
