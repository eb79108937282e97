#!/bin/sh
# Puts a dump into the empty database that DATABASE_URL names: all of it in one transaction, or nothing.
#   docker/restore.sh FILE
# Nothing of the service may run meanwhile. What to do afterwards: docs/operating.md, Restore.
set -eu
: "${DATABASE_URL:?names the empty database to restore into}"
file=${1:?say which dump}
tables=$(psql --no-psqlrc --tuples-only --no-align --command \
  "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'" "$DATABASE_URL")
if [ "$tables" != 0 ]; then
  echo "The database is not empty; restore into a new one." >&2
  exit 1
fi
pg_restore --single-transaction --exit-on-error --no-owner --no-privileges --dbname="$DATABASE_URL" "$file"
psql --no-psqlrc --quiet --command ANALYZE "$DATABASE_URL"
