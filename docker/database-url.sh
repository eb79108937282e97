# Sourced. Reads DATABASE_URL, or the file named by DATABASE_URL_FILE. Sets $url without the password, and PGPASSWORD,
# since every user of a machine can read the arguments of its processes.
# shellcheck shell=bash disable=SC2034
read_url() { # URL
  url=$1
  local scheme=${1%%://*} rest=${1#*://} authority user password
  authority=${rest%%[/?]*}
  if [[ $1 != postgres*://* ]]; then
    echo 'DATABASE_URL must begin with postgres://' >&2
    return 64
  fi
  if [[ $rest == *[?\&]password=* ]]; then
    echo 'DATABASE_URL must hold its password before the host, as postgres://user:password@host/database' >&2
    return 64
  fi
  [[ $authority == *@* ]] || return 0
  user=${authority%@*}
  [[ $user == *:* ]] || return 0
  password=${user#*:}
  password=${password//\\/\\\\}
  printf -v PGPASSWORD '%b' "${password//%/\\x}"
  export PGPASSWORD
  url=$scheme://${user%%:*}@${authority##*@}${rest:${#authority}}
}
if [[ -z ${DATABASE_URL:-} && -n ${DATABASE_URL_FILE:-} ]]; then
  DATABASE_URL=$(<"$DATABASE_URL_FILE")
fi
read_url "${DATABASE_URL:?or DATABASE_URL_FILE names the database}"
