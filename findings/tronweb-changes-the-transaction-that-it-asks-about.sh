#!/usr/bin/env bash
# Guess: `trx.getSignWeight(transaction, permissionId)` reads from the node and leaves the transaction as it is.
# Seen: it writes Permission_id into the caller's object, and leaves txID and raw_data_hex as they were. The node is asked
# about another transaction than the id names, `sign` then refuses the object as "Invalid transaction", and a signature of
# the old txID is one of nobody to the node, which rebuilds the bytes from raw_data. Without permissionId it writes 0,
# which changes no byte. `multiSign` works on a copy.
# Why it matters: a wallet that looks at the weight before it asks for the next signature breaks what was signed so far.
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
const asked = [];
const node = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  asked.push(JSON.parse(body));
  response.end('{"result":{}}');
}).listen(0);
const privateKey = '01'.repeat(32);
const tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${node.address().port}`, privateKey });
const { trx, transactionBuilder, utils } = tronWeb;
const blockHeader = { ref_block_bytes: 'c0de', ref_block_hash: '0123456789abcdef', expiration: 1800000060000, timestamp: 1800000000000 };
const draft = () => transactionBuilder.sendTrx('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 5, tronWeb.defaultAddress.base58, { blockHeader });
const idOf = (tx) => utils.transaction.txPbToTxID(utils.transaction.txJsonToPb(tx)).replace(/^0x/, '');
const after = async (permissionId) => {
  const tx = await draft();
  const before = structuredClone(tx);
  await trx.getSignWeight(tx, permissionId);
  return {
    Permission_id: tx.raw_data.contract[0].Permission_id,
    'txID is as before': tx.txID === before.txID && tx.raw_data_hex === before.raw_data_hex,
    'txID is that of its content': tx.txID === idOf(tx),
    'asked about the same id': idOf(asked.at(-1)) === before.txID,
    signs: await trx.sign(tx).then(() => true, (error) => error.message ?? String(error)),
  };
};
const seen = { 'with permission 2': await after(2), 'without': await after() };
node.close();
node.closeAllConnections();
console.log('tronweb 6.5.1', seen);
assert.deepEqual(seen['with permission 2'], {
  Permission_id: 2,
  'txID is as before': true,
  'txID is that of its content': false,
  'asked about the same id': false,
  signs: 'Invalid transaction',
});
assert.deepEqual(seen.without, {
  Permission_id: 0,
  'txID is as before': true,
  'txID is that of its content': true,
  'asked about the same id': true,
  signs: true,
});
JS
timeout 60 node run.mjs
