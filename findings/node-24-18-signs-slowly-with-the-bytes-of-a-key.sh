#!/usr/bin/env bash
# Guess: createHmac and createCipheriv take the bytes of a key as fast as a KeyObject, as they did for years; if a release
# changes that, the next one of the same line restores it.
# Seen: from 24.18 on to 24.21, the newest of the long-term line, the bytes cost some 10 µs more for each signature and
# cipher, which makes a webhook's signature four times as dear. A KeyObject costs the same as before. 24.17 and 26.10 show
# no difference. (Since nodejs/node#63111 the check for a KeyObject reads slots that the bytes do not have.)
# Why it matters: webhook libraries, quote sealing and request signatures pass bytes. A patch update of the image takes a
# tenth of the requests a second, and a benchmark on another line shows nothing.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 280 npm install --no-audit --no-fund --silent --prefer-offline before@npm:node@24.17.0 since@npm:node@24.18.0 newest@npm:node@24.21.0 \
  next@npm:node@26.10.0 >/dev/null
cat >run.mjs <<'JS'
import { createCipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto';
const bytes = randomBytes(32);
const object = createSecretKey(bytes);
const nonce = randomBytes(12);
const text = 'x'.repeat(500);
const sign = (key) => createHmac('sha256', key).update(text).digest();
const seal = (key) => createCipheriv('aes-256-gcm', key, nonce).update(text);
function timeOf(work, key) {
  const from = performance.now();
  for (let n = 0; n < 2000; n += 1) work(key);
  return (performance.now() - from) / 2;
}
// The two take turns, and the fastest turn counts, so that other programs on the machine make no difference.
function microseconds(work) {
  const best = { bytes: Infinity, object: Infinity };
  for (let turn = 0; turn < 30; turn += 1) {
    best.bytes = Math.min(best.bytes, timeOf(work, bytes));
    best.object = Math.min(best.object, timeOf(work, object));
  }
  return best;
}
const [signing, sealing] = [microseconds(sign), microseconds(seal)];
console.log(JSON.stringify({ version: process.version, signing, sealing }));
JS
cat >compare.mjs <<'JS'
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
for (const [name, isSlow] of [['before', false], ['since', true], ['newest', true], ['next', false]]) {
  const { bin } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
  const run = JSON.parse(execFileSync(`node_modules/${name}/${typeof bin === 'string' ? bin : bin.node}`, ['run.mjs'], { timeout: 60_000 }));
  for (const of of ['signing', 'sealing']) {
    const { bytes, object } = run[of];
    console.log(`Node ${run.version}, ${of}: bytes ${bytes.toFixed(1)} µs, KeyObject ${object.toFixed(1)} µs`);
    assert.equal(bytes / object > 2, isSlow, `${run.version}, ${of}: ${(bytes / object).toFixed(1)} times`);
  }
}
JS
timeout 240 node compare.mjs
