#!/usr/bin/env bash
# Guess: `getBandwidth` is the bandwidth that a transaction can use, so 345 bytes are free of charge when it answers
# 500.
# Seen: it answers the sum of the free and the staked bandwidth that are left. The chain takes a transaction's bytes
# from one of the two, never from both (BandwidthProcessor of java-tron), and burns TRX for all of them when neither
# suffices. The answer is negative when the stake was reduced after its bandwidth had been used.
# Why it matters: an address with 250 of each has "500", and its transfer of 345 bytes burns 0.345 TRX, or fails
# without.
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
let resources = {};
const node = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json').end(JSON.stringify(resources));
});
await new Promise((listening) => node.listen(0, '127.0.0.1', listening));
const { trx } = new TronWeb({ fullHost: `http://127.0.0.1:${node.address().port}` });
const address = TronWeb.address.fromHex(`41${'22'.repeat(20)}`);
const bandwidth = async (fields) => { resources = fields; return trx.getBandwidth(address); };
const seen = {
  '250 free, 250 staked': await bandwidth({ freeNetLimit: 600, freeNetUsed: 350, NetLimit: 1_000, NetUsed: 750 }),
  '500 staked': await bandwidth({ freeNetLimit: 600, freeNetUsed: 600, NetLimit: 1_000, NetUsed: 500 }),
  '600 free, the stake reduced': await bandwidth({ freeNetLimit: 600, NetLimit: 100, NetUsed: 900 }),
};
console.log('tronweb 6.5.1', seen);
assert.deepEqual(seen, { '250 free, 250 staked': 500, '500 staked': 500, '600 free, the stake reduced': -200 });
process.exit(0);
JS
timeout 60 node run.mjs
