#!/bin/bash
# Proves that the newest dump of a directory is usable: restores it into a new database, and checks with the CLI that
# its schema is current and its records satisfy every rule. Always drops the database afterwards. Creates it on the
# server of DRILL_DATABASE_URL, or else of DATABASE_URL, whose user needs the right to create databases.
#   docker/restore-drill.sh DIRECTORY
# CLI is the command that runs the CLI (default: node dist/bundle/main.cli.js next to this folder).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=${1:?say where the dumps are}
[ -z "${DRILL_DATABASE_URL:-}" ] || export DATABASE_URL=$DRILL_DATABASE_URL
# shellcheck source=docker/database-url.sh
. "$here/database-url.sh"

# docker/backup-metrics.mjs reports it to Prometheus.
finish() {
  local code=$?
  [ -z "${scratch:-}" ] ||
    psql --no-psqlrc --quiet --command "DROP DATABASE IF EXISTS $scratch WITH (FORCE)" "$url" || code=1
  if [ "$code" -eq 0 ]; then touch "$directory/.drill-success"; else touch "$directory/.drill-failure"; fi
  exit "$code"
}
trap finish EXIT

newest=$(find "$directory" -maxdepth 1 -type f -name 'energy-????????T??????Z.dump' | sort | tail -1)
[ -n "$newest" ] || { echo "There is no dump in $directory." >&2; exit 1; }

with_database() { # URL, database
  local query=${1#"${1%%\?*}"} base=${1%%\?*}
  local scheme=${base%%://*} rest=${base#*://}
  echo "$scheme://${rest%%/*}/$2$query"
}
scratch=energy_drill_$(date -u +%Y%m%d_%H%M%S)_$$
psql --no-psqlrc --quiet --command "CREATE DATABASE $scratch" "$url"
DATABASE_URL=$(with_database "$DATABASE_URL" "$scratch")
export DATABASE_URL
# The CLI prefers DATABASE_DIRECT_URL for migrations and checks, which would be the live database.
unset DATABASE_URL_FILE DATABASE_DIRECT_URL DATABASE_DIRECT_URL_FILE

read -ra cli <<<"${CLI:-node $here/../dist/bundle/main.cli.js}"
"$here/restore.sh" "$newest"
"${cli[@]}" migrate check
# Orders and webhook deliveries that were open when the dump was taken have aged since. 900 seconds is the age that
# `verify` allows in a running service.
time=${newest##*/energy-}
taken=$(date -u -d "${time:0:8} ${time:9:2}:${time:11:2}:${time:13:2}" +%s)
allowed=$(($(date +%s) - taken + 900))
findings=$("${cli[@]}" verify --no-chain --settle-within "$allowed") || { echo "$findings" >&2; exit 1; }
echo "$newest can be restored: schema and records are in order"
