#!/usr/bin/env bash
# Guess: ParseIntPipe of Nest and @IsInt of class-validator refuse an integer that a number cannot hold.
# Seen: both take it and hand on its neighbour. /9007199254740993 reads 9007199254740992, and twenty digits read a
# rounded number. ParseArrayPipe with `items: Number` and @Type(() => Number) do the same. 1e3 and 1.0 are refused by
# ParseIntPipe.
# Why it matters: an amount, or the bigint id of a row, becomes another one that exists as well. Ids of 64 bits that
# begin with a time are all above 2^53.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
timeout 200 npm install --no-audit --no-fund --silent --prefer-offline @nestjs/core@12.5.1 @nestjs/common@12.5.1 \
  @nestjs/platform-express@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2 class-validator@0.15.1 class-transformer@0.5.1 >/dev/null
cat >run.mjs <<'JS'
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Controller, Get, Module, Param, ParseArrayPipe, ParseIntPipe, Query, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Type } from 'class-transformer';
import { IsInt } from 'class-validator';
class Filter {}
IsInt()(Filter.prototype, 'after');
Type(() => Number)(Filter.prototype, 'after');
class Orders {
  one(id) { return String(id); }
  list(ids) { return ids.map(String); }
  page({ after }) { return String(after); }
}
const route = (name, path, parameter) => {
  parameter(Orders.prototype, name, 0);
  Get(path)(Orders.prototype, name, Object.getOwnPropertyDescriptor(Orders.prototype, name));
};
route('one', 'one/:id', Param('id', ParseIntPipe));
route('list', 'list', Query('ids', new ParseArrayPipe({ items: Number })));
route('page', 'page', Query(new ValidationPipe({ transform: true, expectedType: Filter })));
Controller()(Orders);
class App {}
Module({ controllers: [Orders] })(App);
const app = await NestFactory.create(App, { logger: false });
await app.listen(0, '127.0.0.1');
const url = await app.getUrl();
const ask = async (path) => {
  const response = await fetch(`${url}${path}`);
  return response.ok ? (await response.text()) : response.status;
};
const seen = {};
for (const path of ['/one/9007199254740993', '/one/12345678901234567891', '/one/1e3', '/list?ids=9007199254740993', '/page?after=9007199254740993']) seen[path] = await ask(path);
await app.close();
console.log('@nestjs/common 12.5.1, class-validator 0.15.1', seen);
assert.deepEqual(seen, {
  '/one/9007199254740993': '9007199254740992',
  '/one/12345678901234567891': '12345678901234567000',
  '/one/1e3': 400,
  '/list?ids=9007199254740993': '["9007199254740992"]',
  '/page?after=9007199254740993': '9007199254740992',
});
process.exit(0);
JS
timeout 60 node run.mjs
