#!/usr/bin/env bash
# Guess: the wallet adapter passes on the error of the Ledger library for a call that is too long for the device.
# Seen: for a call of four argument words it sends the transaction to the device, in instruction 04. For five words it
# sends only the txID, in instruction 05, and gives back a signed transaction of the same form, without a warning. Only
# `{ fallbackToHashSign: false }` gives the error.
# Why it matters: whoever approves a batch payout on the device sees 64 hex digits instead of receivers and amounts.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @tronweb3/tronwallet-adapter-ledger@1.1.15 tronweb@6.4.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { TronWeb, utils } from 'tronweb';
const require = createRequire(import.meta.url);
// Stands for the device: answers a signature to each packet and notes the instructions.
const instructions = [];
const transport = {
  decorateAppAPIMethods() {},
  close: async () => {},
  async send(_cla, instruction) { instructions.push(instruction.toString(16).padStart(2, '0')); return Buffer.alloc(67, 1); },
};
Object.defineProperty(globalThis, 'navigator', { value: { hid: {}, userAgent: '' }, configurable: true });
globalThis.window = globalThis;
require('@ledgerhq/hw-transport-webhid').default.create = async () => transport;
const { LedgerAdapter } = require('@tronweb3/tronwallet-adapter-ledger');
const address = TronWeb.address.fromPrivateKey('01'.repeat(32));
const owner = TronWeb.address.toHex(address);
const call = (words) => {
  const value = { owner_address: owner, contract_address: owner, data: `a9059cbb${'00'.repeat(32 * words)}` };
  const raw_data = {
    contract: [{ type: 'TriggerSmartContract', parameter: { type_url: 'type.googleapis.com/protocol.TriggerSmartContract', value } }],
    ref_block_bytes: '0001', ref_block_hash: '0102030405060708',
    timestamp: 1_700_000_000_000, expiration: 1_700_000_060_000, fee_limit: 100_000_000,
  };
  const pb = utils.transaction.txJsonToPb({ visible: false, raw_data });
  return { visible: false, txID: utils.transaction.txPbToTxID(pb).replace('0x', ''), raw_data, raw_data_hex: utils.transaction.txPbToRawDataHex(pb) };
};
const adapter = new LedgerAdapter();
adapter.on('error', () => {});
await adapter.connect({ account: { index: 0, address, path: "44'/195'/0'/0/0" } });
const sign = async (words, options) => {
  instructions.length = 0;
  const result = await adapter.signTransaction(call(words), options).then(({ signature }) => `${signature.length} signature`, ({ message }) => message);
  return { result, instructions: [...new Set(instructions)].join() };
};
const seen = { 'four words': await sign(4), 'five words': await sign(5), 'five words, no fallback': await sign(5, { fallbackToHashSign: false }) };
console.log('@tronweb3/tronwallet-adapter-ledger 1.1.15', seen);
assert.deepEqual(seen, {
  'four words': { result: '1 signature', instructions: '04' },
  'five words': { result: '1 signature', instructions: '05' },
  'five words, no fallback': { result: 'Too many bytes to encode.', instructions: '' },
});
process.exit(0);
JS
timeout 60 node run.mjs
