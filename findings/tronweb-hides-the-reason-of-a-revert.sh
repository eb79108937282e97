#!/usr/bin/env bash
# Guess: `contract.method().call()` of a reverted call rejects with the reason, which the node's answer holds.
# Seen: java-tron 4.8 also sends the message "REVERT opcode executed", and tronweb rejects with that alone. The reason or
# custom error is lost; the error has no field for the answer. tronweb reads a reason only from an answer without that
# message.
# Why it matters: support sees the same text for a paused token, a blacklisted sender and an empty balance.
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
const word = (n) => n.toString(16).padStart(64, '0');
const PAUSED = `08c379a0${word(32)}${word(6)}${Buffer.from('paused').toString('hex').padEnd(64, '0')}`;
let answer;
const node = createServer((_request, response) => response.end(JSON.stringify(answer))).listen(0);
const tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${node.address().port}`, privateKey: '01'.repeat(32) });
const read = { type: 'function', name: 'read', stateMutability: 'view', inputs: [], outputs: [{ name: '', type: 'uint256' }] };
const contract = tronWeb.contract([read], 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
const errorOf = async (data, message) => {
  const transaction = { ret: [{ ret: 'FAILED' }], txID: word(0), raw_data: {} };
  answer = { result: { result: true, ...message }, energy_used: 100, constant_result: [data], transaction };
  const error = await contract.read().call().then(() => assert.fail('resolved'), (thrown) => thrown);
  return { message: error.message, fields: Object.keys(error) };
};
const REVERT = { message: Buffer.from('REVERT opcode executed').toString('hex') };
const seen = {
  'with a reason': await errorOf(PAUSED, REVERT),
  'with a custom error': await errorOf(`12345678${word(7)}`, REVERT),
  'with a reason, in an answer without the message': await errorOf(PAUSED, {}),
};
node.close();
node.closeAllConnections();
console.log('tronweb 6.5.1', seen);
assert.deepEqual(Object.values(seen).slice(0, 2), Array(2).fill({ message: 'REVERT opcode executed', fields: [] }));
assert.match(seen['with a reason, in an answer without the message'].message, /paused/);
JS
timeout 60 node run.mjs
