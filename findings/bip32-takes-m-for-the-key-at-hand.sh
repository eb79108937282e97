#!/usr/bin/env bash
# Guess: `derive("m/44'/195'/0'/0/5")` on the private key of the account throws, or finds the address at that path.
# Seen: m is the key at hand, whatever its depth, so the path is walked again from the account, to another address. The
# public key of the account throws, but only because of the hardened steps: m/0/5 is what both want.
# Why it matters: deposits go to addresses that the xpub of the server never lists, although both sides name one path.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @scure/bip32@2.4.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { HDKey } from '@scure/bip32';
const master = HDKey.fromMasterSeed(Buffer.alloc(32, 3));
const account = master.derive("m/44'/195'/0'");
const watching = HDKey.fromExtendedKey(account.publicExtendedKey);
const wanted = master.derive("m/44'/195'/0'/0/5").publicKey;
const outcome = (derive) => { try { return Buffer.from(derive().publicKey).equals(Buffer.from(wanted)) ? 'the right key' : 'another key'; } catch (error) { return error.message; } };
const seen = {
  depth: account.depth,
  'account key, full path': outcome(() => account.derive("m/44'/195'/0'/0/5")),
  'account xpub, full path': outcome(() => watching.derive("m/44'/195'/0'/0/5")),
  'account key, m/0/5': outcome(() => account.derive('m/0/5')),
  'account xpub, m/0/5': outcome(() => watching.derive('m/0/5')),
};
console.log('@scure/bip32 2.4.0', seen);
assert.deepEqual(seen, {
  depth: 3,
  'account key, full path': 'another key',
  'account xpub, full path': 'Could not derive hardened child key',
  'account key, m/0/5': 'the right key',
  'account xpub, m/0/5': 'the right key',
});
JS
timeout 60 node run.mjs
