#!/usr/bin/env bash
# Guess: the fee limit that a signing library works out is its estimate with a margin, near the price of the call.
# Seen: @layerzerolabs/tron-utilities multiplies by 1 + energy_factor, but a node counts that factor in ten thousandths.
# A call of 64,285 energy has a limit of 15,000 TRX, the chain's maximum, at a factor of 34,000 (3.4) and already at
# 2,000 (0.2). For a contract without a factor it takes one of 1.2, and the limit is 2.64 times the price.
# Why it matters: for a busy token the limit bounds nothing, and a call that loops burns the TRX of the whole wallet.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline tronweb@5.3.5 ethers@5.8.0 >/dev/null
# Its own dependencies bring 200 MB for a logger and a pause, so it is unpacked by hand, with these two beside it.
timeout 60 npm pack --silent @layerzerolabs/tron-utilities@3.0.168 >/dev/null
tar xzf layerzerolabs-tron-utilities-3.0.168.tgz
mkdir -p node_modules/@layerzerolabs/lz-utilities
cat >node_modules/@layerzerolabs/lz-utilities/index.js <<'JS'
exports.getLogger = () => console;
exports.sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });
JS
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { signTronTx } from './package/dist/index.mjs';
const blockID = `${'0'.repeat(14)}ff${'ab'.repeat(24)}`;
let factor;
const answers = {
  '/wallet/getblock': () => ({ blockID, block_header: { raw_data: { number: 255, timestamp: Date.now() } } }),
  '/wallet/getcontractinfo': () => ({ contract_state: { ...(factor > 0 && { energy_factor: factor }), update_cycle: 1 } }), // A node leaves zeros out.
};
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[request.url]?.() ?? {}));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const signer = { rpcSetting: `http://127.0.0.1:${server.address().port}`, privateKey: '01'.repeat(32) };
const seen = {};
for (const [index, energyFactor] of [0, 2_000, 34_000].entries()) {
  factor = energyFactor;
  // Another contract each time, because it remembers the factor for ten minutes.
  const call = { to: `0x${String(index + 1).repeat(40)}`, data: '0xa9059cbb', value: 0, gasLimit: 64_285, gasPrice: 100 };
  seen[`factor ${energyFactor}`] = (await signTronTx(call, signer)).raw_data.fee_limit / 1e6;
}
const price = (64_285 * 100) / 1e6;
console.log('@layerzerolabs/tron-utilities 3.0.168: fee limit in TRX', seen, `; the call itself costs ${price} TRX`);
assert.deepEqual(seen, { 'factor 0': 16.97124, 'factor 2000': 15_000, 'factor 34000': 15_000 });
process.exit(0);
JS
timeout 60 node run.mjs
