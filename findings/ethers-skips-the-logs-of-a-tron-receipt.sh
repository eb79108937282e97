#!/usr/bin/env bash
# Guess: a log without 0x, as a node's receipt has it, is either read or refused with an error.
# Seen: `parseLog` of ethers answers null, as it does for an event that the ABI lacks. With 0x in front of the topics
# alone it throws, because the data has no 0x either. Only with 0x in front of both it reads the log.
# Why it matters: a deposit reader that skips foreign events skips every genuine transfer, and no error shows it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline ethers@6.17.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Interface, id } from 'ethers';
const iface = new Interface(['event Transfer(address indexed from, address indexed to, uint256 value)']);
const word = (digits) => digits.padStart(64, '0');
const party = word('22'.repeat(20));
// The form of `log` in an answer of wallet/gettransactioninfobyid.
const log = { topics: [id('Transfer(address,address,uint256)').slice(2), party, party], data: word('5') };
const with0x = { ...log, topics: log.topics.map((topic) => `0x${topic}`) };
const foreign = { ...with0x, topics: [id('Other()')], data: '0x' };
const read = (entry) => { try { return iface.parseLog(entry)?.args.value.toString() ?? null; } catch (error) { return error.code; } };
const seen = {
  'event of another ABI': read(foreign),
  'as the node answers': read(log),
  '0x in front of the topics': read(with0x),
  '0x in front of all': read({ ...with0x, data: `0x${log.data}` }),
};
console.log('ethers 6.17.0', seen);
assert.deepEqual(seen, {
  'event of another ABI': null,
  'as the node answers': null,
  '0x in front of the topics': 'INVALID_ARGUMENT',
  '0x in front of all': '5',
});
JS
timeout 60 node run.mjs
