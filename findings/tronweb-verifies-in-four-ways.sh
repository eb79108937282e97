#!/usr/bin/env bash
# Guess: verifyMessage, verifyMessageV2, verifyTypedData and verifySignature answer alike: true or false, or they throw.
# Seen: for the signature of a stranger verifyMessage and verifyTypedData throw, verifySignature answers false, and
# verifyMessageV2 answers the stranger's address, even when the expected one is a third argument. It also answers some
# address for another message. Only a comparison of that address tells them apart.
# Why it matters: `if (await verifyMessageV2(message, signature))` is true for each caller of a login.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Trx, TronWeb } from 'tronweb';
const key = '01'.repeat(32);
const stranger = '02'.repeat(32);
const { trx } = new TronWeb({ fullHost: 'http://127.0.0.1:1', privateKey: key });
const address = TronWeb.address.fromPrivateKey(key);
const names = { [address]: 'own address', [TronWeb.address.fromPrivateKey(stranger)]: "the stranger's address" };
const outcome = async (verify) => { try { const result = await verify(); return typeof result === 'string' ? (names[result] ?? 'some address') : result; } catch ({ message }) { return `throws ${message}`; } };
const hex = Buffer.from('login').toString('hex');
const [domain, types, value] = [{ name: 'Shop' }, { Login: [{ name: 'at', type: 'uint256' }] }, { at: 1 }];
const check = async (by) => ({
  verifyMessage: await outcome(async () => trx.verifyMessage(hex, await trx.signMessage(hex, by), address)),
  verifyMessageV2: await outcome(async () => trx.verifyMessageV2('login', await trx.signMessageV2('login', by), address)),
  verifyTypedData: await outcome(async () => trx.verifyTypedData(domain, types, value, trx.signTypedData(domain, types, value, by), address)),
  verifySignature: await outcome(async () => Trx.verifySignature(hex, address, await trx.signMessage(hex, by))),
});
const seen = { own: await check(key), stranger: await check(stranger) };
seen['verifyMessageV2 of another message'] = await outcome(async () => trx.verifyMessageV2('logout', await trx.signMessageV2('login', key)));
console.log('tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  own: { verifyMessage: true, verifyMessageV2: 'own address', verifyTypedData: true, verifySignature: true },
  stranger: {
    verifyMessage: 'throws Signature does not match',
    verifyMessageV2: "the stranger's address",
    verifyTypedData: 'throws Signature does not match',
    verifySignature: false,
  },
  'verifyMessageV2 of another message': 'some address',
});
process.exit(0);
JS
timeout 60 node run.mjs
