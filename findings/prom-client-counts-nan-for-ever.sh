#!/usr/bin/env bash
# Guess: a counter refuses a value that is no finite number, and an alert on its increase fires when it rises.
# Seen: prom-client refuses -1, Infinity and '5', and takes NaN: the counter is NaN from then on, whatever is added.
# `increase(…) > 0` over it has no result, so the alert never fires again; a sum with it is NaN as well. promtool finds
# nothing wrong with the text "Nan". `inc(null)` adds 1.
# Why it matters: one division of 0 by 0 in a ratio of energy switches off the alert about failed deliveries.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline prom-client@15.1.3 >/dev/null
if ! command -v promtool >/dev/null; then echo 'this needs promtool in PATH'; exit 1; fi
promtool --version 2>&1 | head -1
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import client from 'prom-client';
const inc = async (...values) => {
  const registers = [new client.Registry()];
  const counter = new client.Counter({ name: 'failed_total', help: 'Failed deliveries.', registers });
  try { for (const value of values) counter.inc(value); } catch { return 'refused'; }
  return (await registers[0].metrics()).split('\n').find((line) => !line.startsWith('#'));
};
const seen = {
  '-1': await inc(-1),
  Infinity: await inc(Infinity),
  text: await inc('5'),
  null: await inc(null),
  '2, NaN and 5': await inc(2, NaN, 5),
};
console.error('prom-client 15.1.3', seen);
assert.deepEqual(seen, { '-1': 'refused', Infinity: 'refused', text: 'refused', null: 'failed_total 1', '2, NaN and 5': 'failed_total Nan' });
console.log(`# HELP failed_total Failed deliveries.\n# TYPE failed_total counter\n${seen['2, NaN and 5']}`);
JS
timeout 60 node run.mjs >metrics.txt
timeout 20 promtool check metrics <metrics.txt
echo 'promtool check metrics: exit code 0'
cat >rules.yml <<'Y'
groups: [{name: deliveries, rules: [{alert: DeliveryFailed, expr: 'increase(failed_total[5m]) > 0'}]}]
Y
cat >test.yml <<'Y'
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series: [{series: failed_total, values: '0 1 2 NaN NaN NaN NaN'}]
    alert_rule_test:
      - {alertname: DeliveryFailed, eval_time: 2m, exp_alerts: [{}]}
      - {alertname: DeliveryFailed, eval_time: 5m, exp_alerts: []}
    promql_expr_test:
      - {expr: 'sum(failed_total) + 5 > 0', eval_time: 5m, exp_samples: []}
Y
timeout 20 promtool test rules test.yml
echo 'the alert fires after 2 minutes and not after 5'
