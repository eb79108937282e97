#!/bin/bash
# Restores a dump into the empty database of DATABASE_URL (or DATABASE_URL_FILE), in one transaction.
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
# Row policies of roles are rights (src/platform/database/row-policies.ts), which `cli migrate` grants to the roles of this server.
# They are skipped here. Policies from migrations name no role and are restored.
pg_restore --list "$file" >"$list"
awk '$4 == "POLICY" && $7 ~ /^(project|service)_rows$/ { rights[$6] = 1; next } { kept[++n] = $0 }
  END { for (i = 1; i <= n; i++) { split(kept[i], f, " "); if (!(f[4] == "ROW" && f[7] in rights)) print kept[i] } }' \
  "$list" >"$list.kept"
pg_restore --single-transaction --exit-on-error --no-owner --no-privileges --use-list="$list.kept" --dbname="$url" "$file"
# Our tables only: analysing system tables would cause warnings, since they have other owners.
sql <<<"SELECT format('ANALYZE %I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public' \\gexec"
