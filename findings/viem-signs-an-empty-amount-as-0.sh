#!/usr/bin/env bash
# Guess: typed data that one library refuses is refused by all, since the message decides about money.
# Seen: tronweb and ethers refuse an empty text as a uint256, three members for uint256[2], and text without 0x as bytes.
# viem and @metamask/eth-sig-util sign all three, the empty text as 0, with the same digest.
# Why it matters: a form that was left empty is an error with one wallet, and an order for 0 with another.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 ethers@6.17.0 viem@2.57.20 @metamask/eth-sig-util@8.2.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { SignTypedDataVersion, TypedDataUtils } from '@metamask/eth-sig-util';
import { TypedDataEncoder } from 'ethers';
import { utils } from 'tronweb';
import { hashTypedData } from 'viem';
const domain = { name: 'Shop', version: '1', chainId: 728_126_428 };
const EIP712Domain = [{ name: 'name', type: 'string' }, { name: 'version', type: 'string' }, { name: 'chainId', type: 'uint256' }];
const digestsOf = (type, x) => {
  const [types, message, primaryType] = [{ Order: [{ name: 'x', type }] }, { x }, 'Order'];
  const each = {
    tronweb: () => utils._TypedDataEncoder.hash(domain, types, message),
    ethers: () => TypedDataEncoder.hash(domain, types, message),
    viem: () => hashTypedData({ domain, types, primaryType, message }),
    'eth-sig-util': () =>
      `0x${TypedDataUtils.eip712Hash({ domain, types: { ...types, EIP712Domain }, primaryType, message }, SignTypedDataVersion.V4).toString('hex')}`,
  };
  const tried = (hash) => { try { return hash().slice(0, 10); } catch { return 'refused'; } };
  return Object.fromEntries(Object.entries(each).map(([name, hash]) => [name, tried(hash)]));
};
const seen = {
  "uint256 0": digestsOf('uint256', 0),
  "uint256 ''": digestsOf('uint256', ''),
  'uint256[2] [1, 2, 3]': digestsOf('uint256[2]', [1, 2, 3]),
  "bytes 'hello'": digestsOf('bytes', 'hello'),
};
console.log('tronweb 6.5.1, ethers 6.17.0, viem 2.57.20, eth-sig-util 8.2.0', seen);
const { 'uint256 0': zero, ...odd } = seen;
assert.equal(new Set(Object.values(zero)).size, 1);
for (const digests of Object.values(odd)) {
  assert.deepEqual([digests.tronweb, digests.ethers], ['refused', 'refused']);
  assert.match(digests.viem, /^0x/);
  assert.equal(digests.viem, digests['eth-sig-util']);
}
assert.equal(odd["uint256 ''"].viem, zero.viem);
JS
timeout 60 node run.mjs
