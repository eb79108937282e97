#!/usr/bin/env bash
# Guess: `@Min(1)` and `@IsPositive()` compare, and 5n > 1 is true in JavaScript, so an exact amount passes.
# Seen: IsInt, IsPositive, Min, Max and IsDivisibleBy refuse each bigint, whatever its value, with the message of a
# value that is too small or too large. As text the same amount is refused too. The number 2^53 + 2 passes all of them.
# Why it matters: a body that was read losslessly is refused, and an amount that was already rounded is taken.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline class-validator@0.15.1 >/dev/null
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { IsDivisibleBy, IsInt, IsPositive, Max, Min, validateSync } from 'class-validator';
const rules = { IsInt: IsInt(), IsPositive: IsPositive(), 'Min(1)': Min(1), 'Max(1e18)': Max(1e18), 'IsDivisibleBy(2)': IsDivisibleBy(2) };
const passes = (rule, sun) => {
  class Amount {}
  rule(Amount.prototype, 'sun');
  return validateSync(Object.assign(new Amount(), { sun })).length === 0;
};
const seen = Object.fromEntries(
  Object.entries(rules).map(([name, rule]) => [name, { 6: passes(rule, 6), '6n': passes(rule, 6n), "'6'": passes(rule, '6'), '2^53+2': passes(rule, 2 ** 53 + 2) }]),
);
console.log('class-validator 0.15.1', seen);
for (const outcome of Object.values(seen)) assert.deepEqual(outcome, { 6: true, '6n': false, "'6'": false, '2^53+2': true });
JS
timeout 60 node run.mjs
