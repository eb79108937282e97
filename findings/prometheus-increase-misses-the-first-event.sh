#!/usr/bin/env bash
# Guess: `increase(refunds_total{cause="chain"}[5m]) > 0` fires at the first refund of this cause.
# Seen: it answers 0. The series begins with the value 1 at that refund, and `increase` counts from the first sample
# that it sees. The alert first fires at the second refund. A series that was there with 0 before gives 1 for the first.
# Why it matters: client libraries create a labelled series at its first event, so the alert for "must never happen"
# stays silent for the one time that it does. Create each label's series with 0 at the start.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v promtool >/dev/null; then echo 'this needs promtool (Prometheus) in PATH'; exit 1; fi
promtool --version 2>&1 | head -1
cat >rules.yml <<'Y'
groups:
  - name: refunds
    rules:
      - { alert: Refunded, expr: 'increase(refunds_total[5m]) > 0' }
Y
test_of() {
  cat >test.yml <<Y
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'refunds_total{cause="chain"}', values: '$1' }
    promql_expr_test:
      - { expr: 'increase(refunds_total[5m]) > bool 0', eval_time: 5m, exp_samples: [{ labels: '{cause="chain"}', value: $2 }] }
    alert_rule_test:
      - { eval_time: 5m, alertname: Refunded, exp_alerts: [$3] }
Y
  promtool test rules test.yml >out 2>&1 || { cat out; exit 1; }
  echo "$1: increase is above 0: $2, firing: ${3:-none}"
}
FIRING='{ exp_labels: { cause: chain } }'
test_of '_ _ _ 1 1 1 1' 0 ''
test_of '_ _ 1 1 2 2 2' 1 "$FIRING"
test_of '0 0 0 1 1 1 1' 1 "$FIRING"
