#!/usr/bin/env bash
# Guess: a signature header "t=…,v1=…" is one format, the HMAC-SHA256 of "t.body", so any verifier for it will do.
# Seen: stripe writes seconds and hex, @sanity/webhook milliseconds and base64url. Both sign "t.body" with the same kind
# of key, but neither verifies the other's header: stripe throws, and Sanity says false.
# Why it matters: a receiver that picks its verifier by the look of the header refuses all deliveries.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline stripe@23.1.0 @sanity/webhook@4.0.4 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { encodeSignatureHeader, isValidSignature } from '@sanity/webhook';
import Stripe from 'stripe';
const { webhooks } = new Stripe('sk_test_1');
const secret = 'a secret of both';
const payload = '{"type":"order.delivered"}';
const seconds = Math.floor(Date.now() / 1000);
const stripe = webhooks.generateTestHeaderString({ payload, secret, timestamp: seconds });
const sanity = await encodeSignatureHeader(payload, seconds * 1000, secret);
const byStripe = (header) => { try { webhooks.constructEvent(payload, header, secret); return true; } catch { return false; } };
const bySanity = (header) => isValidSignature(payload, header, secret).catch((error) => error.name);
const digest = (header) => header.split('v1=')[1];
const seen = {
  'of stripe': { t: `${stripe.match(/t=(\d+)/)[1].length} digits`, v1: `${digest(stripe).length} characters`, 'by stripe': byStripe(stripe), 'by sanity': await bySanity(stripe) },
  'of sanity': { t: `${sanity.match(/t=(\d+)/)[1].length} digits`, v1: `${digest(sanity).length} characters`, 'by stripe': byStripe(sanity), 'by sanity': await bySanity(sanity) },
};
console.log('stripe 23.1.0, @sanity/webhook 4.0.4', seen);
assert.deepEqual(seen, {
  'of stripe': { t: '10 digits', v1: '64 characters', 'by stripe': true, 'by sanity': false },
  'of sanity': { t: '13 digits', v1: '43 characters', 'by stripe': false, 'by sanity': true },
});
JS
timeout 60 node run.mjs
