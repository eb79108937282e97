#!/usr/bin/env bash
# Guess: a wallet that can rent energy for a transfer rents the energy that the sender lacks, and none if none is
# missing.
# Seen: @ledgerhq/coin-tron asks its energy market for all energy of the transfer. A sender with 60,000 of 64,285 is
# offered 64,285. A sender with 200,000 who lacks only bandwidth is offered them too, listed before the 0.35 TRX that
# the bandwidth costs. Without a fee to pay there is no offer.
# Why it matters: the rented energy comes on top of the sender's own, so most of the rent is paid for nothing. A
# market that sizes by such requests sells more than its customers use.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# One dependency has a version that the registry may lack. The offer uses none of its code, so another one does.
cat >package.json <<'J'
{
  "dependencies": { "@ledgerhq/coin-tron": "8.0.0" },
  "overrides": { "@ledgerhq/coin-module-framework": "9.1.0" }
}
J
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { json } from 'node:stream/consumers';
const require = createRequire(import.meta.url);
const { estimateFees, estimateTronifyFees } = require('@ledgerhq/coin-tron/logic/estimateFees');
const { listFeeOptions } = require('@ledgerhq/coin-tron/logic/feeOptions');
const coinConfig = require('@ledgerhq/coin-tron/config').default;
// The answers of java-tron, cut to the fields that count, and those of the market, whose price plays no part here.
let resources;
let asked;
const parameters = { getEnergyFee: 100, getTransactionFee: 1000 };
const answers = {
  '/wallet/triggerconstantcontract': () => ({ result: { result: true }, energy_used: 64_285, constant_result: [`${'0'.repeat(63)}1`] }),
  '/wallet/getaccountresource': () => resources,
  '/wallet/getchainparameters': () => ({ chainParameter: Object.entries(parameters).map(([key, value]) => ({ key, value })) }),
  '/api/tronRent/queryPreorderInfo': ({ pledgeNum }) => {
    asked = pledgeNum;
    return { resCode: 100, data: { pledgeNum, payCoinCode: 'TRX', payCoinAmt: '2' } };
  },
};
const server = createServer(async (request, response) => {
  const body = request.method === 'POST' ? await json(request) : {};
  const { pathname } = new URL(request.url, 'http://node');
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[pathname]?.(body) ?? { data: [] }));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${server.address().port}`;
const config = { explorer: { url }, energyRent: { provider: 'tronify', tronify: { url, sourceFlag: 'test' } } };
coinConfig.setCoinConfig(() => config);
const intent = {
  intentType: 'transaction', type: 'send', amount: 5_000_000n,
  sender: 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7', recipient: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  asset: { type: 'trc20', assetReference: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' },
};
const seen = {};
for (const [name, account] of Object.entries({
  'no energy': { freeNetLimit: 600 },
  '60,000 energy': { freeNetLimit: 600, EnergyLimit: 60_000 },
  '200,000 energy, no bandwidth': { freeNetLimit: 600, freeNetUsed: 600, EnergyLimit: 200_000 },
  '200,000 energy and bandwidth': { freeNetLimit: 600, EnergyLimit: 200_000 },
})) {
  resources = account;
  asked = 0;
  const options = (await listFeeOptions(intent)).map(({ id }) => id).join(', ');
  const { value } = await estimateFees(config, intent);
  if (options.includes('tronify')) await estimateTronifyFees(config, intent);
  seen[name] = { options, 'burn in sun': Number(value), 'energy to rent': asked };
}
console.log('@ledgerhq/coin-tron 8.0.0', seen);
assert.deepEqual(seen, {
  'no energy': { options: 'tronify, standard', 'burn in sun': 6_428_500, 'energy to rent': 64_285 },
  '60,000 energy': { options: 'tronify, standard', 'burn in sun': 428_500, 'energy to rent': 64_285 },
  '200,000 energy, no bandwidth': { options: 'tronify, standard', 'burn in sun': 350_000, 'energy to rent': 64_285 },
  '200,000 energy and bandwidth': { options: 'standard', 'burn in sun': 0, 'energy to rent': 0 },
});
process.exit(0);
JS
timeout 60 node run.mjs
