#!/usr/bin/env bash
# Guess: in a rule test `time()` is the present, or follows the timestamps of the series.
# Seen: a test begins in 1970, so `time()` is the eval_time in seconds. A rule `time() - head_seconds > 60` never fires
# on a real timestamp: the difference is negative. A test that expects no alert passes, however old the timestamp is.
# Why it matters: the alert on a stuck chain or a late backup looks tested, and its threshold was never reached.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v promtool >/dev/null; then echo 'this needs promtool in PATH'; exit 1; fi
promtool --version 2>&1 | head -1
cat >chain.yml <<'Y'
groups:
  - name: chain
    rules:
      - {alert: ChainStuck, expr: time() - head_seconds > 60}
Y
test_of() { # FIRST_VALUE EXPECTED_ALERTS
  cat <<Y
rule_files: [chain.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series: [{series: head_seconds, values: '$1x60'}]
    promql_expr_test: [{expr: time(), eval_time: 1h, exp_samples: [{value: 3600}]}]
    alert_rule_test: [{alertname: ChainStuck, eval_time: 1h, exp_alerts: [$2]}]
Y
}
code_of() { local code=0; timeout 20 "$@" >output 2>&1 || code=$?; echo "$code"; }
expect() { echo "$1: exit code $3"; if [ "$2" != "$3" ]; then cat output; exit 1; fi; }
# The head has stood at 1 January 2026 for an hour.
test_of 1767225600 '' >none.yml
test_of 1767225600 '{}' >stuck.yml
test_of 0 '{}' >from-1970.yml
expect 'no alert expected' 0 "$(code_of promtool test rules none.yml)"
expect 'the alert expected' 1 "$(code_of promtool test rules stuck.yml)"
expect 'the alert expected, with a head of 1970' 0 "$(code_of promtool test rules from-1970.yml)"
