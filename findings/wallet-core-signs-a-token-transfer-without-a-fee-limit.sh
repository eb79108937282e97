#!/usr/bin/env bash
# Guess: a signer that builds a token transfer has a default fee limit, as tronweb has (150 TRX), or demands one.
# Seen: wallet-core signs without one, and nothing says so. The chain takes a missing fee_limit as 0, which also caps
# the energy that a wallet has rented or staked: the call ends as OUT_OF_ENERGY. It also lets the transaction live
# for ten hours where tronweb gives it one minute.
# Why it matters: a rented transfer fails with plenty of energy, and the tenant blames the rental.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @trustwallet/wallet-core@4.8.2 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import walletCore from '@trustwallet/wallet-core';
const { AnySigner, CoinType, PrivateKey, AnyAddress } = await walletCore.initWasm();
const { SigningInput, SigningOutput } = walletCore.TW.Tron.Proto;
const privateKey = Buffer.alloc(32, 1);
const publicKey = PrivateKey.createWithData(privateKey).getPublicKeySecp256k1(false);
const address = AnyAddress.createWithPublicKey(publicKey, CoinType.tron).description();
const timestamp = 1_700_000_000_000;
const input = SigningInput.create({
  privateKey,
  transaction: {
    timestamp,
    blockHeader: { timestamp, number: 1, version: 3, parentHash: Buffer.alloc(32), txTrieRoot: Buffer.alloc(32), witnessAddress: Buffer.alloc(21) },
    transferTrc20Contract: { ownerAddress: address, toAddress: address, contractAddress: address, amount: Buffer.of(5) },
  },
});
const output = SigningOutput.decode(AnySigner.sign(SigningInput.encode(input).finish(), CoinType.tron));
const { raw_data: raw } = JSON.parse(output.json);
console.log('@trustwallet/wallet-core 4.8.2');
console.log('error:', output.error, ' members:', Object.keys(raw).join(' '));
console.log('expiration - timestamp, in hours:', (raw.expiration - raw.timestamp) / 3_600_000);
assert.equal(output.error, 0);
assert.ok(!('fee_limit' in raw));
assert.equal(raw.expiration - raw.timestamp, 36_000_000);
process.exit(0);
JS
timeout 60 node run.mjs
