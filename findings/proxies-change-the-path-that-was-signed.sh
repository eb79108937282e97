#!/usr/bin/env bash
# Guess: a proxy that only adds or removes a prefix hands the rest of the path on as it came.
# Seen: nginx does so for `proxy_pass http://api;`. With a path after the address, if only a slash, it decodes the path
# and merges slashes: ref%3A1 becomes ref:1, and a%2Fb two segments. Caddy's `handle_path` keeps %3A and %2F, and
# encodes what encodeURIComponent leaves: (1)! becomes %281%29%21. The query comes through in each case.
# Why it matters: a signature over the path fails only for some orders, and a reference with a slash finds no route.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for program in nginx caddy; do
  if ! command -v "$program" >/dev/null; then echo "this needs $program in PATH"; exit 1; fi
done
nginx -v 2>&1
echo "caddy $(caddy version)"
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
const listen = async (server) => {
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return server.address().port;
};
const freePort = async () => {
  const server = createServer();
  const port = await listen(server);
  server.close();
  return port;
};
const api = await listen(createServer((request, response) => response.end(request.url)));
const dir = process.cwd();
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join(' ');
const [nginxPort, caddyPort] = [await freePort(), await freePort()];
writeFileSync('nginx.conf', `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/log;
  events {}
  http {
    access_log off; ${temporary}
    server {
      listen 127.0.0.1:${nginxPort};
      location /bare/ { proxy_pass http://127.0.0.1:${api}; }
      location /path/ { proxy_pass http://127.0.0.1:${api}/path/; }
      location /strip/ { proxy_pass http://127.0.0.1:${api}/; }
    }
  }`);
writeFileSync('Caddyfile', `{
  admin off
  auto_https off
}
http://127.0.0.1:${caddyPort} {
  handle /bare/* {
    reverse_proxy 127.0.0.1:${api}
  }
  handle_path /strip/* {
    reverse_proxy 127.0.0.1:${api}
  }
}`);
const environment = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
const proxies = [
  spawn('nginx', ['-p', dir, '-c', `${dir}/nginx.conf`], { stdio: 'ignore' }),
  spawn('caddy', ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'], { stdio: 'ignore', env: environment }),
];
const ask = async (port, path) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
for (const port of [nginxPort, caddyPort]) {
  for (let i = 0; i < 100 && (await ask(port, '/bare/').catch(() => '')) !== '/bare/'; i++) await sleep(100);
}
const references = ['ref%3A1', 'a%2Fb', '(1)!', 'a//b', '?at=a%2Fb'];
const through = async (port, prefix) => Promise.all(references.map((reference) => ask(port, `${prefix}${reference}`)));
const seen = {
  'nginx, no path': await through(nginxPort, '/bare/'),
  'nginx, a path': await through(nginxPort, '/path/'),
  'nginx, a slash': await through(nginxPort, '/strip/'),
  'caddy, handle': await through(caddyPort, '/bare/'),
  'caddy, handle_path': await through(caddyPort, '/strip/'),
};
for (const proxy of proxies) {
  proxy.kill();
  await once(proxy, 'exit');
}
console.log(seen);
assert.deepEqual(seen, {
  'nginx, no path': references.map((reference) => `/bare/${reference}`),
  'nginx, a path': ['/path/ref:1', '/path/a/b', '/path/(1)!', '/path/a/b', '/path/?at=a%2Fb'],
  'nginx, a slash': ['/ref:1', '/a/b', '/(1)!', '/a/b', '/?at=a%2Fb'],
  'caddy, handle': references.map((reference) => `/bare/${reference}`),
  'caddy, handle_path': ['/ref%3A1', '/a%2Fb', '/%281%29%21', '/a/b', '/?at=a%2Fb'],
});
process.exit(0);
JS
timeout 60 node run.mjs
