#!/usr/bin/env bash
# Guess: a TRC-20 transfer has the same call data in every library: the ABI word of an address is 20 bytes, padded.
# Seen: wallet-core writes TRON's 0x41 in front of the 20 bytes, so the word holds 21. tronweb writes 20.
# Decoders of solc 0.8 demand zeros in the upper 12 bytes and revert; contracts of solc 0.4 mask them.
# Whoever reads the recipient out of call data has to cut the word to its last 20 bytes.
# Why it matters: such transfers need another simulation, or fail after the energy was rented.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @trustwallet/wallet-core@4.8.2 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import walletCore from '@trustwallet/wallet-core';
import { TronWeb, utils } from 'tronweb';
const { AnySigner, CoinType } = await walletCore.initWasm();
const { SigningInput, SigningOutput } = walletCore.TW.Tron.Proto;
const privateKey = Buffer.alloc(32, 1);
const ownerAddress = TronWeb.address.fromPrivateKey(privateKey.toString('hex'));
const toAddress = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const input = SigningInput.create({
  privateKey,
  transaction: {
    timestamp: 1_700_000_000_000,
    expiration: 1_700_000_060_000,
    feeLimit: 100_000_000,
    blockHeader: { timestamp: 1_700_000_000_000, number: 1, version: 3, parentHash: Buffer.alloc(32), txTrieRoot: Buffer.alloc(32), witnessAddress: Buffer.alloc(21) },
    transferTrc20Contract: { ownerAddress, toAddress, contractAddress: toAddress, amount: Buffer.of(5) },
  },
});
const { json } = SigningOutput.decode(AnySigner.sign(SigningInput.encode(input).finish(), CoinType.tron));
const { data } = JSON.parse(json).raw_data.contract[0].parameter.value;
const word = data.slice(8, 72);
const ours = utils.abi.encodeParams(['address', 'uint256'], [toAddress, '5']).replace('0x', '').slice(0, 64);
console.log('@trustwallet/wallet-core 4.8.2:', word);
console.log('tronweb 6.5.1:                 ', ours);
assert.equal(word, `${'0'.repeat(22)}41${'22'.repeat(20)}`);
assert.equal(ours, `${'0'.repeat(24)}${'22'.repeat(20)}`);
process.exit(0);
JS
timeout 60 node run.mjs
