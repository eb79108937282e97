#!/usr/bin/env bash
# Guess: `secp256k1.sign(txID, key)` signs the 32 bytes that it gets, and its recovery byte comes last, as on TRON.
# Seen: @noble/curves 2 hashes its input first, so it signs sha256(txID). Version 1 signs the txID itself, as tronweb
# does. Only `{ prehash: false }` restores that. The format 'recovered' puts the recovery byte first.
# Why it matters: both wrong signatures have a valid form. The node answers SIGERROR with the address of a stranger.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @noble/curves@2.4.0 curves1@npm:@noble/curves@1.9.7 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { secp256k1 as secp256k1Of1 } from 'curves1/secp256k1';
import { utils } from 'tronweb';
const key = Buffer.alloc(32, 1);
const txID = Buffer.alloc(32, 7);
const hex = (bytes) => Buffer.from(bytes).toString('hex');
const tron = utils.crypto.ECKeySign([...txID], [...key]).toLowerCase();
const compare = (signature) => (signature === tron.slice(0, 128) ? 'as tronweb' : 'another signature');
const recovered = hex(secp256k1.sign(txID, key, { prehash: false, format: 'recovered' }));
const seen = {
  'curves 1.9.7': compare(secp256k1Of1.sign(txID, key).toCompactHex()),
  'curves 2.4.0': compare(hex(secp256k1.sign(txID, key))),
  'curves 2.4.0, prehash: false': compare(hex(secp256k1.sign(txID, key, { prehash: false }))),
  'tronweb ends in': tron.slice(128),
  'recovered begins with': recovered.slice(0, 2),
  'the rest of recovered': compare(recovered.slice(2)),
};
console.log('@noble/curves 1.9.7 and 2.4.0, tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  'curves 1.9.7': 'as tronweb',
  'curves 2.4.0': 'another signature',
  'curves 2.4.0, prehash: false': 'as tronweb',
  'tronweb ends in': '1b',
  'recovered begins with': '00',
  'the rest of recovered': 'as tronweb',
});
JS
timeout 60 node run.mjs
