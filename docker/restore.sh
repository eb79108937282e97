#!/bin/bash
# Puts a dump into the empty database that DATABASE_URL (or DATABASE_URL_FILE) names: all of it in one transaction, or
# nothing.
#   docker/restore.sh FILE
# Nothing of the service may run meanwhile. What to do afterwards: docs/operating/backup-and-restore.md.
set -euo pipefail
here=$(dirname "$0")
file=${1:?say which dump}
# shellcheck source=docker/database-url.sh
. "$here/database-url.sh"

list=$(mktemp)
trap 'rm -f "$list" "$list.kept"' EXIT
sql() {
  psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "$url"
}
tables=$(sql <<<"SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'")
if [ "$tables" != 0 ]; then
  echo "The database is not empty; restore into a new one." >&2
  exit 1
fi
# Which rows a role sees is a right of it (src/store/row-policies.ts), which `cli migrate` gives to the roles that this
# server has; what migrations say of rows names no role, and comes back.
pg_restore --list "$file" >"$list"
awk '$4 == "POLICY" && $7 ~ /^(project|service)_rows$/ { rights[$6] = 1; next } { kept[++n] = $0 }
  END { for (i = 1; i <= n; i++) { split(kept[i], f, " "); if (!(f[4] == "ROW" && f[7] in rights)) print kept[i] } }' \
  "$list" >"$list.kept"
pg_restore --single-transaction --exit-on-error --no-owner --no-privileges --use-list="$list.kept" --dbname="$url" "$file"
# Of our tables alone: the system's belong to others, and each would be a warning.
sql <<<"SELECT format('ANALYZE %I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public' \\gexec"
