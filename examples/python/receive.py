#!/usr/bin/env python3
"""A receiver of webhooks with Python 3.8 or newer; no packages.

export WEBHOOK_SECRET=whsec_...
PORT=4000 INBOX=./inbox python3 receive.py

Each event becomes one file in INBOX, however often it is sent, and is answered with 204 once it lies there: another
program of yours works on what lies there. With a database it is a row whose unique key is the id.
"""
import base64
import hashlib
import hmac
import json
import os
import re
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SEC = 300
BODY_BYTES_MAX = 100_000
READ_SEC = 15
INBOX = os.environ.get("INBOX", "./inbox")


def is_verified(headers, body, key):
    """Whether the request is the service's: signed by our secret, over these bytes, within five minutes."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", event_id) or not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SEC:
        return False
    message = ("%s.%s." % (event_id, timestamp)).encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
    # While the secret is rotated, the header has one signature for each secret.
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(each.encode(), wanted.encode()) for each in given)


def keep(event_id, body):
    """Keeps the event under its id. False when it was there: written whole first, a file gets its name once."""
    draft, path = tempfile.mkstemp(prefix=".", dir=INBOX)
    try:
        with os.fdopen(draft, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.link(path, os.path.join(INBOX, event_id + ".json"))
        return True
    except FileExistsError:
        return False
    finally:
        os.unlink(path)


class Receiver(BaseHTTPRequestHandler):
    timeout = READ_SEC

    def do_POST(self):
        length = self.headers.get("content-length", "0")
        if not re.fullmatch(r"[0-9]{1,6}", length) or int(length) > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_verified(self.headers, body, self.server.key):
            return self.answer(400)
        event_id = self.headers["webhook-id"]
        # A failure here leads to no 204 answer, and the service sends the event again.
        is_new = keep(event_id, body)
        print(json.loads(body)["type"] if is_new else "again", event_id, flush=True)
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_args):
        pass


if __name__ == "__main__":
    secret = os.environ.get("WEBHOOK_SECRET", "")
    if not secret.startswith("whsec_"):
        sys.exit("Set WEBHOOK_SECRET to the secret of the webhook.")
    os.makedirs(INBOX, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
    server.key = base64.b64decode(secret[len("whsec_") :])
    server.serve_forever()
