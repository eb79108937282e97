#!/usr/bin/env bash
# Guess: without --retry curl sends a POST once; a connection that ends without an answer is "Empty reply", exit code
# 52.
# Seen: that holds for the first request of a connection. On a kept connection curl sends the POST again, on a new
# connection and without a word, although the first copy had arrived. It exits 0.
# Why it matters: a payment without an idempotency key is made twice when a server restarts. libcurl is also what the
# curl functions of PHP use.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v curl >/dev/null; then echo 'this needs curl in PATH'; exit 1; fi
curl --version | head -1
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
// Ends the connection instead of its first answer to /orders.
let arrived = [];
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    const path = String(bytes).split(' ')[1];
    const isFirst = !arrived.includes(path);
    arrived.push(path);
    if (path === '/orders' && isFirst) socket.end();
    else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const post = (path) => ['-sS', '--noproxy', '*', '-d', 'amount=5', `http://127.0.0.1:${server.address().port}${path}`];
const seen = {};
for (const [name, args] of Object.entries({
  'a new connection': post('/orders'),
  'a kept connection': [...post('/quotes'), '--next', ...post('/orders')],
})) {
  arrived = [];
  const exit = await new Promise((done) => { execFile('curl', ['-q', ...args], (error) => done(error?.code ?? 0)); });
  seen[name] = { exit, arrived };
}
console.log(seen);
assert.deepEqual(seen, {
  'a new connection': { exit: 52, arrived: ['/orders'] },
  'a kept connection': { exit: 0, arrived: ['/quotes', '/orders', '/orders'] },
});
process.exit(0);
JS
timeout 60 node run.mjs
