#!/usr/bin/env bash
# Guess: an error with a cause is logged as its message, with the cause beside it as a member of its own.
# Seen: `err.message` in the line is both messages, joined by a colon. There is no member `cause`, and the cause's code
# is lost with it. `msg` of the same line is the message alone.
# Why it matters: a log alarm that groups by err.message sees a new error for each transaction that a cause names.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline pino@10.4.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import pino from 'pino';
let line = '';
const log = pino({ base: null, timestamp: false }, { write: (text) => { line = text; } });
const cause = Object.assign(new Error('TAPOS_ERROR of transaction 7f'), { code: 'TAPOS' });
log.error(new Error('failed to broadcast', { cause }));
const { err, msg } = JSON.parse(line);
const seen = { msg, 'err.message': err.message, members: Object.keys(err).join(), 'code of the cause': line.includes('"TAPOS"') };
console.log('pino 10.4.0', seen);
assert.deepEqual(seen, {
  msg: 'failed to broadcast',
  'err.message': 'failed to broadcast: TAPOS_ERROR of transaction 7f',
  members: 'type,message,stack',
  'code of the cause': false,
});
JS
timeout 60 node run.mjs
