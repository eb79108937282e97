#!/usr/bin/env bash
# Guess: `verify(body, request.headers)` works in a fetch handler, and raw bytes are raw bytes.
# Seen: standardwebhooks and svix read own properties alone, so a Headers object (or a Map) of a genuine request is
# refused as "Missing required headers". A Buffer is taken and a Uint8Array refused. Values in a list, as Node's
# headersDistinct has them, end in a TypeError instead of a verification error.
# Why it matters: merchants report genuine deliveries as forged; show them `Object.fromEntries`.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline standardwebhooks@1.1.1 svix@2.5.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Webhook as Standard } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const body = '{"type":"order.delivered"}';
const now = new Date();
const plain = {
  'webhook-id': 'm1',
  'webhook-timestamp': Math.floor(now.getTime() / 1000).toString(),
  'webhook-signature': new Standard(secret).sign('m1', now, body),
};
const outcome = (webhook, payload, headers) => {
  try { webhook.verify(payload, headers); return 'taken'; } catch (error) { return `${error.constructor.name}: ${error.message}`; }
};
for (const [name, webhook] of [['standardwebhooks 1.1.1', new Standard(secret)], ['svix 2.5.0', new Svix(secret)]]) {
  const seen = {
    'plain object': outcome(webhook, body, plain),
    Headers: outcome(webhook, body, new Headers(plain)),
    'headers in lists': outcome(webhook, body, Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, [value]]))),
    Buffer: outcome(webhook, Buffer.from(body), plain),
    Uint8Array: outcome(webhook, new Uint8Array(Buffer.from(body)), plain),
  };
  console.log(name, seen);
  assert.equal(seen['plain object'], 'taken');
  assert.equal(seen.Headers, 'WebhookVerificationError: Missing required headers');
  assert.match(seen['headers in lists'], /^TypeError/);
  assert.equal(seen.Buffer, 'taken');
  assert.match(seen.Uint8Array, /expected payload to be of type string or Buffer/i);
}
JS
timeout 60 node run.mjs
