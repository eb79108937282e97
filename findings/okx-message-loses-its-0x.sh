#!/usr/bin/env bash
# Guess: a wallet signs the text that it is given, also a text that begins with 0x.
# Seen: `TrxWallet.signMessage` of @okxweb3/coin-tron cuts a leading 0x off a text of type v2 before it signs. tronweb
# signs all of it. The signature then recovers the address of a stranger, also in the package's own verifySignatureV2.
# Why it matters: a login challenge of 32 random bytes in hex mostly begins with 0x, and its signature fails to verify.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @okxweb3/coin-tron@1.1.0 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { TronWeb, utils } from 'tronweb';
const { TrxWallet, verifySignatureV2 } = createRequire(import.meta.url)('@okxweb3/coin-tron');
const privateKey = '01'.repeat(32);
const address = TronWeb.address.fromPrivateKey(privateKey);
const check = async (message) => {
  const signature = await new TrxWallet().signMessage({ privateKey, data: { type: 'v2', message } });
  return {
    'as tronweb signs it': signature === utils.message.signMessage(message, privateKey),
    'as tronweb signs it without 0x': signature === utils.message.signMessage(message.replace(/^0x/, ''), privateKey),
    'verified by the package': verifySignatureV2(message, signature) === address,
  };
};
const seen = { 'login 7f': await check('login 7f'), '0x7f': await check('0x7f') };
console.log('@okxweb3/coin-tron 1.1.0, tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  'login 7f': { 'as tronweb signs it': true, 'as tronweb signs it without 0x': true, 'verified by the package': true },
  '0x7f': { 'as tronweb signs it': false, 'as tronweb signs it without 0x': true, 'verified by the package': false },
});
JS
timeout 60 node run.mjs
