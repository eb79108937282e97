#!/bin/bash
# Backs up immediately and then every BACKUP_EVERY_SEC, until it is stopped. Every DRILL_EVERY-th dump (0 = none) is
# restored in a drill. Each success touches BACKUP_MARK, whose age a health check reads. After a failed drill every dump
# is drilled, and the mark is not touched until a drill passes.
#   docker/backup-hourly.sh DIRECTORY
set -uo pipefail
# Gives each command its own process group, so that its children end with it.
set -m
here=$(dirname "$0")
directory=${1:?say where the dumps go}
mark=${BACKUP_MARK:-/tmp/backup-ok}
every=${BACKUP_EVERY_SEC:-3600}
drill_every=${DRILL_EVERY:-24}
working=
trap '[ -z "$working" ] || kill -TERM -- "-$working" 2>/dev/null; wait; exit 0' TERM INT

# In the background, so that the stop signal is handled immediately.
run() {
  "$@" &
  working=$!
  wait "$working"
}
drill_owed=
for ((turn = 0; ; turn++)); do
  started=$SECONDS
  [ "$drill_every" -eq 0 ] || [ $((turn % drill_every)) -ne 0 ] || drill_owed=1
  if run "$here/backup.sh" "$directory" && { [ -z "$drill_owed" ] || run "$here/restore-drill.sh" "$directory"; }; then
    drill_owed=
    touch "$mark"
  else
    echo "The backup or its drill failed; the next try is in $every s." >&2
  fi
  left=$((every - (SECONDS - started)))
  [ "$left" -le 0 ] || run sleep "$left"
done
