#!/usr/bin/env bash
# Guess: `getFees` of a wallet library simulates the transfer, or at least prices an unused receiver as the chain does.
# Seen: @xchainjs/xchain-tron asks for no simulation and takes 13,000 energy for every token and receiver. A receiver
# without an account adds 0.1 TRX, also to a token transfer, which creates no account; a TRX transfer to one costs
# 1 TRX more on the chain than it says. Too little bandwidth is priced by the missing bytes, where the chain burns TRX
# for all of them.
# Why it matters: a merchant who rents by this figure has too little energy for each receiver without the token.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# One dependency has a version that the registry may lack. Fees use none of its code, so another one does.
cat >package.json <<'J'
{
  "dependencies": { "@xchainjs/xchain-tron": "3.0.1" },
  "overrides": { "@xchainjs/xchain-crypto": "1.0.6" }
}
J
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const { Client } = require('@xchainjs/xchain-tron');
const { Network } = require('@xchainjs/xchain-client');
const { AssetType, baseAmount } = require('@xchainjs/xchain-util');
const { TronWeb } = require('tronweb');
const chainParameter = Object.entries({
  getTransactionFee: 1_000, getEnergyFee: 100, getCreateAccountFee: 100_000, getCreateNewAccountFeeInSystemContract: 1_000_000,
}).map(([key, value]) => ({ key, value }));
let resources;
let receiver;
const asked = new Set();
const answers = {
  '/wallet/getchainparameters': () => ({ chainParameter }),
  '/wallet/getaccountresource': () => resources,
  '/walletsolidity/getaccount': () => receiver,
};
const server = createServer((request, response) => {
  asked.add(request.url);
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[request.url]?.() ?? {}));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const phrase = `${'abandon '.repeat(11)}about`;
const client = new Client({ network: Network.Mainnet, phrase });
client.tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}` }); // It has no option for the node.
const recipient = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const trx = { chain: 'TRON', symbol: 'TRX', ticker: 'TRX', type: AssetType.NATIVE };
const usdt = { chain: 'TRON', symbol: 'USDT-TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', ticker: 'USDT', type: AssetType.TOKEN };
const feeOf = async (asset, account, freeNetUsed) => {
  [receiver, resources] = [account, { freeNetLimit: 600, freeNetUsed }];
  return (await client.getFees({ asset, amount: baseAmount(5_000_000, 6), recipient })).average.amount().toNumber();
};
const known = { address: TronWeb.address.toHex(recipient), balance: 1 };
const seen = {
  'USDT to an account': await feeOf(usdt, known, 0),
  'USDT to an address without account': await feeOf(usdt, {}, 0),
  'TRX to an address without account': await feeOf(trx, {}, 0),
  'TRX with 200 of 268 bytes left': await feeOf(trx, known, 400),
};
console.log('@xchainjs/xchain-tron 3.0.1, sun', seen, [...asked]);
assert.deepEqual(seen, {
  'USDT to an account': 13_000 * 100,
  'USDT to an address without account': 13_000 * 100 + 100_000,
  'TRX to an address without account': 100_000,
  'TRX with 200 of 268 bytes left': 68 * 1_000,
});
assert.deepEqual([...asked].sort(), Object.keys(answers).sort());
process.exit(0);
JS
timeout 60 node run.mjs
