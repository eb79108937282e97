#!/usr/bin/env bash
# Guess: when a second owner signs a transaction that has a signature, the adapter adds the new one, as tronweb does.
# Seen: `signTransaction` of the MetaMask adapter replaces the list: one signature comes back, the second owner's. Its
# `multiSign` rejects, with a text and not an Error. The wallet is given only the raw data and the contract's type.
# Why it matters: both owners of a 2-of-2 account have signed, and the transaction still has the weight of one.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @tronweb3/tronwallet-adapter-metamask-tron@1.2.0 jsdom@26.1.0 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { JSDOM } from 'jsdom';
import { TronWeb, utils } from 'tronweb';
const { window } = new JSDOM('<p>', { url: 'https://dapp.example/' });
Object.assign(globalThis, { window, document: window.document, location: window.location, Event: window.Event, localStorage: window.localStorage });
const [FIRST, SECOND] = ['01', '02'].map((byte) => byte.repeat(32));
const [first, second] = [FIRST, SECOND].map((key) => TronWeb.address.fromPrivateKey(key));
const SCOPE = 'tron:728126428';
const session = { sessionScopes: { [SCOPE]: { accounts: [`${SCOPE}:${second}`], methods: [], notifications: [] } } };
let shown;
// Stands for the extension: it grants the second owner's account, and signs with its key.
const answers = {
  wallet_getSession: () => session,
  wallet_createSession: () => session,
  wallet_invokeMethod: ({ request: { params } }) => {
    shown = Object.keys(params.transaction);
    const txID = utils.ethersUtils.sha256(`0x${params.transaction.rawDataHex}`).slice(2);
    return { signature: utils.crypto.signTransaction(SECOND, { txID, raw_data_hex: params.transaction.rawDataHex, raw_data: {} }).signature[0] };
  },
};
window.addEventListener('message', ({ data: { target, data } }) => {
  if (target !== 'metamask-contentscript') return;
  const { id, method, params } = data.data;
  const reply = { target: 'metamask-inpage', data: { name: data.name, data: { id, jsonrpc: '2.0', result: answers[method](params) } } };
  window.dispatchEvent(new window.MessageEvent('message', { data: reply, origin: window.location.origin }));
});
window.addEventListener('eip6963:requestProvider', () =>
  window.dispatchEvent(new window.CustomEvent('eip6963:announceProvider', { detail: { info: { rdns: 'io.metamask' } } })));
const { MetaMaskAdapter } = await import('@tronweb3/tronwallet-adapter-metamask-tron');
const adapter = new MetaMaskAdapter();
adapter.on('error', () => {});
await adapter.connect();
const value = { owner_address: TronWeb.address.toHex(first), to_address: TronWeb.address.toHex(second), amount: 5 };
const raw_data = {
  contract: [{ type: 'TransferContract', parameter: { type_url: 'type.googleapis.com/protocol.TransferContract', value }, Permission_id: 2 }],
  ref_block_bytes: '0001', ref_block_hash: '0102030405060708', timestamp: 1_700_000_000_000, expiration: 1_700_000_060_000,
};
const pb = utils.transaction.txJsonToPb({ visible: false, raw_data });
const unsigned = {
  visible: false, txID: utils.transaction.txPbToTxID(pb).replace('0x', ''), raw_data, raw_data_hex: utils.transaction.txPbToRawDataHex(pb),
};
const signersOf = ({ txID, signature }) => signature.map((each) => {
  const address = TronWeb.address.fromHex(utils.crypto.ecRecover(txID, each));
  return { [first]: 'first', [second]: 'second' }[address] ?? address;
});
const once = utils.crypto.signTransaction(FIRST, structuredClone(unsigned));
const seen = {
  tronweb: signersOf(utils.crypto.signTransaction(SECOND, structuredClone(once))),
  'MetaMask adapter': signersOf(await adapter.signTransaction(structuredClone(once))),
  'its multiSign': await adapter.multiSign(structuredClone(once)).catch((error) => `${typeof error}: ${error}`),
  'given to the wallet': shown,
};
console.log('@tronweb3/tronwallet-adapter-metamask-tron 1.2.0, tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  tronweb: ['first', 'second'],
  'MetaMask adapter': ['second'],
  'its multiSign': "string: The current wallet doesn't support multiSign.",
  'given to the wallet': ['rawDataHex', 'type'],
});
process.exit(0);
JS
timeout 60 node run.mjs
