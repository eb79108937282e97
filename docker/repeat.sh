#!/bin/bash
# Runs a command immediately and then every EVERY_SEC seconds, until it is stopped. Each success touches MARK, whose age
# a health check reads. After a failure the next try is in EVERY_SEC or an hour, whichever is sooner.
#   docker/repeat.sh MARK COMMAND [ARGUMENT...]
set -uo pipefail
# Gives each command its own process group, so that its children end with it.
set -m
every=${EVERY_SEC:-3600}
mark=${1:?say which file a success touches}
shift
retry=$((every < 3600 ? every : 3600))
working=
trap '[ -z "$working" ] || kill -TERM -- "-$working" 2>/dev/null; wait; exit 0' TERM INT

# In the background, so that the stop signal is handled immediately.
run() {
  "$@" &
  working=$!
  wait "$working"
}
while true; do
  started=$SECONDS
  pause=$every
  if run "$@"; then
    touch "$mark"
  else
    pause=$retry
    echo "$1 failed; the next try is in $retry s." >&2
  fi
  left=$((pause - (SECONDS - started)))
  [ "$left" -le 0 ] || run sleep "$left"
done
