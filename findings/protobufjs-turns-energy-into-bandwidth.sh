#!/usr/bin/env bash
# Guess: a name that an enumeration lacks is refused when a message is built from JSON.
# Seen: `fromObject` leaves an unknown name out, and that is the zero of the enumeration: 'energy' in lower
# case delegates BANDWIDTH. A lock of 'false', as a form sends it, is true.
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
  'lock false': read({ lock: 'false' }).lock,
  verify: Delegation.verify({ resource: 'energy' }),
};
console.log('protobufjs 8.8.1', seen);
assert.deepEqual(seen, {
  ENERGY: 'ENERGY',
  energy: 'BANDWIDTH',
  'lock false': true,
  verify: 'resource: enum value expected',
});
JS
timeout 60 node run.mjs
