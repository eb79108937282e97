#!/usr/bin/env bash
# Guess: typed data with a domain and without EIP712Domain among its types has one digest in every library.
# Seen: tronweb takes the fields that the domain has. @metamask/eth-sig-util takes the listed type EIP712Domain, and
# without it hashes an empty domain: the digest is another one, and the same for each shop name, chain and contract.
# With the type listed both agree, but tronweb refuses types that list it.
# Why it matters: a payment approval that one library signed is refused by the other, with the same types and domain.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @metamask/eth-sig-util@8.2.0 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { TypedDataUtils } from '@metamask/eth-sig-util';
import { utils } from 'tronweb';
const { TypedDataEncoder } = utils.typedData;
const domain = { name: 'Shop', version: '1', chainId: 728_126_428, verifyingContract: `0x${'22'.repeat(20)}` };
const other = { ...domain, name: 'Other shop' };
const message = { to: `0x${'11'.repeat(20)}`, amount: 1 };
const types = { Payment: [{ name: 'to', type: 'address' }, { name: 'amount', type: 'uint256' }] };
const EIP712Domain = [
  { name: 'name', type: 'string' }, { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' }, { name: 'verifyingContract', type: 'address' },
];
const listed = { ...types, EIP712Domain };
const outcome = (digest) => { try { return digest(); } catch (error) { return `throws ${error.shortMessage ?? error.message}`; } };
const tron = (by, given) => outcome(() => TypedDataEncoder.hash(by, given, message).slice(2, 10));
const sigUtil = (by, given) => outcome(() => Buffer.from(TypedDataUtils.eip712Hash({ domain: by, types: given, primaryType: 'Payment', message }, 'V4')).toString('hex').slice(0, 8));
const seen = {
  tronweb: { Shop: tron(domain, types), 'Other shop': tron(other, types), 'Shop, EIP712Domain listed': tron(domain, listed) },
  'eth-sig-util': { Shop: sigUtil(domain, types), 'Other shop': sigUtil(other, types), 'Shop, EIP712Domain listed': sigUtil(domain, listed) },
};
console.log('tronweb 6.5.1, @metamask/eth-sig-util 8.2.0', seen);
assert.notEqual(seen.tronweb.Shop, seen.tronweb['Other shop']);
assert.match(seen.tronweb['Shop, EIP712Domain listed'], /^throws ambiguous primary types/);
assert.equal(seen['eth-sig-util'].Shop, seen['eth-sig-util']['Other shop']);
assert.notEqual(seen['eth-sig-util'].Shop, seen.tronweb.Shop);
assert.equal(seen['eth-sig-util']['Shop, EIP712Domain listed'], seen.tronweb.Shop);
JS
timeout 60 node run.mjs
