#!/usr/bin/env bash
# Guess: a wallet that simulates a token transfer notices that the simulation reverted, and falls back to a flat fee.
# Seen: @ledgerhq/coin-tron looks at `result.result`, which is true for a reverted call too. It takes the energy up to
# the revert for the price of the transfer and reports it as estimated: 603 units instead of 64,285. tronweb throws
# for the same answer. Only `transaction.ret` and `result.message` tell the two apart.
# Why it matters: a transfer that cannot succeed is offered for a hundredth of its price, and so is the rented energy.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# One dependency has a version that the registry may lack. The estimate uses none of its code, so another one does.
cat >package.json <<'J'
{
  "dependencies": { "@ledgerhq/coin-tron": "8.0.0", "tronweb": "6.5.1" },
  "overrides": { "@ledgerhq/coin-module-framework": "9.1.0" }
}
J
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { TronWeb } from 'tronweb';
const { estimateFees } = createRequire(import.meta.url)('@ledgerhq/coin-tron/logic/estimateFees');
const token = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const sender = 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7';
const recipient = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
// The answers of java-tron, cut to the fields that count. A revert has `result: true` there as well.
const succeeded = { result: { result: true }, energy_used: 64285, constant_result: [`${'0'.repeat(63)}1`], transaction: { ret: [{}] } };
const reverted = {
  result: { result: true, message: Buffer.from('REVERT opcode executed').toString('hex') },
  energy_used: 603,
  constant_result: [''],
  transaction: { ret: [{ ret: 'FAILED' }] },
};
let simulation;
const answers = {
  '/wallet/triggerconstantcontract': () => simulation,
  '/wallet/getaccountresource': () => ({ freeNetLimit: 600 }),
  '/wallet/getchainparameters': () => ({ chainParameter: [{ key: 'getEnergyFee', value: 100 }, { key: 'getTransactionFee', value: 1000 }] }),
};
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://node');
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[pathname]?.() ?? { data: [] }));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${server.address().port}`;
const intent = { intentType: 'transaction', type: 'send', sender, recipient, amount: 5_000_000n, asset: { type: 'trc20', assetReference: token } };
const tronWeb = new TronWeb({ fullHost: url });
const parameters = [{ type: 'address', value: recipient }, { type: 'uint256', value: 5_000_000 }];
const seen = {};
for (const [name, answer] of Object.entries({ succeeded, reverted })) {
  simulation = answer;
  const { value, parameters: estimate } = await estimateFees({ explorer: { url } }, intent);
  const tronwebEnergy = await tronWeb.transactionBuilder
    .triggerConstantContract(token, 'transfer(address,uint256)', {}, parameters, sender)
    .then(({ energy_used }) => energy_used, ({ message }) => message);
  seen[name] = { sun: Number(value), energy: estimate.energyRequired, estimated: estimate.energyEstimated, tronweb: tronwebEnergy };
}
console.log('@ledgerhq/coin-tron 8.0.0, tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  succeeded: { sun: 6_428_500, energy: '64285', estimated: true, tronweb: 64285 },
  reverted: { sun: 60_300, energy: '603', estimated: true, tronweb: 'REVERT opcode executed' },
});
process.exit(0);
JS
timeout 60 node run.mjs
