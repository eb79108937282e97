#!/usr/bin/env bash
# Guess: `schema.partial()` makes each field optional, so a PATCH that names no field parses to {}.
# Seen: with zod 4 each field that has a default is filled in, so {} becomes { retries: 5, note: '' }. zod 3 answers {}.
# The same holds for a field that is written `.default(…).optional()`.
# Why it matters: after the upgrade a PATCH of one field writes the defaults over all others, and each answer is a
# success.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline zod@4.6.7 zod3@npm:zod@3.25.76 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { z as z4 } from 'zod';
import { z as z3 } from 'zod3';
const patchOf = (z) => {
  const settings = z.object({ url: z.string(), retries: z.number().default(5), note: z.string().default('') });
  return settings.partial();
};
const stored = { url: 'https://a.example', retries: 9, note: 'night shift' };
const change = { url: 'https://b.example' };
const seen = {};
for (const [version, z] of [['3.25.76', z3], ['4.6.7', z4]]) {
  const patch = patchOf(z);
  const optional = z.object({ retries: z.number().default(5).optional() });
  seen[version] = {
    'default, then optional': optional.parse({}),
    '{}': patch.parse({}), 
    'stored after a PATCH of url': { ...stored, ...patch.parse(change) },
  };
}
console.log('zod', seen);
assert.deepEqual(seen['3.25.76'], {
  'default, then optional': {},
  '{}': {},
  'stored after a PATCH of url': { ...stored, ...change },
});
assert.deepEqual(seen['4.6.7'], {
  'default, then optional': { retries: 5 },
  '{}': { retries: 5, note: '' },
  'stored after a PATCH of url': { url: 'https://b.example', retries: 5, note: '' },
});
JS
timeout 60 node run.mjs
