#!/usr/bin/env bash
# Guess: Oxlint's consistent-type-imports is typescript-eslint's, which leaves files with decorators alone when the
# compiler emits their metadata. So both report the same lines of a Nest service.
# Seen: Oxlint 1.94.0 does not look at the compiler's options, with `--type-aware` neither. It reports the class that a
# constructor injects, and `--fix` turns it into a type: the metadata name Function instead of the class, and Nest 12
# cannot start. The compiler finds no fault in it.
# Why it matters: a linter's fix that compiles takes the injection out of a whole service.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type":"module","private":true}' >package.json
timeout 300 npm install --no-audit --no-fund --silent --prefer-offline oxlint@1.94.0 oxlint-tsgolint@7.0.2008 \
  typescript@6.0.3 eslint@10.15.0 typescript-eslint@8.73.0 @nestjs/common@12.5.1 @nestjs/core@12.5.1 \
  reflect-metadata@0.2.2 rxjs@7.8.2 >/dev/null
mkdir src
cat >tsconfig.json <<'JSON'
{
  "compilerOptions": {
    "target": "es2023", "module": "nodenext", "experimentalDecorators": true, "emitDecoratorMetadata": true,
    "verbatimModuleSyntax": true, "outDir": "dist", "rootDir": "src", "strict": true, "skipLibCheck": true
  },
  "include": ["src"]
}
JSON
cat >src/pool.ts <<'TS'
export class Pool {}
TS
cat >src/orders.ts <<'TS'
import { Injectable } from '@nestjs/common';
import { Pool } from './pool.js';

@Injectable()
export class Orders {
  constructor(readonly pool: Pool) {}
}
TS
cat >src/main.ts <<'TS'
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Orders } from './orders.js';
import { Pool } from './pool.js';

@Module({ providers: [Pool, Orders] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false }).catch(() => undefined);
console.log(app === undefined ? 'does not start' : 'starts');
TS
cat >eslint.config.js <<'JS'
import tseslint from 'typescript-eslint';
export default [{
  files: ['src/*.ts'],
  plugins: { '@typescript-eslint': tseslint.plugin },
  languageOptions: { parser: tseslint.parser, parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: { '@typescript-eslint/consistent-type-imports': 'error' },
}];
JS
cat >.oxlintrc.json <<'JSON'
{
  "plugins": ["typescript"], "categories": { "correctness": "off" }, "options": { "typeAware": true },
  "rules": { "typescript/consistent-type-imports": "error" }
}
JSON
reports() { grep -c 'consistent-type-imports' <<<"$1" || true; }
started() { npx tsc -p tsconfig.json && node dist/main.js; }
before=$(started)
eslint=$(reports "$(npx eslint src 2>&1 || true)")
oxlint=$(reports "$(npx oxlint src 2>&1 || true)")
npx oxlint --fix src >/dev/null 2>&1 || true
after=$(started)
fixed=$(grep "{ Pool }" src/orders.ts)
echo "typescript-eslint 8.73.0: $eslint reports; oxlint 1.94.0: $oxlint"
echo "before: $before; after --fix, compiled without a fault: $after; $fixed"
[ "$eslint" = 0 ] && [ "$oxlint" = 1 ]
[ "$before" = starts ] && [ "$after" = 'does not start' ]
[ "$fixed" = "import type { Pool } from './pool.js';" ]
