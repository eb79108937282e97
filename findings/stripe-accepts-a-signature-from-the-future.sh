#!/usr/bin/env bash
# Guess: a verifier with a tolerance refuses a timestamp that is too far from now, on either side.
# Seen: stripe refuses an hour ago and accepts an hour ahead, and ten years ahead too. standardwebhooks and svix refuse
# all of them.
# Why it matters: a delivery that was signed with a wrong clock, or with a chosen timestamp, can be replayed for years.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline stripe@23.1.0 standardwebhooks@1.1.1 svix@2.5.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { Webhook as Standard } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as Svix } from 'svix';
const { webhooks } = new Stripe('sk_test_1');
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const payload = '{"type":"order.delivered"}';
const tried = (verify) => { try { verify(); return 'accepted'; } catch { return 'refused'; } };
const byStripe = (timestamp) => {
  const header = webhooks.generateTestHeaderString({ payload, secret, timestamp });
  return tried(() => webhooks.constructEvent(payload, header, secret));
};
const by = (Webhook, prefix) => (timestamp) => {
  const webhook = new Webhook(secret);
  const signature = webhook.sign('msg_1', new Date(timestamp * 1000), payload);
  const headers = { [`${prefix}-id`]: 'msg_1', [`${prefix}-timestamp`]: String(timestamp), [`${prefix}-signature`]: signature };
  return tried(() => webhook.verify(payload, headers));
};
const now = Math.floor(Date.now() / 1000);
const times = { now, 'an hour ago': now - 3600, 'an hour ahead': now + 3600, 'ten years ahead': now + 315_360_000 };
const of = (verify) => Object.fromEntries(Object.entries(times).map(([name, time]) => [name, verify(time)]));
const seen = { stripe: of(byStripe), standardwebhooks: of(by(Standard, 'webhook')), svix: of(by(Svix, 'svix')) };
console.log('stripe 23.1.0, standardwebhooks 1.1.1, svix 2.5.0', seen);
const strict = { now: 'accepted', 'an hour ago': 'refused', 'an hour ahead': 'refused', 'ten years ahead': 'refused' };
assert.deepEqual(seen, {
  stripe: { ...strict, 'an hour ahead': 'accepted', 'ten years ahead': 'accepted' },
  standardwebhooks: strict,
  svix: strict,
});
JS
timeout 60 node run.mjs
