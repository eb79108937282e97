#!/bin/bash
# Checks outside the npm tests, each with the tool that reads the file in production. They cover the schema of
# compose.yaml, alert rules and routes, the running proxy and Redis, the systemd units and the scripts. They also cover
# backup, restore and drill on a Postgres server of the tools' major version.
# Needs no Docker engine and builds no image. Needs the Debian packages named below, and a built dist/.
set -euo pipefail
cd "$(dirname "$0")/.."

need() { # program, Debian's package
  command -v "$1" >/dev/null || { echo "$1 is missing: apt-get install $2" >&2; exit 1; }
}
need promtool prometheus
need amtool prometheus-alertmanager
need pg_dump postgresql
need shellcheck shellcheck
need docker-compose docker-compose
need caddy caddy
need redis-server redis-server
need systemd-analyze systemd
need curl curl
[ -f dist/bundle/main.cli.js ] || { echo 'dist/ is missing: npm run build' >&2; exit 1; }

dir=$(mktemp -d)
chmod 711 "$dir"
pids=()
# Postgres refuses to run as root.
as_server() {
  if [ "$(id -u)" -eq 0 ]; then su postgres -s /bin/bash -c "$(printf '%q ' "$@")"; else "$@"; fi
}
finish() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  [ ! -d "$dir/data" ] || as_server "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
  wait
  rm -rf "$dir"
}
trap finish EXIT

free_port() {
  node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}
until_true() { # what, command...
  local what=$1
  shift
  for _ in $(seq 150); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  echo "not within 30 s: $what" >&2
  return 1
}
fail() {
  echo "$*" >&2
  exit 1
}
# Appends each request with headers and body to a file, as a line of JSON.
listen() { # port, file
  node -e '
    require("http").createServer((request, response) => {
      let body = "";
      request.on("data", (part) => { body += part; });
      request.on("end", () => {
        require("fs").appendFileSync(process.argv[2], JSON.stringify({ url: request.url, headers: request.headers, body }) + "\n");
        response.end("ok");
      });
    }).listen(Number(process.argv[1]), "127.0.0.1");' "$1" "$2" &
  pids+=($!)
}

shellcheck -x docker/*.sh .ci/run
echo 'scripts: shellcheck has nothing to say'

# Compose 1 knows the schema except for the project's name and optional settings files.
mkdir "$dir/compose"
node --input-type=module -e '
  import { readFileSync, writeFileSync } from "node:fs";
  import { parse } from "yaml";
  const { name: _name, ...compose } = parse(readFileSync("docker/compose.yaml", "utf8"), { merge: true });
  for (const service of Object.values(compose.services)) {
    for (const [index, file] of (service.env_file ?? []).entries()) {
      service.env_file[index] = file.path ?? file;
      writeFileSync(process.argv[1] + "/" + service.env_file[index], "");
    }
  }
  writeFileSync(process.argv[1] + "/compose.json", JSON.stringify(compose));
' "$dir/compose"
compose() {
  docker-compose --project-directory "$dir/compose" -f "$dir/compose/compose.json" \
    --profile cli --profile tls --profile watch --profile backup --profile signer --profile webhooks --profile consoles --profile devnet config -q
}
required=(POSTGRES_PASSWORD REDIS_PASSWORD DATABASE_PASSWORD_API DATABASE_PASSWORD_WORKER DATABASE_PASSWORD_CLI)
with_settings() { # all but one, command...
  local but=$1 name
  shift
  (
    for name in "${required[@]}"; do
      if [ "$name" = "$but" ]; then unset "$name"; else export "$name=$name"; fi
    done
    "$@"
  )
}
with_settings none compose
for missing in "${required[@]}"; do
  if with_settings "$missing" compose 2>/dev/null; then fail "compose.yaml starts without $missing"; fi
done
echo 'compose.yaml: in order'

promtool check config docker/prometheus.yml
promtool test rules docker/alerts.test.yml

# Alertmanager as its container starts it, with a shorter group wait.
mkdir "$dir/bin"
ln -s "$(command -v prometheus-alertmanager)" "$dir/bin/alertmanager"
sed 's/group_wait: .*/group_wait: 1s/' docker/alertmanager.yml >"$dir/alertmanager.yml"
PATH=$dir/bin:$PATH ALERT_PAGE_URL='' docker/alertmanager.sh "$dir/alertmanager.yml" "$dir/none.yml" 2>/dev/null &&
  fail 'Alertmanager starts without an address'
