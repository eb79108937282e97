#!/usr/bin/env bash
# Guess: the text 'false' for a bool in typed data is refused, or signed as false.
# Seen: tronweb, ethers and @metamask/eth-sig-util sign it as true, like any text. viem refuses it.
# Why it matters: a value that went through a form or a query string approves what the user refused.
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
const types = { Answer: [{ name: 'approved', type: 'bool' }] };
const EIP712Domain = [{ name: 'name', type: 'string' }, { name: 'version', type: 'string' }, { name: 'chainId', type: 'uint256' }];
const digests = {
  tronweb: (message) => utils._TypedDataEncoder.hash(domain, types, message),
  ethers: (message) => TypedDataEncoder.hash(domain, types, message),
  'eth-sig-util': (message) => {
    const data = { domain, types: { ...types, EIP712Domain }, primaryType: 'Answer', message };
    return `0x${TypedDataUtils.eip712Hash(data, SignTypedDataVersion.V4).toString('hex')}`;
  },
  viem: (message) => hashTypedData({ domain, types, primaryType: 'Answer', message }),
};
const [yes, no] = [true, false].map((approved) => digests.ethers({ approved }));
const meaning = (digest) => { try { return { [yes]: true, [no]: false }[digest()]; } catch { return 'refused'; } };
const of = (approved) => Object.fromEntries(Object.entries(digests).map(([name, hash]) => [name, meaning(() => hash({ approved }))]));
const seen = { false: of(false), "'false'": of('false') };
console.log('tronweb 6.5.1, ethers 6.17.0, eth-sig-util 8.2.0, viem 2.57.20', seen);
assert.deepEqual(seen, {
  false: { tronweb: false, ethers: false, 'eth-sig-util': false, viem: false },
  "'false'": { tronweb: true, ethers: true, 'eth-sig-util': true, viem: 'refused' },
});
JS
timeout 60 node run.mjs
