#!/usr/bin/env bash
# Guess: the JSON of a transaction, as a node prints it, can be handed to a protobuf writer with TRON's own .proto text.
# Seen: protobufjs takes every text for base64, so 42 hex digits become 31 other bytes, without an error, and `verify`
# agrees. The names of the node's JSON (owner_address) match no field and are left out: the message is empty.
# Why it matters: both results have a txID and can be signed. The node then names an owner that nobody chose.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline protobufjs@8.8.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import protobuf from 'protobufjs';
const { root } = protobuf.parse('syntax = "proto3"; message Transfer { bytes owner_address = 1; int64 amount = 3; }');
const Transfer = root.lookupType('Transfer');
const hex = (value) => Buffer.from(Transfer.encode(Transfer.fromObject(value)).finish()).toString('hex');
const address = `41${'22'.repeat(20)}`;
const seen = {
  bytes: hex({ ownerAddress: Buffer.from(address, 'hex'), amount: 5 }),
  'hex text': hex({ ownerAddress: address, amount: 5 }),
  'names of the node': hex({ owner_address: Buffer.from(address, 'hex') }),
  verify: Transfer.verify({ ownerAddress: address, amount: 5 }),
};
console.log('protobufjs 8.8.1', seen);
assert.deepEqual(seen, {
  bytes: `0a15${address}1805`,
  'hex text': '0a1fe35db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6db1805',
  'names of the node': '',
  verify: null,
});
JS
timeout 60 node run.mjs
