#!/usr/bin/env bash
# Guess: the typed message and `rawJson` of one signer cover the same transactions.
# Seen: the typed delegation has `lock` and no lock period, and a `lockPeriod` beside it is dropped without an error:
# the chain then locks for its default of three days. `rawJson` keeps lock_period and Permission_id, and signs the very
# transaction that tronweb built, but it refuses AccountCreateContract.
# Why it matters: a rental of one hour would bind its stake for three days.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @trustwallet/wallet-core@4.8.2 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import walletCore from '@trustwallet/wallet-core';
import { TronWeb, utils } from 'tronweb';
const { AnySigner, CoinType } = await walletCore.initWasm();
const { SigningInput, SigningOutput } = walletCore.TW.Tron.Proto;
const privateKey = Buffer.alloc(32, 1);
const owner = TronWeb.address.fromPrivateKey(privateKey.toString('hex'));
const receiver = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const hex = TronWeb.address.toHex;
const timestamp = 1_700_000_000_000;
const signed = (fields) => {
  const input = SigningInput.encode(SigningInput.create({ privateKey, ...fields })).finish();
  return SigningOutput.decode(AnySigner.sign(input, CoinType.tron));
};
const typed = JSON.parse(signed({
  transaction: {
    timestamp,
    expiration: timestamp + 60_000,
    blockHeader: { timestamp, number: 1, version: 3, parentHash: Buffer.alloc(32), txTrieRoot: Buffer.alloc(32), witnessAddress: Buffer.alloc(21) },
    delegateResource: { ownerAddress: owner, receiverAddress: receiver, resource: 'ENERGY', balance: 5_000_000, lock: true, lockPeriod: 100 },
  },
}).json).raw_data.contract[0].parameter.value;
const built = (type, value) => {
  const raw_data = {
    contract: [{ type, Permission_id: 2, parameter: { type_url: `type.googleapis.com/protocol.${type}`, value } }],
    ref_block_bytes: '0001', ref_block_hash: '0102030405060708', timestamp, expiration: timestamp + 60_000,
  };
  const pb = utils.transaction.txJsonToPb({ visible: false, raw_data });
  return { visible: false, txID: utils.transaction.txPbToTxID(pb).replace('0x', ''), raw_data, raw_data_hex: utils.transaction.txPbToRawDataHex(pb) };
};
const delegation = built('DelegateResourceContract', {
  owner_address: hex(owner), receiver_address: hex(receiver), resource: 'ENERGY', balance: 5_000_000, lock: true, lock_period: 100,
});
const creation = built('AccountCreateContract', { owner_address: hex(owner), account_address: hex(receiver) });
const fromJson = JSON.parse(signed({ rawJson: JSON.stringify(delegation) }).json);
const refused = signed({ rawJson: JSON.stringify(creation) });
console.log('@trustwallet/wallet-core 4.8.2, tronweb 6.5.1');
console.log('typed:', JSON.stringify(typed));
console.log('rawJson has the txID of tronweb:', fromJson.txID === delegation.txID);
console.log('AccountCreateContract:', refused.errorMessage);
assert.equal(typed.lock, true);
assert.ok(!('lock_period' in typed));
assert.equal(fromJson.txID, delegation.txID);
assert.match(refused.errorMessage, /unsupported contract type: AccountCreateContract/);
process.exit(0);
JS
timeout 60 node run.mjs
