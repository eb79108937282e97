#!/usr/bin/env bash
# Guess: a builder refuses an amount that is no whole number of sun, as its error "Invalid amount provided" promises.
# Seen: sendTrx makes 5 sun of 5.9, of '5.9', of '5e6' and of '5 TRX'. freezeBalanceV2 refuses '5.9' and '5 TRX', and
# makes 5 sun of '5e6' too.
# Why it matters: a payout of "5e6" sun or "5 TRX" is sent as 0.000005 TRX, and the payer sees a successful transaction.
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
for (const amount of [5_000_000, 5.9, '5.9', '5e6', '5 TRX']) seen[JSON.stringify(amount)] = [await send(amount), await freeze(amount)];
console.log('tronweb 6.5.1: sendTrx, freezeBalanceV2', seen);
const refused = 'Invalid amount provided';
assert.deepEqual(seen, {
  5000000: [5_000_000, 5_000_000],
  5.9: [5, refused],
  '"5.9"': [5, refused],
  '"5e6"': [5, 5],
  '"5 TRX"': [5, refused],
});
JS
timeout 60 node run.mjs
