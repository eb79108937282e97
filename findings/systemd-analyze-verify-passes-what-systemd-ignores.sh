#!/usr/bin/env bash
# Guess: `systemd-analyze verify` fails for a unit that has a misspelt restart policy or memory limit, as a check does.
# Seen: it prints "ignoring" for each of them and exits 0. With --recursive-errors=yes it exits 1. A program that does not
# exist is exit code 1 without it, so a pipeline that tries the check with that mistake trusts it.
# Why it matters: the unit passes CI, starts, and has neither a restart after a crash nor a limit.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v systemd-analyze >/dev/null; then echo 'this needs systemd-analyze in PATH'; exit 1; fi
systemd-analyze --version | head -1
unit() { printf '[Service]\nExecStart=%s\nRestart=%s\nMemoryMax=%s\n' "$2" "$3" "$4" >"$1.service"; }
unit good /bin/true always 1G
unit misspelt /bin/true allways 1GiB
unit missing /bin/missing always 1G
seen=''
check() {
  local unit=$1 code=0
  shift
  timeout 30 systemd-analyze verify --man=no "$@" "./$unit.service" 2>said || code=$?
  seen+="$unit${*:+ $*}: $code, ignored: $(grep -c "$unit.service:.*ignoring" said || true)"$'\n'
}
check good
check misspelt
check misspelt --recursive-errors=yes
check missing
printf '%s' "$seen"
diff - <(printf '%s' "$seen") <<'T'
good: 0, ignored: 0
misspelt: 0, ignored: 2
misspelt --recursive-errors=yes: 1, ignored: 2
missing: 1, ignored: 0
T
