#!/bin/bash
# Writes one dump of DATABASE_URL (or DATABASE_URL_FILE) into a directory, with the time in its name, and verifies that
# it is readable. Then deletes old dumps: it keeps the newest KEEP_NEWEST, and of older ones the newest of each day, for
# KEEP_DAYS days with dumps.
#   docker/backup.sh DIRECTORY
set -euo pipefail
here=$(dirname "$0")
directory=${1:?say where the dump goes}
# shellcheck source=docker/database-url.sh
. "$here/database-url.sh"
umask 077

file=$directory/energy-$(date -u +%Y%m%dT%H%M%SZ).dump
# docker/backup-metrics.mjs reports it to Prometheus.
finish() {
  local code=$?
  rm -f "$file.part"
  if [ "$code" -eq 0 ]; then touch "$directory/.backup-success"; else touch "$directory/.backup-failure"; fi
}
trap finish EXIT
pg_dump --format=custom --no-owner --no-privileges --lock-wait-timeout=60s --file="$file.part" --dbname="$url"
pg_restore --list "$file.part" >/dev/null
sync "$file.part"
mv "$file.part" "$file"
echo "$file"

# Deletes partial files of killed runs.
find "$directory" -maxdepth 1 -type f -name 'energy-*.dump.part' -mmin +1440 -delete
kept=0 days=0 last_day=
for old in $(find "$directory" -maxdepth 1 -type f -name 'energy-????????T??????Z.dump' -printf '%f\n' | sort -r); do
  day=${old:7:8}
  kept=$((kept + 1))
  [ "$kept" -gt "${KEEP_NEWEST:-48}" ] || { last_day=$day; continue; }
  if [ "$day" != "$last_day" ] && [ "$days" -lt "${KEEP_DAYS:-30}" ]; then
    days=$((days + 1)) last_day=$day
    continue
  fi
  rm -f "$directory/$old"
done
