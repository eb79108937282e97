#!/usr/bin/env bash
# Guess: `signPersonalMessage` of @ledgerhq/hw-app-trx takes the message as text, or as hex with 0x, or refuses it.
# Seen: it takes bare hex only. For hex with 0x, and for most text, the device is asked to sign a message of 0 bytes;
# for text that begins with hex digits, those digits. Nothing is refused. `signTIP712HashedMessage` takes its hashes
# with 0x.
# Why it matters: the device shows an empty message, and the signature fits no order. It is the same one for each of
# them.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @ledgerhq/hw-app-trx@6.36.6 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const { default: Trx } = createRequire(import.meta.url)('@ledgerhq/hw-app-trx');
const PATH = "44'/195'/0'/0/0";
const PATH_BYTES = 1 + 5 * 4;
let sent;
const device = new Trx({
  decorateAppAPIMethods() {},
  async send(_cla, _ins, _p1, _p2, data) { sent = data.subarray(PATH_BYTES); return Buffer.alloc(67); },
});
/** The message that the device would sign: its length as it is announced, and its bytes. */
const signed = async (message) => {
  await device.signPersonalMessage(PATH, message);
  return [sent.readUInt32BE(0), sent.subarray(4).toString()];
};
const typed = async (hash) => { await device.signTIP712HashedMessage(PATH, hash, hash); return sent.length; };
const hex = Buffer.from('order 17').toString('hex');
const seen = {
  [hex]: await signed(hex),
  [`0x${hex}`]: await signed(`0x${hex}`),
  'order 17': await signed('order 17'),
  '4242: accept': await signed('4242: accept'),
  'typed data, bare': await typed('ab'.repeat(32)),
  'typed data, 0x': await typed(`0x${'ab'.repeat(32)}`),
};
console.log('@ledgerhq/hw-app-trx 6.36.6', seen);
assert.deepEqual(seen, {
  [hex]: [8, 'order 17'],
  [`0x${hex}`]: [0, ''],
  'order 17': [0, ''],
  '4242: accept': [2, 'BB'],
  'typed data, bare': 64,
  'typed data, 0x': 64,
});
JS
timeout 60 node run.mjs
