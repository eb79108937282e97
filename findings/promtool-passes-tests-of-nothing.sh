#!/usr/bin/env bash
# Guess: `promtool test rules` fails when the rule file is missing, or when a test names an alert that no rule defines.
# Seen: a rule_files pattern without a match is a warning, and the result is SUCCESS with exit code 0. A test of a
# misspelt alert that expects no alert passes. `promtool check rules` prints "lint error" for two equal rules, and exits
# with 0 too; only --lint-fatal makes it 3.
# Why it matters: after a rename, CI stays green while no alert about the pool is tested any more.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v promtool >/dev/null; then echo 'this needs promtool in PATH'; exit 1; fi
promtool --version 2>&1 | head -1
cat >pool.yml <<'Y'
groups:
  - name: pool
    rules:
      - {alert: PoolEmpty, expr: pool_energy < 1}
      - {alert: PoolEmpty, expr: pool_energy < 1}
Y
test_of() { # RULE_FILE ALERT
  cat <<Y
rule_files: ['$1']
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series: [{series: pool_energy, values: '0x10'}]
    alert_rule_test: [{alertname: $2, eval_time: 5m, exp_alerts: []}]
Y
}
code_of() { local code=0; timeout 20 "$@" >output 2>&1 || code=$?; echo "$code"; }
expect() { echo "$1: exit code $3"; if [ "$2" != "$3" ]; then cat output; exit 1; fi; }
test_of pool.yml PoolEmpty >right.yml
test_of 'pools*.yml' PoolEmpty >missing.yml
test_of pool.yml PoolEmtpy >misspelt.yml
expect 'the alert fires, none expected' 1 "$(code_of promtool test rules right.yml)"
expect 'no rule file' 0 "$(code_of promtool test rules missing.yml)"
grep -q 'WARNING: no file match pattern' output
expect 'misspelt alert' 0 "$(code_of promtool test rules misspelt.yml)"
expect 'check rules, two equal rules' 0 "$(code_of promtool check rules pool.yml)"
grep -q 'lint error' output
expect 'check rules --lint-fatal' 3 "$(code_of promtool check rules --lint-fatal pool.yml)"
