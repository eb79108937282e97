#!/usr/bin/env bash
# Guess: Oxlint's typed rules come from typescript-eslint, so a code base that its no-misused-promises accepts stays
# accepted.
# Seen: `work().finally(() => close())` with a `close` that returns a promise. typescript-eslint 8.73.0 accepts it,
# because `finally` waits for that promise. Oxlint 1.94.0 with oxlint-tsgolint 7.0.2008 reports it, since the type in
# the library says that the callback returns nothing. Both report the same callback in `forEach`.
# Why it matters: the natural reply, a callback in braces, closes a connection without waiting for it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type":"module","private":true}' >package.json
timeout 300 npm install --no-audit --no-fund --silent --prefer-offline oxlint@1.94.0 oxlint-tsgolint@7.0.2008 \
  typescript@6.0.3 eslint@10.15.0 typescript-eslint@8.73.0 >/dev/null
mkdir src
echo '{"compilerOptions":{"target":"es2023","module":"nodenext","strict":true,"types":[]},"include":["src"]}' >tsconfig.json
cat >src/main.ts <<'TS'
declare const work: () => Promise<number>;
declare const close: () => Promise<void>;
export const closing = work().finally(() => close());
export const closingEach = (all: number[]): void => all.forEach(() => close());
TS
cat >eslint.config.js <<'JS'
import tseslint from 'typescript-eslint';
export default [{
  files: ['src/*.ts'],
  plugins: { '@typescript-eslint': tseslint.plugin },
  languageOptions: { parser: tseslint.parser, parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: { '@typescript-eslint/no-misused-promises': 'error' },
}];
JS
cat >.oxlintrc.json <<'JSON'
{
  "plugins": ["typescript"], "categories": { "correctness": "off" }, "options": { "typeAware": true },
  "rules": { "typescript/no-misused-promises": "error" }
}
JSON
eslint=$(npx eslint src --format json 2>/dev/null | node -e "
const said = JSON.parse(require('fs').readFileSync(0)).flatMap((file) => file.messages.map((message) => message.line));
console.log(said.join(' '))" || true)
oxlint=$(npx oxlint --format json src 2>/dev/null | node -e "
const { diagnostics } = JSON.parse(require('fs').readFileSync(0));
console.log(diagnostics.map(({ labels }) => labels[0].span.line).sort().join(' '))" || true)
echo "lines reported by typescript-eslint 8.73.0: $eslint; by oxlint 1.94.0: $oxlint"
[ "$eslint" = 4 ]
[ "$oxlint" = '3 4' ]
