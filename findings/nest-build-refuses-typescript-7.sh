#!/usr/bin/env bash
# Guess: TypeScript 7 installs beside the Nest CLI without a complaint, so `nest build` compiles with it, only faster.
# Seen: `typescript` 7.0 exports its version alone. The compiler's programming interface lies under `unstable/`, and
# `nest build` of @nestjs/cli 12.0.8 refuses it with code 1. The `tsc` of the same package compiles the project, with
# the metadata of decorators that Nest injects by.
# Why it matters: a service that upgrades for speed keeps TypeScript 6 for the CLI, and can run 7 only for its checks.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type":"module","private":true}' >package.json
timeout 300 npm install --no-audit --no-fund --silent --prefer-offline @nestjs/cli@12.0.8 @nestjs/common@12.5.1 \
  @nestjs/core@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2 typescript@7.0.2 >/dev/null
mkdir src
cat >tsconfig.json <<'JSON'
{
  "compilerOptions": {
    "target": "es2023", "module": "nodenext", "experimentalDecorators": true, "emitDecoratorMetadata": true,
    "outDir": "dist", "rootDir": "src", "strict": true, "skipLibCheck": true, "types": []
  },
  "include": ["src"]
}
JSON
cp tsconfig.json tsconfig.build.json
echo '{"sourceRoot":"src"}' >nest-cli.json
cat >src/main.ts <<'TS'
import { Injectable } from '@nestjs/common';
export class Pool {}
@Injectable()
export class Orders {
  constructor(readonly pool: Pool) {}
}
TS
exported=$(node -e "console.log(Object.keys(require('typescript')).sort().join(' '))")
code=0
said=$(npx nest build 2>&1) || code=$?
npx tsc -p tsconfig.json
metadata=$(grep -o 'design:paramtypes", \[Pool\]' dist/main.js || true)
echo "exports of typescript 7.0.2: $exported"
echo "nest build: code $code: $(tr '\n' ' ' <<<"$said" | cut -c1-120)"
echo "tsc: $metadata"
[ "$exported" = 'version versionMajorMinor' ]
[ "$code" -eq 1 ]
grep -q 'programmatic compiler API' <<<"$said"
[ "$metadata" = 'design:paramtypes", [Pool]' ]
