#!/usr/bin/env bash
# Guess: encodeParams takes base58 wherever the type says address, and knows TRON's own type trcToken.
# Seen: `address` in base58 works, `address[]` throws and so does trcToken. encodeParamsV2ByABI takes all three.
# Why it matters: batch transfers need another function than single ones.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { TronWeb, utils } from 'tronweb';
const address = TronWeb.address.fromPrivateKey('01'.repeat(32));
const outcome = (encode) => { try { return `${encode().replace(/^0x/, '').length / 64} words`; } catch (error) { return error.message.split(' (')[0]; } };
const plain = (type, value) => outcome(() => utils.abi.encodeParams([type], [value]));
const byAbi = (type, value) => outcome(() => utils.abi.encodeParamsV2ByABI({ type: 'function', inputs: [{ name: 'x', type }] }, [value]));
const seen = Object.fromEntries([['address', address], ['address[]', [address]], ['trcToken', 1_000_001]].map(
  ([type, value]) => [type, { encodeParams: plain(type, value), encodeParamsV2ByABI: byAbi(type, value) }],
));
console.log('tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  address: { encodeParams: '1 words', encodeParamsV2ByABI: '1 words' },
  'address[]': { encodeParams: 'invalid address', encodeParamsV2ByABI: '3 words' },
  trcToken: { encodeParams: 'invalid param type', encodeParamsV2ByABI: '1 words' },
});
JS
timeout 60 node run.mjs
