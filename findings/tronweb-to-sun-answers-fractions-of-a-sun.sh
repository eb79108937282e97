#!/usr/bin/env bash
# Guess: `TronWeb.toSun` answers whole sun: it rounds what is finer, or refuses it, as it refuses text that is no number.
# Seen: it multiplies and answers whatever results, as text: '1234567.8' for 1.2345678, '300000.00000000004' for
# 0.1 + 0.2, the text 'NaN' for '1,5', and '0' for undefined. It throws for null alone.
# Why it matters: `BigInt` of the fraction throws where the order is booked, far from the input; 'NaN' passes checks for a
# text that is not empty; and a forgotten argument becomes a price of 0.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { TronWeb } from 'tronweb';
const toSun = (trx) => { try { return TronWeb.toSun(trx); } catch { return 'it throws'; } };
const seen = [1.1, '1.2345678', 0.1 + 0.2, '1,5', undefined, null].map((trx) => [String(trx), toSun(trx)]);
console.log('tronweb 6.5.1', seen);
assert.deepEqual(seen, [
  ['1.1', '1100000'],
  ['1.2345678', '1234567.8'],
  ['0.30000000000000004', '300000.00000000004'],
  ['1,5', 'NaN'],
  ['undefined', '0'],
  ['null', 'it throws'],
]);
JS
timeout 60 node run.mjs
