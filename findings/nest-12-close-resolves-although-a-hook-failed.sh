#!/usr/bin/env bash
# Guess: `app.close()` rejects when a shutdown hook fails, as in Nest 11, so `close().catch(() => process.exit(1))`
# notices it.
# Seen: Nest 12 resolves, whichever of the three hooks fails. It hands the error to Nest's logger alone, so with
# `logger: false` nothing is left of it. It runs the hooks that come after, which Nest 11 left out. Hooks of the start
# still reject.
# Why it matters: a worker that fails to write what it holds when it stops ends with code 0 and without a line.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for version in 11.2.1 12.5.1; do
  mkdir "$version"
  (cd "$version" && npm init -y >/dev/null && timeout 200 npm install --no-audit --no-fund --silent --prefer-offline \
    @nestjs/core@$version @nestjs/common@$version reflect-metadata@0.2.2 rxjs@7.8.2 >/dev/null)
done
cat >run.mjs <<'JS'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'];
async function run(version) {
  const load = createRequire(`${process.cwd()}/${version}/run.js`);
  load('reflect-metadata');
  const { Injectable, Module } = load('@nestjs/common');
  const { NestFactory } = load('@nestjs/core');
  const seen = {};
  const open = (failing, ran) => {
    class Usage {}
    Usage.prototype[failing] = async () => { throw new Error('the usage is not written'); };
    Injectable()(Usage);
    class Connections {}
    Connections.prototype.onApplicationShutdown = () => { ran.push('closed'); };
    Injectable()(Connections);
    class Platform {}
    Module({ providers: [Connections] })(Platform);
    class App {}
    Module({ imports: [Platform], providers: [Usage] })(App);
    return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  };
  const settle = (promise) => promise.then(() => 'resolves', ({ message }) => `rejects: ${message}`);
  for (const hook of HOOKS) {
    const ran = [];
    const app = await open(hook, ran);
    seen[hook] = [await settle(app.close()), ran.includes('closed') ? 'connections closed' : 'connections open'];
  }
  seen.onModuleInit = [await settle(open('onModuleInit', []))];
  return seen;
}
const seen = { '@nestjs/core 11.2.1': await run('11.2.1'), '@nestjs/core 12.5.1': await run('12.5.1') };
console.log(seen);
const rejects = 'rejects: the usage is not written';
assert.deepEqual(seen, {
  '@nestjs/core 11.2.1': {
    onModuleDestroy: [rejects, 'connections open'],
    beforeApplicationShutdown: [rejects, 'connections open'],
    onApplicationShutdown: [rejects, 'connections open'],
    onModuleInit: [rejects],
  },
  '@nestjs/core 12.5.1': {
    onModuleDestroy: ['resolves', 'connections closed'],
    beforeApplicationShutdown: ['resolves', 'connections closed'],
    onApplicationShutdown: ['resolves', 'connections closed'],
    onModuleInit: [rejects],
  },
});
process.exit(0);
JS
timeout 60 node run.mjs
