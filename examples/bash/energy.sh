#!/usr/bin/env bash
# Signed requests with curl and openssl.
#
#   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
#   ./energy.sh quote T… [ENERGY] [DURATION_SEC]     price a rental; ENERGY empty or 0: sized by the service
#   ./energy.sh order QUOTE_REF IDEMPOTENCY_KEY      buy it; repeat with the same key after any doubt
#   ./energy.sh get IDEMPOTENCY_KEY                  show the order
#   ./energy.sh balance
#   ./energy.sh call METHOD PATH [BODY] [IDEMPOTENCY_KEY]    any request; BODY as JSON
#
# Signed by HMAC; SIGNATURES=md5 signs like early clients.
# Prints the answer. Exit code 0 for a 2xx answer, 1 for any other, 2 when called wrongly.
set -euo pipefail
: "${BASE_URL:?}" "${MERCHANT:?}" "${API_KEY:?}"

export LC_ALL=C
sha256() { openssl dgst -sha256 -r | cut -d' ' -f1; }

# HMAC-SHA256 of $1 under the key, which must be shorter than 64 bytes, as the service's keys are. Computed here,
# because openssl takes the key on its command line, where other users could see it; printf is a shell builtin.
hmac() {
  local at byte inner='' outer='' part
  for ((at = 0; at < 64; at++)); do
    byte=0
    if ((at < ${#API_KEY})); then printf -v byte '%d' "'${API_KEY:at:1}"; fi
    printf -v part '\\x%02x' $((byte ^ 0x36)) && inner+=$part
    printf -v part '\\x%02x' $((byte ^ 0x5c)) && outer+=$part
  done
  { printf '%b' "$outer" && { printf '%b' "$inner" && printf '%s' "$1"; } | openssl dgst -sha256 -binary; } | sha256
}

# sign METHOD PATH BODY KEY CLOCK: prints the signature headers of one attempt, as lines of a curl configuration. HMAC
# covers nine lines with a new nonce; MD5 covers the body only, which is the empty string for a GET.
sign() {
  if [ "${SIGNATURES-hmac}" = md5 ]; then
    printf 'header = "Signature: %s"\n' \
      "$(printf '%s%s' "$(printf '%s' "$3" | openssl base64 -A)" "$API_KEY" | openssl md5 -r | cut -d' ' -f1)"
    return
  fi
  local nonce route=${2%%\?*} query='' message
  nonce=$(openssl rand -hex 16)
  if [ "$route" != "$2" ]; then query=${2#*\?}; fi
  message=$(printf '%s\n' CC-HMAC-SHA256-REQ-V1 "$5" "$nonce" "$1" "$(printf '%b' "${route//%/\\x}")" "$query" \
    "$MERCHANT" "$4" "$(printf '%s' "$3" | sha256)")
  printf 'header = "X-CC-Timestamp: %s"\nheader = "X-CC-Nonce: %s"\nheader = "X-CC-Signature: v1=%s"\n' \
    "$5" "$nonce" "$(hmac "$message")"
}

# call METHOD PATH [BODY] [IDEMPOTENCY-KEY]: sends exactly the signed bytes, and repeats once with the service's time if
# our clock was wrong. BODY has sorted keys and no spaces, as MD5 requires.
call() {
  local method=$1 path=$2 body=${3-} key=${4-} answer clock
  local options=(--silent --show-error --max-time 60 --request "$method" --write-out '\n%{http_code}')
  if [ -n "$body" ]; then options+=(--header 'Content-Type: application/json' --data-binary "$body"); fi
  if [ -n "$key" ]; then options+=(--header "Idempotency-Key: $key"); fi
  clock=$(date +%s)
  for _ in 1 2; do
    answer=$(curl "${options[@]}" --config <(
      printf 'header = "Merchant: %s"\n' "$MERCHANT"
      sign "$method" "$path" "$body" "$key" "$clock"
    ) "$BASE_URL$path")
    case $answer in *SIGNATURE_TIMESTAMP_OUT_OF_RANGE*'"server_time":'*) ;; *) break ;; esac
    clock=${answer#*'"server_time":'}
    clock=${clock%%[!0-9]*}
  done
  printf '%s\n' "${answer%$'\n'*}"
  case ${answer##*$'\n'} in 2??) ;; *) return 1 ;; esac
}

# encoded TEXT: percent-encoded, byte by byte, as a part of a path.
encoded() {
  local at byte code
  for ((at = 0; at < ${#1}; at++)); do
    byte=${1:at:1}
    case $byte in
      [A-Za-z0-9._~-]) printf '%s' "$byte" ;;
      *) printf -v code '%d' "'$byte" && printf '%%%02X' $((code & 255)) ;;
    esac
  done
}

# whole NAME TEXT: refuses text that is no whole number; "90 000" must not become another request.
whole() {
  case $2 in '' | *[!0-9]*) printf '%s is no whole number: %s\n' "$1" "$2" >&2 && exit 2 ;; esac
}

case ${1-} in
  quote)
    whole ENERGY "${3:-0}"
    whole DURATION_SEC "${4:-0}"
    body='"receive_address":"'${2:?receiver}'"'
    if [ -n "${3-}" ] && [ "$3" != 0 ]; then body='"energy":'$3','$body; fi
    if [ -n "${4-}" ]; then body='"duration_sec":'$4','$body; fi
    call POST /v1/quotes "{$body}"
    ;;
  order) call POST /v1/orders '{"quote_ref":"'"${2:?quote ref}"'"}' "${3:?idempotency key}" ;;
  get) call GET "/v1/orders/$(encoded "${2:?idempotency key}")" ;;
  balance) call GET /v1/balance ;;
  call) call "${2:?method}" "${3:?path}" "${4-}" "${5-}" ;;
  *)
    sed -n '4,9s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
