#!/usr/bin/env bash
# Guess: a verifier that is given the raw bytes of a body checks the HMAC of these bytes.
# Seen: standardwebhooks and svix decode the bytes as UTF-8 first. A byte that is no UTF-8 becomes U+FFFD, so another
# such byte in its place passes, and the signature of the bytes as they are is refused. stripe decodes them too.
# Why it matters: a receiver cannot verify a body in another encoding, and a changed byte in it is not noticed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline stripe@23.1.0 standardwebhooks@1.1.1 svix@2.5.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { Webhook as Standard } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as Svix } from 'svix';
const { webhooks } = new Stripe('sk_test_1');
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const time = Math.floor(Date.now() / 1000);
const bodyWith = (byte) => Buffer.concat([Buffer.from('{"name":"M'), Buffer.from([byte]), Buffer.from('ller"}')]);
const [body, changed] = [bodyWith(0xfc), bodyWith(0xfe)]; // ü in ISO-8859-1, and another byte that is no UTF-8.
const tried = (verify) => { try { verify(); return 'accepted'; } catch { return 'refused'; } };
const hmac = (key, encoding, ...parts) => createHmac('sha256', key).update(Buffer.concat(parts)).digest(encoding);
const key = Buffer.from(secret.slice(6), 'base64');
const text = Buffer.from(body.toString());
const by = (Webhook, prefix) => (signed, received) => {
  const signature = `v1,${hmac(key, 'base64', Buffer.from(`msg_1.${time}.`), signed)}`;
  const headers = { [`${prefix}-id`]: 'msg_1', [`${prefix}-timestamp`]: String(time), [`${prefix}-signature`]: signature };
  return tried(() => new Webhook(secret).verify(received, headers));
};
const byStripe = (signed, received) =>
  tried(() => webhooks.constructEvent(received, `t=${time},v1=${hmac(secret, 'hex', Buffer.from(`${time}.`), signed)}`, secret));
const seen = {};
for (const [name, verify] of [['stripe', byStripe], ['standardwebhooks', by(Standard, 'webhook')], ['svix', by(Svix, 'svix')]])
  seen[name] = { 'bytes signed': verify(body, body), 'text signed': verify(text, body), 'text signed, byte changed': verify(text, changed) };
console.log('stripe 23.1.0, standardwebhooks 1.1.1, svix 2.5.0', seen);
const each = { 'bytes signed': 'refused', 'text signed': 'accepted', 'text signed, byte changed': 'accepted' };
assert.deepEqual(seen, { stripe: each, standardwebhooks: each, svix: each });
JS
timeout 60 node run.mjs
