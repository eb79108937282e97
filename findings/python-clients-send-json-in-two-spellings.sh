#!/usr/bin/env bash
# Guess: `json=order` sends json.dumps(order) in each client of Python, so that is the text to sign.
# Seen: requests and aiohttp send it. httpx and urllib3 (which requests uses) write no spaces, and letters as UTF-8
# instead of \u: other bytes, with the same content type.
# Why it matters: a program that signs json.dumps(order) works with requests. When its calls move to httpx, each of
# them is refused, although its code and its data are the same.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python=$(command -v python3 || true)
if [ -z "$python" ]; then echo 'this needs python3 with pip in PATH'; exit 1; fi
"$python" --version
timeout 300 "$python" -m pip install -qq --disable-pip-version-check --root-user-action ignore --target lib \
  requests==2.34.2 urllib3==2.8.0 aiohttp==3.14.3 httpx==0.28.1
cat >run.py <<'PY'
import asyncio
import http.server
import json
import threading

arrived = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        arrived.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/"
order = {"energy": 65000, "note": "Zürich"}


def with_httpx():
    import httpx

    httpx.Client(trust_env=False).post(url, json=order)
    return f"httpx {httpx.__version__}"


def with_requests():
    import requests

    session = requests.Session()
    session.trust_env = False
    session.post(url, json=order)
    return f"requests {requests.__version__}"


def with_urllib3():
    import urllib3

    urllib3.PoolManager().request("POST", url, json=order)
    return f"urllib3 {urllib3.__version__}"


def with_aiohttp():
    import aiohttp

    async def post():
        async with aiohttp.ClientSession() as session, session.post(url, json=order):
            pass

    asyncio.run(post())
    return f"aiohttp {aiohttp.__version__}"


spaced = json.dumps(order).encode()
compact = json.dumps(order, separators=(",", ":"), ensure_ascii=False).encode()
expected = {with_requests: spaced, with_aiohttp: spaced, with_urllib3: compact, with_httpx: compact}
for client, body in expected.items():
    print(client(), arrived[-1])
    assert arrived[-1] == body
PY
PYTHONPATH="$dir/lib" timeout 60 "$python" run.py
