#!/usr/bin/env bash
# Guess: `send({ from })` of a contract pays from that account, as `call({ from })` asks in its name, or it refuses
# because the key is another one's. So does `sendTransaction(to, amount, { address })`.
# Seen: `from` and `address` are dropped as soon as there is a private key. The owner of the transaction is the key's
# own account, also with a `permissionId`, which stays in the transaction. Only the transaction builder takes an owner.
# Why it matters: a signer of a shared account that sends "from" it pays with his own tokens, and the answer is a txID.
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
  const path = request.url.split('?')[0];
  asked.push([path, JSON.parse(body || '{}')]);
  const header = { blockID: `0000000000000064${'ab'.repeat(24)}`, block_header: { raw_data: { number: 100, timestamp: 1_700_000_000_000 } } };
  const answers = {
    '/wallet/getblock': header,
    '/wallet/broadcasttransaction': { result: true },
    '/wallet/triggerconstantcontract': { result: { result: true }, constant_result: ['0'.repeat(63) + '7'] },
  };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[path] ?? {}));
});
await new Promise((listening) => node.listen(0, '127.0.0.1', listening));
const keys = { signer: '01'.repeat(32), other: '03'.repeat(32) };
const tronWeb = new TronWeb({ fullHost: `http://127.0.0.1:${node.address().port}`, privateKey: keys.signer });
const accounts = Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, TronWeb.address.fromPrivateKey(key)]));
const shared = TronWeb.address.fromPrivateKey('02'.repeat(32));
const nameOf = (hex) => Object.entries({ ...accounts, shared }).find(([, address]) => TronWeb.address.toHex(address) === hex)?.[0];
const abi = ['transfer nonpayable', 'balanceOf view'].map((each) => {
  const [name, stateMutability] = each.split(' ');
  const inputs = [{ name: 'account', type: 'address' }, { name: 'value', type: 'uint256' }].slice(0, name === 'transfer' ? 2 : 1);
  return { type: 'function', name, stateMutability, inputs, outputs: [{ type: 'uint256', name: '' }] };
});
const token = tronWeb.contract(abi, TronWeb.address.fromHex(`41${'44'.repeat(20)}`));
/** The owner of the last request to a path, and its permission. */
const ownerAt = (path) => {
  const [, body] = asked.findLast(([each]) => each === path);
  const contract = body.raw_data?.contract[0];
  const owner = nameOf(contract?.parameter.value.owner_address ?? body.owner_address);
  return contract?.Permission_id === undefined ? owner : [owner, contract.Permission_id];
};
const to = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const sent = () => ownerAt('/wallet/broadcasttransaction');
const seen = {};
await token.balanceOf(to).call({ from: shared });
seen['call({ from: shared })'] = ownerAt('/wallet/triggerconstantcontract');
await token.transfer(to, 5).send({ from: shared, txLocal: true });
seen['send({ from: shared })'] = sent();
await token.transfer(to, 5).send({ from: shared, permissionId: 2, txLocal: true });
seen['send({ from: shared, permissionId: 2 })'] = sent();
await token.transfer(to, 5).send({ from: shared, txLocal: true }, keys.other);
seen['send({ from: shared }, the other key)'] = sent();
await tronWeb.trx.sendTransaction(to, 5, { address: shared });
seen['sendTransaction({ address: shared })'] = sent();
console.log('tronweb 6.5.1: the owner is', seen);
assert.deepEqual(seen, {
  'call({ from: shared })': 'shared',
  'send({ from: shared })': 'signer',
  'send({ from: shared, permissionId: 2 })': ['signer', 2],
  'send({ from: shared }, the other key)': 'other',
  'sendTransaction({ address: shared })': 'signer',
});
process.exit(0);
JS
timeout 60 node run.mjs
