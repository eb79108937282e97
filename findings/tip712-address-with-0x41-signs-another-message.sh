#!/usr/bin/env bash
# Guess: each spelling of one address gives one TIP-712 digest, or an error.
# Seen: tronweb takes base58, 41-hex and the 20 bytes with 0x alike. 0x41 in
# front of the 20 bytes gives another signature without an error.
# Why it matters: an approval of a payment fails to verify, and both sides see the same address.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 ethers@6.17.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Wallet } from 'ethers';
import { TronWeb } from 'tronweb';
const key = '01'.repeat(32);
const tronWeb = new TronWeb({ fullHost: 'http://127.0.0.1:1', privateKey: key });
const { base58, hex } = tronWeb.defaultAddress;
const ethereum = `0x${hex.slice(2)}`;
const domain = { name: 'Shop', version: '1', chainId: 728_126_428, verifyingContract: ethereum };
const types = { Payment: [{ name: 'to', type: 'address' }, { name: 'amount', type: 'uint256' }] };
const signature = (to) => tronWeb.trx.signTypedData(domain, types, { to, amount: 1 }, key);
const ofEthers = await new Wallet(`0x${key}`).signTypedData(domain, types, { to: ethereum, amount: 1 });
const seen = Object.fromEntries(
  [base58, hex, ethereum, `0x${hex}`].map((to) => [to, signature(to) === ofEthers ? 'as ethers' : 'another signature']),
);
console.log('tronweb 6.5.1, ethers 6.17.0', seen);
assert.deepEqual(Object.values(seen), ['as ethers', 'as ethers', 'as ethers', 'another signature']);
JS
timeout 60 node run.mjs
