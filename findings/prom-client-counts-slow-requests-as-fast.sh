#!/usr/bin/env bash
# Guess: a histogram sorts its buckets, or refuses a list that is not in order.
# Seen: prom-client keeps the order. An observation goes into the first bucket of the list that holds it, and the
# counts are added up in the order of the list. With the objective of 0.2 s behind the buckets [0.1, 1, 10], a request
# of 0.9 s counts in le="0.2", and so does one of 9 s. A list in order is right.
# Why it matters: `[...exponentialBuckets(…), objective]` makes each request meet the objective, and its alert never
# fires.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline prom-client@15.1.3 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import client from 'prom-client';
const run = async (buckets) => {
  const registry = new client.Registry();
  const histogram = new client.Histogram({ name: 'request_seconds', help: 'Duration.', buckets, registers: [registry] });
  for (const seconds of [0.05, 0.9, 9]) histogram.observe(seconds);
  const text = await registry.metrics();
  return Object.fromEntries([...text.matchAll(/le="(.+)"} (\d)/g)].map(([, bound, count]) => [bound, Number(count)]));
};
const exponential = client.exponentialBuckets(0.1, 10, 3);
const seen = { 'in order': await run([0.1, 0.2, 1, 10]), 'the objective last': await run([...exponential, 0.2]) };
console.log('prom-client 15.1.3: 0.05 s, 0.9 s and 9 s in buckets', seen);
assert.deepEqual(seen, {
  'in order': { 0.1: 1, 0.2: 1, 1: 2, 10: 3, '+Inf': 3 },
  'the objective last': { 0.1: 1, 1: 2, 10: 3, 0.2: 3, '+Inf': 3 },
});
JS
timeout 60 node run.mjs
