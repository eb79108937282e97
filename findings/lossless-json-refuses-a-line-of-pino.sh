#!/usr/bin/env bash
# Guess: a line of pino is JSON, so each JSON reader makes the same object of it.
# Seen: a field that a child logger has and the call sets again is written twice. JSON.parse takes the last value.
# lossless-json throws "Duplicate key", but only when the two values differ: twice the same value is fine, and 1 and 1.0
# differ. A bigint is a bare number in the line, which JSON.parse rounds.
# Why it matters: a log reader that was made lossless for amounts in sun drops just the lines that changed a field.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pino@10.4.0 lossless-json@4.3.3 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { parse } from 'lossless-json';
import pino from 'pino';
const lineOf = (log) => { let line = ''; log(pino({ base: null, timestamp: false }, { write: (text) => { line = text.trim(); } })); return line; };
const outcome = (read) => { try { return read(); } catch (error) { return error.message.replace(/ encountered.*/, ''); } };
const changed = lineOf((log) => log.child({ state: 'new' }).info({ state: 'paid' }));
const same = lineOf((log) => log.child({ state: 'paid' }).info({ state: 'paid' }));
const amount = lineOf((log) => log.info({ sun: 9_007_199_254_740_993n }));
const seen = {
  changed,
  'JSON.parse': JSON.parse(changed).state,
  'lossless-json': outcome(() => parse(changed).state),
  'lossless-json, same value': outcome(() => parse(same).state),
  'lossless-json, 1 and 1.0': outcome(() => parse('{"a":1,"a":1.0}').a),
  amount,
  'JSON.parse of the amount': JSON.parse(amount).sun,
  'lossless-json of the amount': String(parse(amount).sun),
};
console.log('pino 10.4.0, lossless-json 4.3.3', seen);
assert.deepEqual(seen, {
  changed: '{"level":30,"state":"new","state":"paid"}',
  'JSON.parse': 'paid',
  'lossless-json': "Duplicate key 'state'",
  'lossless-json, same value': 'paid',
  'lossless-json, 1 and 1.0': "Duplicate key 'a'",
  amount: '{"level":30,"sun":9007199254740993}',
  'JSON.parse of the amount': 9007199254740992,
  'lossless-json of the amount': '9007199254740993',
});
JS
timeout 60 node run.mjs
