#!/usr/bin/env bash
# Guess: a transport splits a transaction of any length into packets of 250 bytes.
# Seen: hw-app-trx splits only between the top-level fields of raw_data. The whole contract call is one field, so a call
# with four argument words goes out in three packets and one with five throws "Too many bytes to encode.". A memo of 247
# bytes passes, one of 248 does not. What is longer has to be signed by its hash.
# Why it matters: operators who sign with a device cannot confirm every call of the service.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @ledgerhq/hw-app-trx@6.36.6 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { TronWeb, utils } from 'tronweb';
const { default: Trx } = createRequire(import.meta.url)('@ledgerhq/hw-app-trx');
const owner = TronWeb.address.toHex(TronWeb.address.fromPrivateKey('01'.repeat(32)));
const rawHex = (data, memo) => {
  const value = { owner_address: owner, contract_address: owner, data };
  const raw_data = {
    contract: [{ type: 'TriggerSmartContract', parameter: { type_url: 'type.googleapis.com/protocol.TriggerSmartContract', value } }],
    ref_block_bytes: '0001', ref_block_hash: '0102030405060708',
    timestamp: 1_700_000_000_000, expiration: 1_700_000_060_000, fee_limit: 100_000_000, ...memo,
  };
  return utils.transaction.txPbToRawDataHex(utils.transaction.txJsonToPb({ visible: false, raw_data }));
};
/** The sizes of the packets that a device would get, or the error. */
const packets = async (hex) => {
  const sizes = [];
  const transport = {
    decorateAppAPIMethods() {},
    async send(_cla, _ins, _p1, _p2, data) { sizes.push(data.length); return Buffer.alloc(67); },
  };
  try { await new Trx(transport).signTransaction("44'/195'/0'/0/0", hex, []); return sizes.join('+'); } catch (error) { return error.message; }
};
const call = (words) => `a9059cbb${'00'.repeat(32 * words)}`;
const seen = {
  'four words': await packets(rawHex(call(4))),
  'five words': await packets(rawHex(call(5))),
  'memo of 247 bytes': await packets(rawHex(call(2), { data: '61'.repeat(247) })),
  'memo of 248 bytes': await packets(rawHex(call(2), { data: '61'.repeat(248) })),
};
console.log('@ledgerhq/hw-app-trx 6.36.6', seen);
assert.deepEqual(seen, {
  'four words': '42+250+6',
  'five words': 'Too many bytes to encode.',
  'memo of 247 bytes': '42+250+190',
  'memo of 248 bytes': 'Too many bytes to encode.',
});
JS
timeout 60 node run.mjs
