#!/usr/bin/env bash
# Guess: a request interceptor that signs JSON.stringify(config.data) signs each repeat as it signed the first
# attempt.
# Seen: axios-retry sends the config of the failed attempt, whose data has become the JSON text by then. The
# interceptor runs again and makes JSON of that text, so it signs "{\"amount\":5}" with quotes around it. The body is
# as before.
# Why it matters: the first attempt is accepted, so it works in each test; every repeat after a 503 is refused with
# 401.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline axios@1.21.1 axios-retry@4.5.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import axios from 'axios';
import axiosRetry from 'axios-retry';
const hmac = (content) => createHmac('sha256', 'key').update(content).digest('hex');
const seen = [];
const server = createServer(async (request, response) => {
  const body = await text(request);
  const signature = request.headers['x-signature'];
  const verdict = signature === hmac(body) ? 'good' : signature === hmac(JSON.stringify(body)) ? 'good for JSON of the body' : 'bad';
  seen.push({ body, verdict });
  response.writeHead(seen.length === 1 ? 503 : 200).end();
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const client = axios.create({ baseURL: `http://127.0.0.1:${server.address().port}`, proxy: false });
client.interceptors.request.use((config) => {
  config.headers['x-signature'] = hmac(JSON.stringify(config.data));
  return config;
});
axiosRetry(client, { retryCondition: ({ response }) => response?.status === 503, retryDelay: () => 10 });
await client.post('/', { amount: 5 });
console.log(`axios ${axios.VERSION}, axios-retry 4.5.0`, seen);
assert.deepEqual(seen, [
  { body: '{"amount":5}', verdict: 'good' },
  { body: '{"amount":5}', verdict: 'good for JSON of the body' },
]);
process.exit(0);
JS
timeout 60 node run.mjs
