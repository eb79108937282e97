#!/usr/bin/env bash
# Guess: a name that an enumeration lacks, or text that is no number, is refused when a message is built from JSON.
# Seen: `fromObject` leaves an unknown name out, and that is the zero of the enumeration: 'energy' in lower
# case delegates BANDWIDTH. The text '1.5' and the text '1e6' are both 1 sun. lock: 'false' is true.
# Why it matters: the transaction is valid, gets signed and delegates the wrong resource. Only `verify` complains.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline protobufjs@8.8.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import protobuf from 'protobufjs';
const { root } = protobuf.parse(`syntax = "proto3";
  enum ResourceCode { BANDWIDTH = 0; ENERGY = 1; }
  message Delegation { ResourceCode resource = 2; int64 balance = 3; bool lock = 5; }`);
const Delegation = root.lookupType('Delegation');
const read = (value) => {
  const bytes = Delegation.encode(Delegation.fromObject(value)).finish();
  return Delegation.toObject(Delegation.decode(bytes), { enums: String, longs: String, defaults: true });
};
const seen = {
  ENERGY: read({ resource: 'ENERGY' }).resource,
  energy: read({ resource: 'energy' }).resource,
  'balance 1.5': read({ balance: '1.5' }).balance,
  'balance 1e6': read({ balance: '1e6' }).balance,
  'lock false': read({ lock: 'false' }).lock,
  verify: [Delegation.verify({ resource: 'energy' }), Delegation.verify({ balance: '1.5' })],
};
console.log('protobufjs 8.8.1', seen);
assert.deepEqual(seen, {
  ENERGY: 'ENERGY',
  energy: 'BANDWIDTH',
  'balance 1.5': '1',
  'balance 1e6': '1',
  'lock false': true,
  verify: ['resource: enum value expected', 'balance: integer|Long expected'],
});
JS
timeout 60 node run.mjs
