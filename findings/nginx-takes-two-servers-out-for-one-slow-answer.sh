#!/usr/bin/env bash
# Guess: an answer that is slower than proxy_read_timeout costs its own caller a 504, and no other request.
# Seen: with two servers nginx asks the second one as well, counts a failure for both, and answers every other request
# with 502 for 10 seconds, although both servers answer immediately. `proxy_next_upstream error` stops the second
# attempt, but the time-out still counts. max_fails=0 ends that too.
# Why it matters: one long poll that waits longer than the proxy takes a healthy API out for all callers.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v nginx >/dev/null; then echo 'this needs nginx in PATH'; exit 1; fi
nginx -v 2>&1
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
let polled = 0;
const handler = (request, response) => {
  if (request.url !== '/poll') return response.end('ok');
  polled += 1;
  setTimeout(() => response.end('ok'), 4_000);
};
const [one, two] = await Promise.all([handler, handler].map((each) => listen(createServer(each))));
const dir = process.cwd();
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join(' ');
async function run(option, directive) {
  const free = createServer();
  const port = await listen(free);
  free.close();
  writeFileSync('nginx.conf', `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/log;
    events {}
    http {
      access_log off; ${temporary}
      upstream api { server 127.0.0.1:${one} ${option}; server 127.0.0.1:${two} ${option}; }
      server { listen 127.0.0.1:${port}; location / { proxy_pass http://api; proxy_read_timeout 1s; ${directive} } }
    }`);
  const nginx = spawn('nginx', ['-p', dir, '-c', `${dir}/nginx.conf`], { stdio: 'ignore' });
  const ask = async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  for (let i = 0; i < 50 && (await ask('/').catch(() => 0)) !== 200; i++) await sleep(100);
  polled = 0;
  const slow = [await ask('/poll')];
  const afterOne = await ask('/');
  if (directive !== '') slow.push(await ask('/poll'));
  const then = [await ask('/'), await ask('/'), await ask('/')];
  nginx.kill();
  await once(nginx, 'exit');
  return { slow, polled, afterOne, then };
}
const seen = {
  'the defaults': await run('', ''),
  'without a second attempt': await run('', 'proxy_next_upstream error;'),
  'max_fails=0': await run('max_fails=0', 'proxy_next_upstream error;'),
};
console.log(seen);
assert.deepEqual(seen, {
  'the defaults': { slow: [504], polled: 2, afterOne: 502, then: [502, 502, 502] },
  'without a second attempt': { slow: [504, 504], polled: 2, afterOne: 200, then: [502, 502, 502] },
  'max_fails=0': { slow: [504, 504], polled: 2, afterOne: 200, then: [200, 200, 200] },
});
process.exit(0);
JS
timeout 60 node run.mjs
