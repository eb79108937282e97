#!/usr/bin/env bash
# Guess: `send({ shouldPollResponse: true })` answers when the transaction is in a block, some 3 seconds later.
# Seen: it asks only the solid state, where a block appears once 19 of the 27 producers have built on it, about a
# minute later. It asks 20 times, the last time after 57 seconds, waits another 3 and rejects with "Cannot find result
# in solidity node", although each newest block shows the success. `pollTimes: 40` lasts 2 minutes.
# Why it matters: the rejection reads like a failure, and who sends again pays twice. The txID is in
# `error.transaction`.
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
/** The waits of tronweb take no time here; the clock counts them. */
let clock = 0;
let sentAt;
const realTimeout = globalThis.setTimeout;
globalThis.setTimeout = (callback, ms, ...rest) => {
  if (ms === 3_000) clock += ms;
  return realTimeout(callback, ms === 3_000 ? 0 : ms, ...rest);
};
const IN_BLOCK_MS = 3_000;
const SOLID_MS = 60_000;
let asked = {};
const node = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const path = request.url.split('?')[0];
  const age = clock - (sentAt ?? clock);
  let answer = {};
  if (path === '/wallet/getblock') answer = { blockID: `0000000000000064${'ab'.repeat(24)}`, block_header: { raw_data: { number: 100, timestamp: 1_700_000_000_000 } } };
  if (path === '/wallet/broadcasttransaction') { sentAt = clock; answer = { result: true }; }
  if (path.endsWith('/gettransactioninfobyid')) {
    asked[path] = (asked[path] ?? 0) + 1;
    const success = { id: JSON.parse(body).value, blockNumber: 101, receipt: { result: 'SUCCESS' }, contractResult: [`${'0'.repeat(63)}1`] };
    if (age >= (path.startsWith('/walletsolidity') ? SOLID_MS : IN_BLOCK_MS)) answer = success;
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
});
await new Promise((listening) => node.listen(0, '127.0.0.1', listening));
const tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${node.address().port}`, privateKey: '01'.repeat(32) });
const inputs = [{ name: 'to', type: 'address' }, { name: 'value', type: 'uint256' }];
const abi = [{ type: 'function', name: 'transfer', stateMutability: 'nonpayable', inputs, outputs: [{ name: '', type: 'bool' }] }];
const token = tronWeb.contract(abi, TronWeb.address.fromHex(`41${'44'.repeat(20)}`));
const run = async (options) => {
  asked = {};
  sentAt = undefined;
  const start = clock;
  const pending = token.transfer(TronWeb.address.fromHex(`41${'22'.repeat(20)}`), 5).send({ txLocal: true, shouldPollResponse: true, ...options });
  const answer = await pending.catch(({ message, transaction }) => ({ message, txID: transaction.txID }));
  const { receipt } = answer.txID ? await tronWeb.trx.getUnconfirmedTransactionInfo(answer.txID) : {};
  const { message = answer } = answer;
  return { message, seconds: (clock - start) / 1000, ...(receipt && { 'the newest block': receipt.result }), asked };
};
const seen = { 'as it is': await run({}), 'pollTimes: 40': await run({ pollTimes: 40 }) };
console.log('tronweb 6.5.1', seen);
const solid = '/walletsolidity/gettransactioninfobyid';
assert.deepEqual(seen, {
  'as it is': {
    message: 'Cannot find result in solidity node',
    seconds: 60,
    'the newest block': 'SUCCESS',
    asked: { [solid]: 20, '/wallet/gettransactioninfobyid': 1 },
  },
  'pollTimes: 40': { message: true, seconds: 60, asked: { [solid]: 21 } },
});
process.exit(0);
JS
timeout 60 node run.mjs
