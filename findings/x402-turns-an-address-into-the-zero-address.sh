#!/usr/bin/env bash
# Guess: toBase58 and toEvmHex of a TRON payment library are inverse.
# Seen: toBase58 of @bankofai/x402 writes no checksum: 29 characters that begin with 5, instead of 34 with T. toEvmHex
# does not know that text, answers the zero address and only warns on the console, so the way back ends there.
# Why it matters: a refund to the converted address of a payer goes to T9yD14…, which nobody can spend from.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
timeout 60 npm pack --silent @bankofai/x402@0.5.8 >/dev/null
tar xzf bankofai-x402-0.5.8.tgz
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { toBase58, toEvmHex } from './package/dist/address.js'; // Exported by the package as they are; this file needs no other package.
const address = 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7';
const hex = '0x1a642f0e3c3af545e7acbd38b07251b3990914f1';
const seen = {
  'toEvmHex(address)': toEvmHex(address),
  'toBase58(hex)': toBase58(hex),
  'toEvmHex(toBase58(hex))': toEvmHex(toBase58(hex)),
};
console.log('@bankofai/x402 0.5.8', seen);
assert.deepEqual(seen, {
  'toEvmHex(address)': hex,
  'toBase58(hex)': '51C4zwGUnsdcuLBUzz39hXLjs85UC',
  'toEvmHex(toBase58(hex))': `0x${'0'.repeat(40)}`,
});
process.exit(0);
JS
timeout 60 node run.mjs
