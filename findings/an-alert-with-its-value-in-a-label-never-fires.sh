#!/usr/bin/env bash
# Guess: `labels: { lag: '{{ $value }}' }` shows the value in the alert, as in an annotation.
# Seen: while the value changes, an alert with `for: 3m` stays pending and never fires: labels name an alert, so each
# value begins a new one whose three minutes start again. With the value in an annotation it fires. `promtool check
# rules` finds nothing wrong.
# Why it matters: the alert is tested with a constant value, fires, and stays silent for a lag that grows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v promtool >/dev/null; then echo 'this needs promtool (Prometheus) in PATH'; exit 1; fi
promtool --version 2>&1 | head -1
cat >rules.yml <<'Y'
groups:
  - name: lag
    rules:
      - { alert: InLabel, expr: 'lag_blocks > 5', for: 3m, labels: { lag: '{{ $value }}' } }
      - { alert: InAnnotation, expr: 'lag_blocks > 5', for: 3m, annotations: { lag: '{{ $value }}' } }
Y
promtool check rules rules.yml
test_of() {
  cat >test.yml <<Y
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: lag_blocks, values: '$1' }
    alert_rule_test:
      - { eval_time: 30m, alertname: InLabel, exp_alerts: [$2] }
      - { eval_time: 30m, alertname: InAnnotation, exp_alerts: [{ exp_annotations: { lag: '$3' } }] }
Y
  promtool test rules test.yml >out 2>&1 || { cat out; exit 1; }
  echo "lag $1, after 30 minutes: InLabel ${2:-is silent}, InAnnotation fires"
}
test_of '6x40' "{ exp_labels: { lag: '6' } }" 6
test_of '6+1x40' '' 36
