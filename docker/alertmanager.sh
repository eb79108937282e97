#!/bin/sh
# Starts Alertmanager with ALERT_PAGE_URL and ALERT_TICKET_URL (default: the page URL) in its configuration. There is no
# default page URL, since alerts would then be lost silently.
#   alertmanager.sh TEMPLATE RENDERED [argument of alertmanager...]
#   alertmanager.sh TEMPLATE RENDERED --only-write
# The second form only writes the file, for another starter such as Debian's prometheus-alertmanager.
set -eu
template=$1 rendered=$2
shift 2
page=${ALERT_PAGE_URL:?the URL of the webhook that pages the operator}
ticket=${ALERT_TICKET_URL:-$page}

quoted() { # as text of sed in a YAML string
  case $1 in
    *"'"* | *"
"*) echo 'The address of a webhook may hold neither quotes nor line breaks.' >&2; exit 64 ;;
    http://* | https://*) printf '%s' "$1" | sed 's/[&|\\]/\\&/g' ;;
    *) echo 'The address of a webhook must begin with http:// or https://.' >&2; exit 64 ;;
  esac
}
page=$(quoted "$page")
ticket=$(quoted "$ticket")
umask 077
sed -e "s|@ALERT_PAGE_URL@|$page|" -e "s|@ALERT_TICKET_URL@|$ticket|" "$template" >"$rendered"
unset ALERT_PAGE_URL ALERT_TICKET_URL
[ "${1:-}" != --only-write ] || exit 0
exec alertmanager --config.file="$rendered" "$@"
