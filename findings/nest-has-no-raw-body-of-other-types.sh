#!/usr/bin/env bash
# Guess: with `rawBody: true` each request of a Nest application has `rawBody`, the bytes that a webhook's signature
# covers.
# Seen: only application/json and forms have it. A webhook of type application/cloudevents+json or application/jose
# arrives with `rawBody` and `body` undefined, and the handler runs: nothing is refused. `useBodyParser` adds a type.
# An empty JSON body has a raw body of no bytes, and the body {}.
# Why it matters: a receiver that works with one sender cannot verify the next, and a handler that reads `body?.id`
# takes its events for events without an id.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline @nestjs/core@12.5.1 @nestjs/common@12.5.1 \
  @nestjs/platform-express@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2 >/dev/null
cat >run.mjs <<'JS'
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Controller, Module, Post, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
class Receiver {
  receive({ rawBody, body }) { return { raw: rawBody === undefined ? 'none' : String(rawBody), body: body ?? 'none' }; }
}
Controller()(Receiver);
Post()(Receiver.prototype, 'receive', Object.getOwnPropertyDescriptor(Receiver.prototype, 'receive'));
Req()(Receiver.prototype, 'receive', 0);
class App {}
Module({ controllers: [Receiver] })(App);
async function run(cases, prepare = () => {}) {
  const app = await NestFactory.create(App, { rawBody: true, logger: false });
  prepare(app);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const seen = {};
  for (const [name, type, body] of cases) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
    seen[name] = { status: response.status, ...(await response.json()) };
  }
  await app.close();
  return seen;
}
const event = '{"id":1}';
const cloud = ['a cloud event', 'application/cloudevents+json', event];
const seen = {
  ...(await run([['JSON', 'application/json', event], cloud, ['a token', 'application/jose', 'a.b.c'], ['nothing', 'application/json', '']])),
  'with the type': (await run([cloud], (app) => app.useBodyParser('json', { type: ['json', '+json'] })))[cloud[0]],
};
console.log('@nestjs/core 12.5.1', seen);
assert.deepEqual(seen, {
  JSON: { status: 201, raw: event, body: { id: 1 } },
  'a cloud event': { status: 201, raw: 'none', body: 'none' },
  'a token': { status: 201, raw: 'none', body: 'none' },
  nothing: { status: 201, raw: '', body: {} },
  'with the type': { status: 201, raw: event, body: { id: 1 } },
});
process.exit(0);
JS
timeout 60 node run.mjs
