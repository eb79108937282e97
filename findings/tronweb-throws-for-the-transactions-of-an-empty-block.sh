#!/usr/bin/env bash
# Guess: the transactions of an empty block are an empty list.
# Seen: java-tron prints a block without transactions without the member. getBlockTransactionCount makes 0 of it, and
# getTransactionsFromBlock throws "Transaction not found in block".
# Why it matters: the main net has empty blocks. A scanner that repeats a failed block stops at one for ever, and one
# that skips failed blocks misses full ones too.
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
// As java-tron prints a block: `transactions` only where there are some.
const block = { blockID: `${'0'.repeat(15)}5${'ab'.repeat(24)}`, block_header: { raw_data: { number: 5, txTrieRoot: '0'.repeat(64) } } };
const transaction = { txID: 'cd'.repeat(32), raw_data: { contract: [] }, raw_data_hex: '' };
let answer = block;
const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer)));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { trx } = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) });
const outcome = (promise) => promise.then((value) => value, (error) => `throws ${error.message}`);
const read = async () => ({
  getBlockTransactionCount: await outcome(trx.getBlockTransactionCount(5)),
  getTransactionsFromBlock: await outcome(trx.getTransactionsFromBlock(5)),
});
const empty = await read();
answer = { ...block, transactions: [transaction] };
const full = await read();
console.log('tronweb 6.5.1', { empty, full });
assert.deepEqual(empty, { getBlockTransactionCount: 0, getTransactionsFromBlock: 'throws Transaction not found in block' });
assert.deepEqual(full, { getBlockTransactionCount: 1, getTransactionsFromBlock: [transaction] });
server.close();
process.exit(0);
JS
timeout 60 node run.mjs
