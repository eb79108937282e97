#!/usr/bin/env bash
# Guess: a secret that begins with whsec_ is one HMAC key, whichever webhook library reads it.
# Seen: stripe takes the whole text, prefix included, as the bytes of the key. standardwebhooks cuts the prefix off and
# decodes the rest from base64. A secret of the second kind works in the first without an error, as another key.
# Why it matters: a merchant's own HMAC code that was copied from a Stripe guide refuses every genuine delivery.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline stripe@23.1.0 standardwebhooks@1.1.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const payload = '{"type":"order.delivered"}';
const timestamp = 1_700_000_000;
const keys = { 'the whole text': secret, 'what base64 decodes': Buffer.from(secret.slice(6), 'base64') };
const keyOf = (content, encoding, signature) => Object.keys(keys).find((name) => createHmac('sha256', keys[name]).update(content).digest(encoding) === signature);
const stripe = new Stripe('sk_test_1').webhooks.generateTestHeaderString({ payload, secret, timestamp });
const standard = new Webhook(secret).sign('m1', new Date(timestamp * 1000), payload);
const seen = {
  'stripe 23.1.0': keyOf(`${timestamp}.${payload}`, 'hex', stripe.split('v1=')[1]),
  'standardwebhooks 1.1.1': keyOf(`m1.${timestamp}.${payload}`, 'base64', standard.split('v1,')[1]),
};
console.log(seen);
assert.deepEqual(seen, { 'stripe 23.1.0': 'the whole text', 'standardwebhooks 1.1.1': 'what base64 decodes' });
JS
timeout 60 node run.mjs
