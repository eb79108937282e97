#!/usr/bin/env bash
# Guess: an amount in text is read as `Number` reads it, so '5e6' is 5,000,000 sun, or it is refused.
# Seen: sendTrx and freezeBalanceV2 check the text as a number, then read it up to its first letter: '5e6' is 5 sun, and
# '5000000' is 5,000,000.
# Why it matters: a JSON reader that keeps numbers as text hands 5e6 on as it was written, and so does Go's %v. The
# payer sees a successful transaction of 0.000005 TRX.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { TronWeb } from 'tronweb';
const { transactionBuilder } = new TronWeb({ fullHost: 'http://127.0.0.1:1', privateKey: '01'.repeat(32) });
const from = TronWeb.address.fromPrivateKey('01'.repeat(32));
const to = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const options = { blockHeader: { ref_block_bytes: '0001', ref_block_hash: '0102030405060708', timestamp: 1_700_000_000_000, expiration: 1_700_000_060_000 } };
const valueOf = (promise) => promise.then(({ raw_data }) => raw_data.contract[0].parameter.value, ({ message }) => message);
const send = async (amount) => { const value = await valueOf(transactionBuilder.sendTrx(to, amount, from, options)); return value.amount ?? value; };
const freeze = async (amount) => { const value = await valueOf(transactionBuilder.freezeBalanceV2(amount, 'ENERGY', from, options)); return value.frozen_balance ?? value; };
const seen = {};
for (const amount of [5_000_000, '5000000', '5e6']) seen[JSON.stringify(amount)] = [await send(amount), await freeze(amount)];
console.log('tronweb 6.5.1: sendTrx, freezeBalanceV2', seen);
assert.deepEqual(seen, {
  5000000: [5_000_000, 5_000_000],
  '"5000000"': [5_000_000, 5_000_000],
  '"5e6"': [5, 5],
});
JS
timeout 60 node run.mjs
