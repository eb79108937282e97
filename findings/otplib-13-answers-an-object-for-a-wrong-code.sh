#!/usr/bin/env bash
# Guess: `if (await verify({ secret, token }))` lets right codes through, as `check` and `verify` did up to otplib 12.
# Seen: otplib 13 answers { valid: false } for a wrong code, which is true in an `if`. It throws for a code of another
# length. epochTolerance counts seconds, where `window` counted steps. A secret of ten bytes, which many authenticators
# were given, is refused.
# Why it matters: after the upgrade an `if` no longer tells codes apart; read `valid`.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline otplib@13.5.0 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { generate, verify } from 'otplib';
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const token = await generate({ secret, epoch: 1000 });
const wrong = token === '000000' ? '000001' : '000000';
const message = async (promise) => promise.then((value) => JSON.stringify(value), (error) => `${error.name}: ${error.message}`);
const seen = {
  'wrong code': await message(verify({ secret, token: wrong, epoch: 1000 })),
  'seven digits': await message(verify({ secret, token: `${token}0`, epoch: 1000 })),
  'one step late, tolerance 1': await message(verify({ secret, token, epoch: 1030, epochTolerance: 1 }).then(({ valid }) => valid)),
  'one step late, tolerance 30': await message(verify({ secret, token, epoch: 1030, epochTolerance: 30 }).then(({ valid }) => valid)),
  'secret of ten bytes': await message(generate({ secret: 'JBSWY3DPEHPK3PXP' })),
};
console.log('otplib 13.5.0', seen);
assert.deepEqual(seen, {
  'wrong code': '{"valid":false}',
  'seven digits': 'TokenLengthError: Token must be 6 digits, got 7',
  'one step late, tolerance 1': 'false',
  'one step late, tolerance 30': 'true',
  'secret of ten bytes': 'SecretTooShortError: Secret must be at least 16 bytes (128 bits), got 10 bytes',
});
JS
timeout 60 node run.mjs
