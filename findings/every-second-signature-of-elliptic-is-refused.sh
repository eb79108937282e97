#!/usr/bin/env bash
# Guess: each signature of elliptic verifies where secp256k1 is checked: with noble, secp256k1 and tronweb.
# Seen: elliptic leaves s as it comes. When s is in the upper half, noble and secp256k1 answer false and tronweb throws
# "non-canonical s": 51 of these 100. elliptic itself accepts all. With `canonical: true` it signs so that all accept.
# Why it matters: a client tests with one message, works, and half of its later ones are refused. The messages, not the
# key, decide which.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline elliptic@6.6.1 @noble/curves@2.4.0 secp256k1@5.0.2 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { secp256k1 as noble } from '@noble/curves/secp256k1.js';
import elliptic from 'elliptic';
import libsecp from 'secp256k1';
import { TronWeb, utils } from 'tronweb';
const MESSAGES = 100;
const pair = new elliptic.ec('secp256k1').keyFromPrivate('01'.repeat(32), 'hex');
const publicKey = new Uint8Array(pair.getPublic(true, 'array'));
const half = (BigInt(`0x${pair.ec.n.toString(16)}`) - 1n) / 2n;
const accepted = { elliptic: 0, noble: 0, secp256k1: 0, tronweb: 0, 'of all, s in the lower half': 0 };
const acceptedCanonical = { ...accepted };
const reasons = new Set();
const check = async (counts, text, options) => {
  const hash = Buffer.from(utils.message.hashMessage(text).slice(2), 'hex');
  const signature = pair.sign(hash, options);
  const bytes = Uint8Array.from([...signature.r.toArray('be', 32), ...signature.s.toArray('be', 32)]);
  counts.elliptic += pair.verify(hash, signature);
  counts.noble += noble.verify(bytes, hash, publicKey, { prehash: false });
  counts.secp256k1 += libsecp.ecdsaVerify(bytes, hash, publicKey);
  counts['of all, s in the lower half'] += BigInt(`0x${signature.s.toString(16)}`) <= half;
  const hex = `0x${Buffer.from(bytes).toString('hex')}${(27 + signature.recoveryParam).toString(16)}`;
  try {
    counts.tronweb += utils.message.verifyMessage(text, hex) === TronWeb.address.fromPrivateKey('01'.repeat(32));
  } catch (error) {
    reasons.add(error.message.split(' (')[0]);
  }
};
for (let i = 0; i < MESSAGES; i++) {
  await check(accepted, `order ${i}`);
  await check(acceptedCanonical, `order ${i}`, { canonical: true });
}
console.log('elliptic 6.6.1, @noble/curves 2.4.0, secp256k1 5.0.2, tronweb 6.5.1: of 100 signatures accepted', accepted);
console.log('with canonical: true', acceptedCanonical);
console.log('tronweb throws', [...reasons]);
assert.deepEqual(Object.values(accepted), [100, 49, 49, 49, 49]);
assert.deepEqual(Object.values(acceptedCanonical), [100, 100, 100, 100, 100]);
assert.match([...reasons].join(), /^non-canonical s[^,]*$/);
JS
timeout 60 node run.mjs
