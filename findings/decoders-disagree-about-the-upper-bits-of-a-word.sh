#!/usr/bin/env bash
# Guess: decoders of the ABI agree on a word whose bits above its type are set: all of them mask it or all refuse it.
# Seen: an address word that holds TRON's 41 is refused by ethers and tronweb and read by viem. A bool of 2 is true for
# ethers and tronweb and refused by viem. A uint8 of 0x0105 is 5 for ethers and tronweb, and 261 for viem.
# Why it matters: signers write such address words into transfers, so two readers of the same call see other recipients.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline ethers@6.17.0 viem@2.57.20 tronweb@6.5.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { AbiCoder } from 'ethers';
import { utils } from 'tronweb';
import { decodeAbiParameters } from 'viem';
const outcome = (read) => { try { return String(read()).toLowerCase().replace(/^(0x|41)(?=22)/, ''); } catch { return 'throws'; } };
const decode = (type, digits) => {
  const data = `0x${digits.padStart(64, '0')}`;
  return {
    ethers: outcome(() => AbiCoder.defaultAbiCoder().decode([type], data)[0]),
    viem: outcome(() => decodeAbiParameters([{ type }], data)[0]),
    tronweb: outcome(() => Object.values(utils.abi.decodeParams(['value'], [type], data))[0]),
  };
};
const seen = { 'address with 41': decode('address', `41${'22'.repeat(20)}`), 'bool of 2': decode('bool', '2'), 'uint8 of 0x0105': decode('uint8', '0105') };
console.log('ethers 6.17.0, viem 2.57.20, tronweb 6.5.1', seen);
assert.deepEqual(seen, {
  'address with 41': { ethers: 'throws', viem: '22'.repeat(20), tronweb: 'throws' },
  'bool of 2': { ethers: 'true', viem: 'throws', tronweb: 'true' },
  'uint8 of 0x0105': { ethers: '5', viem: '261', tronweb: '5' },
});
JS
timeout 60 node run.mjs