hook=$(free_port) manager=$(free_port)
listen "$hook" "$dir/notified"
PATH=$dir/bin:$PATH ALERT_PAGE_URL="http://127.0.0.1:$hook/page?a=1&b=2" ALERT_TICKET_URL="http://127.0.0.1:$hook/ticket" \
  docker/alertmanager.sh "$dir/alertmanager.yml" "$dir/rendered.yml" --storage.path="$dir/alertmanager" \
  --cluster.listen-address= --web.listen-address="127.0.0.1:$manager" >"$dir/alertmanager.log" 2>&1 &
pids+=($!)
notified() { grep -q "$1" "$dir/notified"; }
until_true 'Alertmanager being ready' amtool --alertmanager.url="http://127.0.0.1:$manager" cluster show
amtool check-config "$dir/rendered.yml" >/dev/null
for severity in page ticket; do
  amtool --alertmanager.url="http://127.0.0.1:$manager" alert add "Check$severity" "severity=$severity"
done
until_true 'a page being sent' notified '"url":"/page?a=1&b=2".*Checkpage'
until_true 'a ticket being sent' notified '"url":"/ticket".*Checkticket'
echo 'alertmanager.yml: pages and tickets reach their webhooks'

# The proxy in front of a server that records requests.
api=$(free_port) http=$(free_port) https=$(free_port) health=$(free_port)
listen "$api" "$dir/proxied"
if API_DOMAIN='' caddy validate --config docker/Caddyfile --adapter caddyfile >/dev/null 2>&1; then
  fail 'the proxy starts without a name'
fi
HOME=$dir XDG_DATA_HOME=$dir/caddy XDG_CONFIG_HOME=$dir/caddy API_DOMAIN=localhost API_HOST=localhost API_PORT=$api \
  HTTP_PORT=$http HTTPS_PORT=$https HEALTH_PORT=$health caddy run --config docker/Caddyfile --adapter caddyfile >"$dir/caddy.log" 2>&1 &
pids+=($!)
ask() {
  curl --silent --fail --insecure --max-time 5 -H 'X-Forwarded-For: 6.6.6.6' -H 'Signature: kept' "https://localhost:$https/v1/balance"
}
until_true 'the proxy serving' ask
curl --silent --fail --max-time 5 "http://127.0.0.1:$health/" || fail 'the proxy answers no health check'
node -e '
  const [seen] = require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n").map(JSON.parse);
  const { headers } = seen;
  const from = headers["x-forwarded-for"];
  if (!["127.0.0.1", "::1"].includes(from)) throw new Error("the forged sender is passed on: " + from);
  if (headers["x-forwarded-proto"] !== "https" || headers.signature !== "kept") throw new Error(JSON.stringify(seen));
