#!/usr/bin/env bash
# A receiver of webhooks with openssl: a CGI program, which any web server starts for each request (Apache, lighttpd,
# nginx with fcgiwrap), with WEBHOOK_SECRET=whsec_… and INBOX=<a folder> in its environment.
#
# Each event becomes one file in INBOX, even if it arrives repeatedly, and is answered with 204 once it is stored.
# Another program of yours processes the files.
set -euo pipefail
: "${WEBHOOK_SECRET:?}" "${INBOX:?}"

export LC_ALL=C
readonly tolerance_sec=300 body_bytes_max=100000
id=${HTTP_WEBHOOK_ID-} timestamp=${HTTP_WEBHOOK_TIMESTAMP-} length=${CONTENT_LENGTH:-0}

# answer STATUS: writes a complete CGI answer.
answer() {
  printf 'Status: %s\r\nContent-Length: 0\r\n\r\n' "$1"
  exit 0
}

# HMAC-SHA256 of "id.timestamp." and the file $1 under the secret, in base64. Computed here, because openssl takes the
# key on its command line, where other users could see it; printf is a shell builtin. A secret has at most 64 bytes.
hmac() {
  local at byte hex inner='' outer='' part
  hex=$(printf '%s' "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
  for ((at = 0; at < 64; at++)); do
    byte=0x${hex:at*2:2}
    if ((at * 2 >= ${#hex})); then byte=0; fi
    printf -v part '\\x%02x' $((byte ^ 0x36)) && inner+=$part
    printf -v part '\\x%02x' $((byte ^ 0x5c)) && outer+=$part
  done
  {
    printf '%b' "$outer"
    { printf '%b' "$inner" && printf '%s.%s.' "$id" "$timestamp" && cat "$1"; } | openssl dgst -sha256 -binary
  } | openssl dgst -sha256 -binary | openssl base64 -A
}

# Compared instead of the texts: the duration of comparing hashes reveals nothing about the texts.
sha256() { printf '%s' "$1" | openssl dgst -sha256 -r; }

if [ "${REQUEST_METHOD-}" != POST ]; then answer '400 Bad Request'; fi
case $id in '' | *[!A-Za-z0-9_-]*) answer '400 Bad Request' ;; esac
case $timestamp in '' | *[!0-9]* | ?????????????*) answer '400 Bad Request' ;; esac
case $length in *[!0-9]* | ???????*) answer '413 Content Too Large' ;; esac
if ((${#id} > 64)); then answer '400 Bad Request'; fi
if ((10#$length > body_bytes_max)); then answer '413 Content Too Large'; fi
age=$(($(date +%s) - 10#$timestamp))
if ((${age#-} > tolerance_sec)); then answer '400 Bad Request'; fi

draft=$(mktemp "$INBOX/.XXXXXXXXXXXX")
trap 'rm -f "$draft"' EXIT
head -c "$length" >"$draft"
wanted=$(sha256 "v1,$(hmac "$draft")")
is_verified=no
# While the secret is rotated, the header has one signature for each secret.
IFS=' ' read -ra signatures <<<"${HTTP_WEBHOOK_SIGNATURE-}"
for each in "${signatures[@]}"; do
  if [ "$(sha256 "$each")" = "$wanted" ]; then is_verified=yes; fi
done
if [ $is_verified = no ]; then answer '400 Bad Request'; fi

# The file is complete before it gets its name, and only one delivery can create that name.
if ln "$draft" "$INBOX/$id.json" 2>/dev/null; then
  printf 'taken %s\n' "$id" >&2
elif [ -e "$INBOX/$id.json" ]; then
  printf 'again %s\n' "$id" >&2
else
  # Not stored: the service will send it again.
  answer '500 Internal Server Error'
fi
answer '204 No Content'
