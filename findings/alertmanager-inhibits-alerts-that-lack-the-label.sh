#!/usr/bin/env bash
# Guess: `equal: [cluster]` in an inhibition rule silences alerts of the cluster that is down, and no others.
# Seen: an alert without the label counts as equal to another one without it. When the node alert has lost its label
# `cluster`, it suppresses each page that has none either. The page with a label, which it was about, gets through.
# Why it matters: "the pool is empty" pages nobody while one node is down, and `amtool check-config` is content.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
if ! command -v prometheus-alertmanager >/dev/null; then echo 'this needs prometheus-alertmanager in PATH'; exit 1; fi
prometheus-alertmanager --version 2>&1 | head -1
cat >config.yml <<'Y'
route: {receiver: pager}
receivers: [{name: pager}]
inhibit_rules:
  - source_matchers: [alertname="NodeDown"]
    target_matchers: [severity="page"]
    equal: [cluster]
Y
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
prometheus-alertmanager --config.file=config.yml --storage.path=data --web.listen-address="127.0.0.1:$port" --cluster.listen-address= >log 2>&1 &
trap 'kill %1; rm -rf "$dir"' EXIT
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
const url = `http://127.0.0.1:${process.argv[2]}`;
for (let i = 0; i < 100; i++) {
  if (await fetch(`${url}/-/ready`).then(({ ok }) => ok, () => false)) break;
  await sleep(200);
}
const labels = [
  { alertname: 'NodeDown' },
  { alertname: 'PoolEmpty', severity: 'page' },
  { alertname: 'NoHead', severity: 'page', cluster: 'main' },
];
await fetch(`${url}/api/v2/alerts`, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(labels.map((each) => ({ labels: each }))),
});
let seen = {};
for (let i = 0; i < 50 && seen.PoolEmpty !== 'suppressed'; i++) {
  await sleep(200);
  const alerts = await (await fetch(`${url}/api/v2/alerts`)).json();
  seen = Object.fromEntries(alerts.map((alert) => [alert.labels.alertname, alert.status.state]));
}
console.log(seen);
assert.deepEqual(seen, { NodeDown: 'active', PoolEmpty: 'suppressed', NoHead: 'active' });
JS
timeout 60 node run.mjs "$port"
