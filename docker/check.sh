#!/bin/bash
# Checks what the tests of npm cannot: alert rules with promtool, and backup and restore with the client tools of a
# Postgres server's own major. Needs Debian's packages prometheus and postgresql, and a built dist/.
set -euo pipefail
cd "$(dirname "$0")/.."

need() {
  command -v "$1" >/dev/null || { echo "$1 is missing: apt-get install $2" >&2; exit 1; }
}
need promtool prometheus
need pg_dump postgresql
[ -f dist/bundle/main.cli.js ] || { echo 'dist/ is missing: npm run build' >&2; exit 1; }

promtool check config docker/prometheus.yml
promtool test rules docker/alerts.test.yml

# pg_dump on PATH is the newest installed; the server is started from beside it.
major=$(pg_dump --version | sed -E 's/.*\) ([0-9]+).*/\1/')
bin=/usr/lib/postgresql/$major/bin
dir=$(mktemp -d)
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
as_server() { # Postgres refuses to run as root
  if [ "$(id -u)" -eq 0 ]; then su postgres -s /bin/bash -c "$(printf '%q ' "$@")"; else "$@"; fi
}
finish() {
  as_server "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap finish EXIT
chmod 711 "$dir"
mkdir "$dir/data" "$dir/dumps"
[ "$(id -u)" -ne 0 ] || chown postgres "$dir/data"
as_server "$bin/initdb" -D "$dir/data" -U energy --auth=trust >/dev/null
as_server "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/data/log" \
  -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off" start >/dev/null

server=postgres://energy@127.0.0.1:$port
psql --quiet --command 'CREATE DATABASE sold' --command 'CREATE DATABASE again' "$server/postgres"
cli() { # database, command...
  DATABASE_URL=$server/$1 REDIS_URL=redis://127.0.0.1:1 TRON_FULL_NODE_URLS=http://127.0.0.1:1 \
    TRON_SOLIDITY_NODE_URLS=http://127.0.0.1:1 TOKEN_CONTRACT=TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t \
    MASTER_KEY=$master_key LOG_LEVEL=warn node dist/bundle/main.cli.js --yes --actor check --reason check "${@:2}"
}
master_key=$(openssl rand -base64 32)
cli sold migrate
cli sold project create --name 'Backed up' --credits 5000000 >/dev/null
dump=$(DATABASE_URL=$server/sold docker/backup.sh "$dir/dumps")
DATABASE_URL=$server/again docker/restore.sh "$dump"
cli again migrate check
for database in sold again; do
  cli "$database" --json project list >"$dir/$database.json"
  pg_dump --schema-only "$server/$database" | grep -v '^\\\(un\)\?restrict ' >"$dir/$database.sql"
done
diff "$dir/sold.json" "$dir/again.json"
diff "$dir/sold.sql" "$dir/again.sql"
cli again --json verify --no-chain >/dev/null
if DATABASE_URL=$server/again docker/restore.sh "$dump" 2>/dev/null; then
  echo 'a dump was restored over a database that is not empty' >&2
  exit 1
fi
echo "backup and restore with the tools of Postgres $major: the same projects, the same schema, the books in order"
