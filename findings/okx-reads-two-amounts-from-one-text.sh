#!/usr/bin/env bash
# Guess: an amount with a decimal point or an exponent is refused, or at least read alike in both kinds of transfer.
# Seen: @okxweb3/coin-tron signs both. In a TRX transfer '1.5' is 1 sun and '1e6' is 1 sun, because the reading stops at
# the first character that is no digit. In a USDT transfer the same texts are 85 and 246 units.
# Why it matters: an amount in TRX instead of sun, or a large number turned into text, pays next to nothing.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @okxweb3/coin-tron@1.1.0 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { TronWeb } from 'tronweb';
const { TrxWallet, getTransferData } = createRequire(import.meta.url)('@okxweb3/coin-tron');
const privateKey = '01'.repeat(32);
const fromAddress = TronWeb.address.fromPrivateKey(privateKey);
const toAddress = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const { Transaction, TransferContract } = globalThis.TronWebProto;
const trx = async (amount) => {
  const data = { fromAddress, toAddress, refBlockBytes: '0001', refBlockHash: '0102030405060708', expiration: 1_700_000_060_000, timeStamp: 1_700_000_000_000, feeLimit: 0, amount };
  const signed = await new TrxWallet().signTransaction({ privateKey, data: { type: 'transfer', data } });
  const raw = Transaction.deserializeBinary(Buffer.from(signed.replace('0x', ''), 'hex')).getRawData();
  return TransferContract.deserializeBinary(raw.getContractList()[0].getParameter().getValue_asU8()).getAmount();
};
const usdt = (amount) => Number(BigInt(`0x${getTransferData({ toAddress, amount }).toString('hex').slice(72)}`));
const seen = {};
for (const amount of ['1500000', '1.5', '1e6']) seen[amount] = { TRX: await trx(amount), USDT: usdt(amount) };
console.log('@okxweb3/coin-tron 1.1.0', seen);
assert.deepEqual(seen, {
  1500000: { TRX: 1_500_000, USDT: 1_500_000 },
  '1.5': { TRX: 1, USDT: 85 },
  '1e6': { TRX: 1, USDT: 246 },
});
JS
timeout 60 node run.mjs
