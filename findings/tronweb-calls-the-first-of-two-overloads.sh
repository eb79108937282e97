#!/usr/bin/env bash
# Guess: of two functions with one name tronweb takes the one that fits the arguments, or refuses the name like
# ethers.
# Seen: the bare name is the first one of the ABI, whatever the arguments are. Two arguments throw when the form with
# three is listed first. A 32-byte word calls f(uint256) or f(bytes32), whichever comes first, without an error. Only
# the name with its types reaches the other one.
# Why it matters: the same call reaches another function when a compiler or an explorer lists the ABI in another
# order.
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
const word = `0x${'00'.repeat(31)}05`;
let called;
const server = createServer(async (request, response) => {
  called = (await json(request)).function_selector;
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ result: { result: true }, transaction: {}, constant_result: ['0'.repeat(64)] }));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) });
const declared = (...types) => {
  const inputs = types.map((type, index) => ({ name: `a${index}`, type }));
  return { type: 'function', name: 'f', stateMutability: 'view', inputs, outputs: [{ name: '', type: 'uint256' }] };
};
const [short, long] = [declared('address', 'uint256'), declared('address', 'uint256', 'bytes')];
const [number, bytes] = [declared('uint256'), declared('bytes32')];
const tron = async (abi, name, args) => {
  try { await tronWeb.contract(abi, address)[name](...args).call(); } catch { return 'refused'; }
  return called;
};
const ether = (abi, args) => {
  try { return new Interface(abi).encodeFunctionData('f', args); } catch (error) { return error.shortMessage.slice(0, 30); }
};
const seen = {
  'short form first': await tron([short, long], 'f', [address, 5]),
  'long form first': await tron([long, short], 'f', [address, 5]),
  'long form first, with types': await tron([long, short], 'f(address,uint256)', [address, 5]),
  'number first': await tron([number, bytes], 'f', [word]),
  'bytes first': await tron([bytes, number], 'f', [word]),
  ethers: ether([number, bytes], [word]),
};
console.log('tronweb 6.5.1, ethers 6.17.0', seen);
assert.deepEqual(seen, {
  'short form first': 'f(address,uint256)',
  'long form first': 'refused',
  'long form first, with types': 'f(address,uint256)',
  'number first': 'f(uint256)',
  'bytes first': 'f(bytes32)',
  ethers: 'ambiguous function description',
});
process.exit(0);
JS
timeout 60 node run.mjs
