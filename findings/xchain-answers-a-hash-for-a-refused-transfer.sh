#!/usr/bin/env bash
# Guess: `transfer` of a wallet library rejects when the node refuses the transaction, as `send` of a contract does.
# Seen: @xchainjs/xchain-tron answers the hash of the refused transaction and nothing else. java-tron puts the txid into
# its refusal too, and tronweb's sendRawTransaction resolves with it. `send` of a tronweb contract rejects.
# Why it matters: a payout that the node refused for lack of balance is recorded as sent.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# One dependency has a version that the registry may lack. Transfers use none of its code, so another one does.
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
const text = 'Contract validate error : Validate TransferContract error, balance is not sufficient.';
const blockID = `${'0'.repeat(14)}ff${'ab'.repeat(24)}`;
let sent;
const answers = {
  '/wallet/getblock': () => ({ blockID, block_header: { raw_data: { number: 255, timestamp: Date.now() } } }),
  '/wallet/broadcasttransaction': (body) => {
    sent = body.txID;
    return { code: 'CONTRACT_VALIDATE_ERROR', txid: body.txID, message: Buffer.from(text).toString('hex') };
  },
};
const server = createServer(async (request, response) => {
  const body = JSON.parse((await request.toArray()).join('') || '{}');
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[request.url]?.(body) ?? {}));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const phrase = `${'abandon '.repeat(11)}about`;
const client = new Client({ network: Network.Mainnet, phrase });
client.tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) }); // It has no option for the node.
const recipient = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const asset = { chain: 'TRON', symbol: 'TRX', ticker: 'TRX', type: AssetType.NATIVE };
const outcome = (promise) => promise.then((value) => ({ resolves: value?.txid ?? value }), (error) => ({ rejects: String(error.message ?? error) }));
const seen = {};
const note = async (name, promise) => { seen[name] = JSON.parse(JSON.stringify(await outcome(promise)).replaceAll(sent, 'the txID')); };
await note('transfer of xchain', client.transfer({ asset, amount: baseAmount(5_000_000, 6), recipient }));
await note('sendTransaction of tronweb', client.tronWeb.trx.sendTransaction(recipient, 5_000_000));
const abi = [{ type: 'function', name: 'poke', inputs: [], outputs: [], stateMutability: 'nonpayable' }];
answers['/wallet/triggersmartcontract'] = () => ({ result: { result: true }, transaction });
const options = { feeLimit: 1_000_000, txLocal: true };
const { transaction } = await client.tronWeb.transactionBuilder.triggerSmartContract(recipient, 'poke()', options, []);
await note('send of a tronweb contract', client.tronWeb.contract(abi, recipient).poke().send(options));
console.log('@xchainjs/xchain-tron 3.0.1', seen);
assert.deepEqual(seen, {
  'transfer of xchain': { resolves: 'the txID' },
  'sendTransaction of tronweb': { resolves: 'the txID' },
  'send of a tronweb contract': { rejects: seen['send of a tronweb contract'].rejects },
});
assert.match(seen['send of a tronweb contract'].rejects, /balance is not sufficient/);
process.exit(0);
JS
timeout 60 node run.mjs
