#!/bin/sh
# Writes one dump of DATABASE_URL into a directory, under a name with the time, and reads it back before it counts.
#   docker/backup.sh DIRECTORY
set -eu
: "${DATABASE_URL:?names the database to dump}"
directory=${1:?say where the dump goes}
umask 077
file="$directory/energy-$(date -u +%Y%m%dT%H%M%SZ).dump"
trap 'rm -f "$file.part"' EXIT
pg_dump --format=custom --no-owner --no-privileges --lock-wait-timeout=60s --file="$file.part" "$DATABASE_URL"
pg_restore --list "$file.part" >/dev/null
mv "$file.part" "$file"
echo "$file"
