#!/usr/bin/env bash
# Guess: a client throws when the node answers an error, and answers empty or throws alike when something is not found.
# Seen: a node without resources answers status 200 and {"Error": …}. getBalance and getBandwidth make 0 of it, and
# getTransaction returns it as the transaction. Of {} getTransaction throws "Transaction not found", getTransactionInfo
# returns {} and getAccount {}.
# Why it matters: a full wallet looks empty while the node is throttled, and an error passes as a known transaction.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { TronWeb } from 'tronweb';
let answer = '{}';
const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { trx } = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) });
const address = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const txID = 'ab'.repeat(32);
const outcome = (promise) => promise.then((value) => value, (error) => `throws ${error.message}`);
const read = async () => ({
  getBalance: await outcome(trx.getBalance(address)),
  getBandwidth: await outcome(trx.getBandwidth(address)),
  getAccount: await outcome(trx.getAccount(address)),
  getTransaction: await outcome(trx.getTransaction(txID)),
  getTransactionInfo: await outcome(trx.getTransactionInfo(txID)),
});
const empty = await read();
const error = { Error: 'class java.lang.IllegalAccessException : lack of computing resources' };
answer = JSON.stringify(error);
const overloaded = await read();
console.log('tronweb 6.5.1', { 'of {}': empty, 'of an Error': overloaded });
assert.deepEqual(empty, { getBalance: 0, getBandwidth: 0, getAccount: {}, getTransaction: 'throws Transaction not found', getTransactionInfo: {} });
assert.deepEqual(overloaded, { getBalance: 0, getBandwidth: 0, getAccount: error, getTransaction: error, getTransactionInfo: error });
server.close();
process.exit(0);
JS
timeout 60 node run.mjs