' "$dir/proxied"
[ "$(curl --silent --max-time 5 -o /dev/null -w '%{http_code}' "http://localhost:$http/v1/balance")" = 308 ] ||
  fail 'plain HTTP is not sent to HTTPS'
! grep -q kept "$dir/caddy.log" || fail 'the proxy logs signatures'
echo 'Caddyfile: TLS ends there, the sender is named and not believed'

# Redis by the script of its container, in other folders.
node --input-type=module -e '
  import { readFileSync } from "node:fs";
  import { parse } from "yaml";
  const { command } = parse(readFileSync("docker/compose.yaml", "utf8"), { merge: true }).services.redis;
  const [dir] = process.argv.slice(1);
  const script = command[2].replaceAll("$$", "$").replaceAll("/tmp/", dir + "/").replace("--dir /data", "--dir " + dir);
  console.log(script.trimEnd() + " --port 0 --unixsocket " + dir + "/redis.sock");
' "$dir" >"$dir/redis.sh"
REDISCLI_AUTH=hidden-word sh "$dir/redis.sh" >"$dir/redis.log" 2>&1 &
redis=$!
pids+=("$redis")
REDISCLI_AUTH=hidden-word until_true 'Redis serving' redis-cli -s "$dir/redis.sock" ping
redis-cli -s "$dir/redis.sock" ping 2>&1 | grep -q NOAUTH || fail 'Redis asks for no password'
! tr '\0' ' ' <"/proc/$redis/cmdline" | grep -q hidden-word || fail 'the password is in the arguments of Redis'
REDISCLI_AUTH=hidden-word redis-cli -s "$dir/redis.sock" config get maxmemory-policy | grep -q noeviction ||
  fail 'Redis evicts'
echo 'Redis: password by file, nothing is evicted'

# The units with the paths of this machine.
mkdir "$dir/units"
for unit in docker/systemd/*.service docker/systemd/*.timer; do
  name=$(basename "$unit")
  sed -e "s|/usr/bin/node|$(command -v node)|" -e "s|/opt/energy-rental/current|$PWD|g" -e "s|/opt/energy-rental|$PWD|g" "$unit" >"$dir/units/${name/@./@3000.}"
done
mkdir "$dir/units/energy-rental-api@3000.service.d"
cp docker/systemd/energy-rental-deposits.conf "$dir/units/energy-rental-api@3000.service.d/deposits.conf"
mkdir "$dir/units/energy-rental-worker@3000.service.d"
cp docker/systemd/energy-rental-worker-pool-keys.conf "$dir/units/energy-rental-worker@3000.service.d/pool-keys.conf"
mkdir "$dir/units/energy-rental-sender@3000.service.d"
for process in api worker sender; do
  cp "docker/systemd/energy-rental-$process-previous-keys.conf" "$dir/units/energy-rental-$process@3000.service.d/previous-keys.conf"
done
for audience in merchant operator; do
  mkdir "$dir/units/energy-rental-console-$audience.service.d"
  cp docker/systemd/energy-rental-console-previous-keys.conf "$dir/units/energy-rental-console-$audience.service.d/previous-keys.conf"
  cp docker/systemd/energy-rental-console-mail.conf "$dir/units/energy-rental-console-$audience.service.d/mail.conf"
  cp docker/systemd/energy-rental-deposits.conf "$dir/units/energy-rental-console-$audience.service.d/deposits.conf"
done
systemd-analyze verify --man=no --recursive-errors=yes "$dir"/units/*.service "$dir"/units/*.timer
for unit in "$dir"/units/*.service; do
  systemd-analyze security --offline=true --no-pager --threshold=20 "$unit" >"$dir/security" || { cat "$dir/security"; exit 1; }
  tail -1 "$dir/security"
done
systemd-sysusers --dry-run "$PWD/docker/systemd/energy-rental.sysusers.conf" >/dev/null 2>&1 ||
  fail 'the users of the units cannot be made'

# pg_dump on PATH is the newest installed version; the server comes from the same version.
major=$(pg_dump --version | sed -E 's/.*\) ([0-9]+).*/\1/')
bin=/usr/lib/postgresql/$major/bin
port=$(free_port)
mkdir "$dir/data" "$dir/dumps"
echo admin-word >"$dir/admin-word"
chmod 644 "$dir/admin-word"
[ "$(id -u)" -ne 0 ] || chown postgres "$dir/data"
as_server "$bin/initdb" -D "$dir/data" -U admin --auth=scram-sha-256 --pwfile="$dir/admin-word" >/dev/null
as_server "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/data/log" \
  -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off" start >/dev/null
admin=postgres://admin@127.0.0.1:$port/postgres
# An ordinary owner that can create databases for drills and is no superuser.
PGPASSWORD=admin-word psql --quiet "$admin" <<'SQL'
CREATE ROLE energy LOGIN CREATEDB PASSWORD 'owner/word @1';
CREATE DATABASE sold OWNER energy;
CREATE DATABASE again OWNER energy;
SQL
server="postgres://energy:owner%2Fword%20%401@127.0.0.1:$port"
# Wrappers that record each call of the tools.
for tool in psql pg_dump pg_restore; do
  printf '#!/bin/sh\necho "%s $*" >>%q\nexec %q "$@"\n' "$tool" "$dir/calls" "$(command -v "$tool")" >"$dir/bin/$tool"
  chmod +x "$dir/bin/$tool"
done
export PATH=$dir/bin:$PATH
MASTER_KEY=$(openssl rand -base64 32)
export MASTER_KEY REDIS_URL=redis://127.0.0.1:1 TRON_FULL_NODE_URLS=http://127.0.0.1:1 LOG_LEVEL=warn \
  TRON_SOLIDITY_NODE_URLS=http://127.0.0.1:1 TOKEN_CONTRACT=TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t
cli() { # database, command...
  DATABASE_URL=$server/$1 node dist/bundle/main.cli.js --yes --actor check --reason check "${@:2}"
}
drill() {
  # The drill must judge the dump even if the direct URL leads to another database.
  DATABASE_DIRECT_URL=$server/postgres DATABASE_URL=$server/sold docker/restore-drill.sh "$dir/dumps" >"$dir/drill" 2>&1
}
cli sold migrate
cli sold project create --name 'Backed up' --credits 5000000 >/dev/null
dump=$(DATABASE_URL=$server/sold docker/backup.sh "$dir/dumps")
DATABASE_URL=$server/again docker/restore.sh "$dump" >"$dir/restored" 2>&1
[ ! -s "$dir/restored" ] || { cat "$dir/restored"; fail 'restoring warns an ordinary owner'; }
cli again migrate check
cli again migrate # who may call the functions is not in the dump
seen() { # database, name: what it holds, and its schema with owners and rights
  cli "$1" --json project list >"$dir/$2.json"
  PGPASSWORD=admin-word "$bin/pg_dump" --schema-only "${admin%/*}/$1" | grep -v '^\\\(un\)\?restrict ' >"$dir/$2.sql"
}
seen sold sold
seen again again
diff "$dir/sold.json" "$dir/again.json"
diff "$dir/sold.sql" "$dir/again.sql"
cli again --json verify --no-chain >/dev/null
if DATABASE_URL=$server/again docker/restore.sh "$dump" 2>/dev/null; then
  fail 'a dump was restored over a database that is not empty'
fi
echo "backup and restore with the tools of Postgres $major: the same projects, the same schema, the records in order"

# A drill accepts a good dump, rejects a bad one, and leaves nothing behind.
drill || { cat "$dir/drill"; fail 'a good dump does not pass its drill'; }
PGPASSWORD=admin-word psql --quiet "${admin%/*}/sold" <<'SQL'
SET session_replication_role = replica;
UPDATE credit_account SET balance_credits = balance_credits + 1;
SQL
sleep 1 # names of dumps are by the second
DATABASE_URL=$server/sold docker/backup.sh "$dir/dumps" >/dev/null
if drill; then fail 'a dump whose balances are wrong passes its drill'; fi
grep -q 'ledger' "$dir/drill" || { cat "$dir/drill"; fail 'the drill does not say what is wrong'; }
sleep 1
newest=$(DATABASE_URL=$server/sold docker/backup.sh "$dir/dumps")
truncate -s 20000 "$newest"
if drill; then fail 'a dump cut short passes its drill'; fi
left=$(PGPASSWORD=admin-word psql --no-psqlrc -tA --command "SELECT count(*) FROM pg_database WHERE datname LIKE 'energy_drill%'" "$admin")
[ "$left" = 0 ] || fail "$left databases of drills are left"
grep -q pg_restore "$dir/calls" || fail 'the calls of the tools were not noted'
! grep -E 'owner(/|%2F)word' "$dir/calls" || fail 'the password is in the arguments of a process'
echo 'drill: it distinguishes good dumps from bad ones; no password was in the arguments of a process'

# A database with roles can be restored on a server without them, and gets its roles again.
as_admin() { # statement...
  for statement in "$@"; do PGPASSWORD=admin-word "$bin/psql" --no-psqlrc -qtA --set=ON_ERROR_STOP=1 --command "$statement" "$admin"; done
}
if cli again migrate roles 2>"$dir/refused"; then fail 'who may not make roles made them'; fi
grep -q 'migrate roles --sql' "$dir/refused" || { cat "$dir/refused"; fail 'nothing says what an administrator has to run'; }
as_admin 'ALTER ROLE energy CREATEROLE' 'CREATE DATABASE theirs OWNER energy'
cli again migrate roles
seen again roles
sleep 1
of_roles=$(DATABASE_URL=$server/again docker/backup.sh "$dir/dumps")
as_admin 'DROP DATABASE again'
as_admin "SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname LIKE 'energy\_%'" >"$dir/roles.drop"
mapfile -t drops <"$dir/roles.drop"
[ ${#drops[@]} -gt 5 ] || fail 'the roles were not made'
as_admin "${drops[@]}"
DATABASE_URL=$server/theirs docker/restore.sh "$of_roles"
cli theirs migrate
seen theirs alone
diff "$dir/sold.sql" "$dir/alone.sql"
cli theirs migrate roles
seen theirs theirs
diff "$dir/roles.json" "$dir/theirs.json"
diff "$dir/roles.sql" "$dir/theirs.sql"
echo 'roles: a dump of a database of theirs is restored without them and with them, with the same rights'
