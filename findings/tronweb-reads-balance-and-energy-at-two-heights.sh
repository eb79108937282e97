#!/usr/bin/env bash
# Guess: the reads of one tronweb instance show one state of the chain, the newest or the solid one.
# Seen: getAccount, getBalance, getDelegatedResourceV2 and getCanDelegatedMaxSize ask walletsolidity, which is about a
# minute behind. getAccountResources, getBandwidth and getContract ask the newest state. So do getTransaction and
# getUnconfirmedBalance, while getTransactionInfo asks the solid one: a sent transaction is found, its receipt is not.
# Why it matters: after a delegation the capacity still shows the old value for a minute, and may be sold twice.
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
const paths = [];
const server = createServer((request, response) => {
  paths.push(request.url.split('?')[0]);
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { trx } = new TronWeb({ fullHost: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) });
const address = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const txID = 'ab'.repeat(32);
const calls = {
  getBalance: [address], getUnconfirmedBalance: [address], getAccount: [address], getAccountResources: [address],
  getBandwidth: [address], getContract: [address], getDelegatedResourceV2: [address, address],
  getCanDelegatedMaxSize: [address, 'ENERGY'], getTransaction: [txID], getTransactionInfo: [txID],
};
const seen = {};
for (const [name, args] of Object.entries(calls)) {
  await trx[name](...args).catch(() => undefined);
  seen[name] = paths.splice(0).join(' ');
}
console.log('tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  getBalance: '/walletsolidity/getaccount',
  getUnconfirmedBalance: '/wallet/getaccount',
  getAccount: '/walletsolidity/getaccount',
  getAccountResources: '/wallet/getaccountresource',
  getBandwidth: '/wallet/getaccountnet',
  getContract: '/wallet/getcontract',
  getDelegatedResourceV2: '/walletsolidity/getdelegatedresourcev2',
  getCanDelegatedMaxSize: '/walletsolidity/getcandelegatedmaxsize',
  getTransaction: '/wallet/gettransactionbyid',
  getTransactionInfo: '/walletsolidity/gettransactioninfobyid',
});
server.close();
process.exit(0);
JS
timeout 60 node run.mjs
