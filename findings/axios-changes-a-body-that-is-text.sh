#!/usr/bin/env bash
# Guess: a body that is already text is sent as it is, so a signature over that text holds.
# Seen: with the content type application/json axios reads the text as JSON. Text that is JSON loses the white space
# at both ends, and text that is none is sent as JSON text, in quotes. Any other content type, or a Buffer, leaves it
# alone.
# Why it matters: a file with a newline at its end, signed as it was read, is refused by the receiver, and a signed
# token arrives with two quotes more.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline axios@1.21.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import axios from 'axios';
const server = createServer(async (request, response) => response.end(JSON.stringify(await text(request))));
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${server.address().port}`;
const seen = {};
const send = async (name, body, type) => {
  const { data } = await axios.post(url, body, { headers: { 'content-type': type }, proxy: false });
  seen[name] = data === String(body) ? 'as it is' : data;
};
const json = '{"amount": 5}\n';
await send('JSON and a newline', json, 'application/json');
await send('the same as problem+json', json, 'application/problem+json');
await send('the same in a Buffer', Buffer.from(json), 'application/json');
await send('a token', 'aaa.bbb.ccc', 'application/json');
await send('a token as jose', 'aaa.bbb.ccc', 'application/jose');
console.log(`axios ${axios.VERSION}`, seen);
assert.deepEqual(seen, {
  'JSON and a newline': '{"amount": 5}',
  'the same as problem+json': 'as it is',
  'the same in a Buffer': 'as it is',
  'a token': '"aaa.bbb.ccc"',
  'a token as jose': 'as it is',
});
process.exit(0);
JS
timeout 60 node run.mjs
