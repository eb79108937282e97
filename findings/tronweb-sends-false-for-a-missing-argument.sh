#!/usr/bin/env bash
# Guess: a contract method that is called with an argument too few is refused, as ethers refuses it.
# Seen: tronweb takes a missing last argument for an empty text. A bool is sent as false and a string as the empty
# text, without an error; a number or bytes throws. An argument too many throws. An undefined bool is false in both
# libraries.
# Why it matters: `setApprovalForAll(operator)` revokes instead of approving, and the transaction succeeds.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline tronweb@6.5.1 ethers@6.17.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Interface } from 'ethers';
import { TronWeb } from 'tronweb';
const address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const word = (value) => value.toString(16).padStart(64, '0');
let sent;
const server = createServer(async (request, response) => {
  sent = (await json(request)).parameter;
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ result: { result: true }, transaction: {}, constant_result: [word(0)] }));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) });
const seen = {};
for (const [type, ...args] of [['bool'], ['bool', undefined], ['string'], ['uint256'], ['bytes'], ['bool', true, true]]) {
  const inputs = [{ name: 'operator', type: 'address' }, { name: 'value', type }];
  const abi = [{ type: 'function', name: 'set', stateMutability: 'view', inputs, outputs: [{ name: '', type: 'uint256' }] }];
  const attempt = async (call) => { try { return await call(); } catch { return 'refused'; } };
  const ethers = await attempt(() => new Interface(abi).encodeFunctionData('set', [`0x${'11'.repeat(20)}`, ...args]).slice(74));
  const tronweb = await attempt(() => tronWeb.contract(abi, address).set(address, ...args).call().then(() => sent.slice(64)));
  seen[[type, ...args].map(String).join(' ')] = { tronweb, ethers };
}
console.log('tronweb 6.5.1, ethers 6.17.0', seen);
assert.deepEqual(seen, {
  bool: { tronweb: word(0), ethers: 'refused' },
  'bool undefined': { tronweb: word(0), ethers: word(0) },
  string: { tronweb: word(64) + word(0), ethers: 'refused' },
  uint256: { tronweb: 'refused', ethers: 'refused' },
  bytes: { tronweb: 'refused', ethers: 'refused' },
  'bool true true': { tronweb: 'refused', ethers: 'refused' },
});
process.exit(0);
JS
timeout 60 node run.mjs
