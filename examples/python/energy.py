#!/usr/bin/env python3
"""Signed requests with Python 3.8 or newer; no packages.

export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
python3 energy.py quote T... [ENERGY] [DURATION_SEC]
python3 energy.py order QUOTE_REF IDEMPOTENCY_KEY
python3 energy.py get IDEMPOTENCY_KEY
python3 energy.py balance
python3 energy.py call METHOD PATH [BODY] [IDEMPOTENCY_KEY]      any request; BODY as JSON

Signed by HMAC; SIGNATURES=md5 signs as the first clients did.
"""
import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ATTEMPTS_MAX = 3
SIGN_AGAIN = ("SIGNATURE_TIMESTAMP_OUT_OF_RANGE", "SIGNATURE_REPLAYED")


def canonical(body):
    """Keys sorted, no spaces: what is signed, and sent exactly so."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


# Lead of the service's clock over ours in seconds, once the service has reported its time.
offset = 0


def sign(method, path, text, key):
    """The headers that sign one attempt: by HMAC over nine lines, each attempt with a nonce of its own."""
    merchant, api_key = os.environ["MERCHANT"], os.environ["API_KEY"]
    if os.environ.get("SIGNATURES") == "md5":
        # Covers the body only; a GET signs the empty string.
        encoded = base64.b64encode(text.encode()).decode()
        return {"Signature": hashlib.md5((encoded + api_key).encode()).hexdigest()}
    timestamp, nonce = str(int(time.time()) + offset), secrets.token_hex(16)
    route, _, query = path.partition("?")
    body_hash = hashlib.sha256(text.encode()).hexdigest()
    lines = [timestamp, nonce, method, urllib.parse.unquote(route), query, merchant, key, body_hash]
    message = "\n".join(["CC-HMAC-SHA256-REQ-V1"] + lines)
    signature = hmac.new(api_key.encode(), message.encode(), hashlib.sha256).hexdigest()
    return {"X-CC-Timestamp": timestamp, "X-CC-Nonce": nonce, "X-CC-Signature": "v1=" + signature}


def exchange(request):
    """The status, headers and content of the answer, which a refusal is too."""
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.getcode(), answer.headers, answer.read()


def said_in(status, content):
    """The answer's members. A proxy may answer instead of the service, with any text."""
    try:
        said = json.loads(content or "{}")
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {"error": f"HTTP_{status}", "msg": "This is no answer of the service."}


def call(method, path, body=None, headers=None):
    """Sends one request; after a lost answer, a 429 or a 503 it is repeated, which an Idempotency-Key makes safe.

    SIGNATURE_REPLAYED means that a copy, made by a proxy for example, arrived first: it is signed again.
    """
    global offset
    text = "" if body is None else canonical(body)
    key = (headers or {}).get("Idempotency-Key", "")
    for attempt in range(1, ATTEMPTS_MAX + 1):
        request = urllib.request.Request(os.environ["BASE_URL"] + path, method=method)
        request.add_header("Merchant", os.environ["MERCHANT"])
        for name, value in {**sign(method, path, text, key), **(headers or {})}.items():
            request.add_header(name, value)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = text.encode()
        pause = attempt
        try:
            status, answered, content = exchange(request)
            if status not in (429, 503) or attempt == ATTEMPTS_MAX:
                said = said_in(status, content)
                error = said.get("error")
                if error not in SIGN_AGAIN or attempt == ATTEMPTS_MAX:
                    return status, said
                if error == "SIGNATURE_TIMESTAMP_OUT_OF_RANGE":
                    offset = said["server_time"] - int(time.time())
                    continue
            wanted = answered.get("Retry-After") or ""
            pause = int(wanted) if wanted.isdecimal() else attempt
        except (OSError, http.client.HTTPException):
            # The connection was lost. urllib raises no URLError for errors after the request was sent.
            if attempt == ATTEMPTS_MAX:
                raise
        time.sleep(pause)


def whole(name, text):
    """The whole number in an argument. int() takes "-5" and "9_0" too."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        sys.exit(f"{name} is no whole number: {text}")
    return int(text)


def quote(receiver, energy="0", duration=None):
    body = {"receive_address": receiver}
    if whole("ENERGY", energy) > 0:
        body["energy"] = int(energy)
    if duration is not None:
        body["duration_sec"] = whole("DURATION_SEC", duration)
    return call("POST", "/v1/quotes", body)


def order(quote_ref, key):
    return call("POST", "/v1/orders", {"quote_ref": quote_ref}, {"Idempotency-Key": key})


def get(key):
    return call("GET", "/v1/orders/" + urllib.parse.quote(key, safe=""))


def balance():
    return call("GET", "/v1/balance")


def any_call(method, path, text=None, key=None):
    headers = None if key is None else {"Idempotency-Key": key}
    return call(method, path, None if text is None else json.loads(text), headers)


COMMANDS = {"quote": quote, "order": order, "get": get, "balance": balance, "call": any_call}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    status, answer = COMMANDS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(answer))
    sys.exit(0 if status < 300 else 1)
