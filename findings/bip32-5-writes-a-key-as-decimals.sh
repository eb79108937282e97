#!/usr/bin/env bash
# Guess: `node.privateKey.toString('hex')` gives 64 hex digits, as in bip32 up to 4 and in each guide.
# Seen: with bip32 5 the key is a Uint8Array, whose toString ignores 'hex': the text is "21,240,187,…". Nothing throws:
# `fromPrivateKey` of tronweb answers false for it, as for no key, and Buffer.from(text, 'hex') gives one byte. The text
# of publicKey is such a list too.
# Why it matters: after the upgrade a deposit address becomes the value false, and a stored or hashed key is another
# text.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline bip32@5.0.1 bip32v4@npm:bip32@4.0.0 tiny-secp256k1@2.2.4 bip39@3.1.2 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { BIP32Factory as factory5 } from 'bip32';
import { mnemonicToSeedSync } from 'bip39';
import bip32v4 from 'bip32v4';
import * as ecc from 'tiny-secp256k1';
import { TronWeb } from 'tronweb';
const seed = mnemonicToSeedSync('test test test test test test test test test test test junk');
const seen = {};
for (const [version, factory] of [['4.0.0', bip32v4.BIP32Factory], ['5.0.1', factory5]]) {
  const { privateKey, publicKey } = factory(ecc).fromSeed(seed).derivePath("m/44'/195'/0'/0/0");
  const hex = privateKey.toString('hex');
  seen[version] = {
    type: privateKey.constructor.name,
    'begins with': hex.slice(0, 12),
    'bytes read back': Buffer.from(hex, 'hex').length,
    'bytes of the public key read back': Buffer.from(publicKey.toString('hex'), 'hex').length,
    'address by tronweb': TronWeb.address.fromPrivateKey(hex),
  };
}
console.log('bip32', seen);
assert.deepEqual(Object.values(seen['4.0.0']), ['Buffer', '15f0bbb1774b', 32, 33, 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6']);
assert.deepEqual(Object.values(seen['5.0.1']), ['Uint8Array', '21,240,187,1', 1, 0, false]);
JS
timeout 60 node run.mjs
