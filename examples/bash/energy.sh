#!/usr/bin/env bash
# Signed requests with curl and openssl.
#
#   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
#   ./energy.sh quote T… [ENERGY] [DURATION_SEC]     price a rental; ENERGY empty or 0: sized by the service
#   ./energy.sh order QUOTE_REF IDEMPOTENCY_KEY      buy it; repeat with the same key after any doubt
#   ./energy.sh get IDEMPOTENCY_KEY                  how the order stands
#   ./energy.sh balance
#
# Prints the answer. Exit code 0 for a 2xx answer, 1 for any other, 2 when called wrongly.
set -euo pipefail
: "${BASE_URL:?}" "${MERCHANT:?}" "${API_KEY:?}"

# Signature = hex(md5(base64(body) + api_key)); the body of a GET is the empty string.
# printf is part of the shell, so the key stands on no command line that others could see.
sign() {
  printf '%s%s' "$(printf '%s' "$1" | openssl base64 -A)" "$API_KEY" | openssl md5 -r | cut -d' ' -f1
}

# call METHOD PATH [BODY] [EXTRA-HEADER]: sends exactly the bytes that were signed. BODY has its keys sorted and no
# spaces: this is what is signed, and sent as it is.
call() {
  local method=$1 path=$2 body=${3-} extra=${4-}
  local options=(--silent --show-error --max-time 60 --request "$method" --write-out '\n%{http_code}')
  if [ -n "$body" ]; then options+=(--header 'Content-Type: application/json' --data-binary "$body"); fi
  local answer
  answer=$(curl "${options[@]}" --config <(
    printf 'header = "Merchant: %s"\nheader = "Signature: %s"\n' "$MERCHANT" "$(sign "$body")"
    if [ -n "$extra" ]; then printf 'header = "%s"\n' "$extra"; fi
  ) "$BASE_URL$path")
  printf '%s\n' "${answer%$'\n'*}"
  case ${answer##*$'\n'} in 2??) ;; *) return 1 ;; esac
}

case ${1-} in
  quote)
    body='"receive_address":"'${2:?receiver}'"'
    if [ -n "${3-}" ] && [ "$3" != 0 ]; then body='"energy":'$3','$body; fi
    if [ -n "${4-}" ]; then body='"duration_sec":'$4','$body; fi
    call POST /v1/quotes "{$body}"
    ;;
  order) call POST /v1/orders '{"quote_ref":"'"${2:?quote ref}"'"}' "Idempotency-Key: ${3:?idempotency key}" ;;
  get) call GET "/v1/orders/${2:?idempotency key}" ;;
  balance) call GET /v1/balance ;;
  *)
    sed -n '4,8s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
