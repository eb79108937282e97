#!/usr/bin/env bash
# Guess: 20 bare hex bytes, the form of addresses in a receipt's logs, are converted or refused.
# Seen: tron-format-address replaces the first two digits, whatever they are, and tronweb encodes the 20 bytes without
# 0x41. Both answer text that looks like an address, of 20 bytes instead of 21, and no error. With 0x in front both are
# right.
# Why it matters: a payment goes to, or is looked for at, an address that does not exist.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline tron-format-address@0.1.12 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { TronWeb } from 'tronweb';
const { fromHex } = createRequire(import.meta.url)('tron-format-address');
const bare = '1a642f0e3c3af545e7acbd38b07251b3990914f1';
const right = TronWeb.address.fromHex(`41${bare}`);
const seen = {
  right,
  'tron-format-address, bare': fromHex(bare),
  'tron-format-address, 0x': fromHex(`0x${bare}`),
  'tronweb, bare': TronWeb.address.fromHex(bare),
  'tronweb, 0x': TronWeb.address.fromHex(`0x${bare}`),
};
console.log('tron-format-address 0.1.12, tronweb 6.5.1', seen);
assert.equal(seen['tron-format-address, 0x'], right);
assert.equal(seen['tronweb, 0x'], right);
for (const wrong of ['tron-format-address, bare', 'tronweb, bare']) {
  assert.notEqual(seen[wrong], right);
  assert.ok(seen[wrong].length > 25 && !TronWeb.isAddress(seen[wrong]));
}
JS
timeout 60 node run.mjs
