#!/usr/bin/env bash
# Guess: `app.close()` first stops accepting requests, then destroys the modules, so onModuleDestroy may close what the
# handlers use.
# Seen: onModuleDestroy and beforeApplicationShutdown run first, while the server takes new connections and calls the
# handlers. Requests that began before are still running too. Only onApplicationShutdown runs after the last answer.
# Why it matters: a pool or queue closed in onModuleDestroy, the hook whose name fits, makes requests fail at each
# deploy.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 100 npm install --no-audit --no-fund --silent --prefer-offline @nestjs/common@12.5.1 @nestjs/core@12.5.1 @nestjs/platform-express@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2 >/dev/null
cat >run.cjs <<'JS'
require('reflect-metadata');
const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { Controller, Get, Injectable, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
let hook = 'none yet';
const seen = {};
let url;
const ask = async (path) => {
  const answer = await fetch(`${url}${path}`, { headers: { connection: 'close' } }).catch(({ cause }) => cause);
  return answer.code ?? answer.text();
};
class Orders {
  quick() { return `answered after ${hook}`; }
  async slow() { await sleep(1500); return `answered after ${hook}`; }
}
Get('quick')(Orders.prototype, 'quick', Object.getOwnPropertyDescriptor(Orders.prototype, 'quick'));
Get('slow')(Orders.prototype, 'slow', Object.getOwnPropertyDescriptor(Orders.prototype, 'slow'));
Controller()(Orders);
class Hooks {
  async onModuleDestroy() { hook = 'onModuleDestroy'; seen[hook] = await ask('/quick'); }
  async beforeApplicationShutdown() { hook = 'beforeApplicationShutdown'; seen[hook] = await ask('/quick'); }
  async onApplicationShutdown() { hook = 'onApplicationShutdown'; seen[hook] = await ask('/quick'); }
}
Injectable()(Hooks);
class App {}
Module({ controllers: [Orders], providers: [Hooks] })(App);
(async () => {
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  const slow = ask('/slow');
  await sleep(100);
  await app.close();
  console.log('@nestjs/core 12.5.1: a new request within each hook', seen);
  const running = await slow;
  console.log('a request that was running:', running);
  assert.deepEqual(seen, {
    onModuleDestroy: 'answered after onModuleDestroy',
    beforeApplicationShutdown: 'answered after beforeApplicationShutdown',
    onApplicationShutdown: 'ECONNREFUSED',
  });
  assert.equal(running, 'answered after beforeApplicationShutdown');
})();
JS
timeout 60 node run.cjs
