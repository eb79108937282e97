// Compiles the contracts of this folder and writes ../src/local-usdt-code.ts:
//
//   node packages/local/contracts/compile.mjs            writes the file
//   node packages/local/contracts/compile.mjs --check    fails when the file differs from what would be written
//
// Installs the pinned compiler into a temporary folder, because the old one is needed by nothing else.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMPILER = 'solc@0.4.26';
const CONTRACTS = { LocalUsdt: 'LOCAL_USDT', LocalUsdtSuccessor: 'LOCAL_USDT_SUCCESSOR' };
const CHUNK = 160;
const OUTPUT = fileURLToPath(new URL('../src/local-usdt-code.ts', import.meta.url));

const sourceOf = (name) => readFileSync(new URL(`${name}.sol`, import.meta.url), 'utf8');
const names = Object.keys(CONTRACTS);

/** Returns ABI and bytecode by contract name. Throws with the compiler's messages. */
function compile() {
  const folder = mkdtempSync(join(tmpdir(), 'local-usdt-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', COMPILER], {
      cwd: folder,
      stdio: 'inherit',
    });
    const solc = createRequire(join(folder, 'package.json'))('solc');
    const input = {
      language: 'Solidity',
      sources: Object.fromEntries(names.map((name) => [`${name}.sol`, { content: sourceOf(name) }])),
      settings: {
        // Off: the optimizer would remove the padding operations that bring each path to its energy use.
        optimizer: { enabled: false },
        evmVersion: 'byzantium',
        outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
      },
    };
    const { errors = [], contracts } = JSON.parse(solc.compileStandardWrapper(JSON.stringify(input)));
    if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
    return Object.fromEntries(names.map((name) => [name, contracts[`${name}.sol`][name]]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function listOf(items) {
  return `[\n${items.map((item) => `  ${item},\n`).join('')}]`;
}

function textOf(compiled) {
  const parts = names.map((name) => {
    const { abi, evm } = compiled[name];
    const chunks = evm.bytecode.object.match(new RegExp(`.{1,${CHUNK}}`, 'g'));
    return `
// prettier-ignore
export const ${CONTRACTS[name]}_ABI = ${listOf(abi.map((entry) => JSON.stringify(entry)))} as const;

// prettier-ignore
export const ${CONTRACTS[name]}_BYTECODE = ${listOf(chunks.map((chunk) => `'${chunk}'`))}.join('');
`;
  });
  const hash = (name) => createHash('sha256').update(sourceOf(name)).digest('hex');
  const hashes = names.map((name) => `  '${name}.sol': '${hash(name)}',\n`);
  return `// Written by contracts/compile.mjs with ${COMPILER}, the optimizer off. Not edited by hand.

/** The SHA-256 of each source that was compiled. */
export const LOCAL_USDT_SOURCES = {
${hashes.join('')}} as const;
${parts.join('')}`;
}

const text = textOf(compile());
if (!process.argv.includes('--check')) writeFileSync(OUTPUT, text);
else if (readFileSync(OUTPUT, 'utf8') !== text) {
  process.stderr.write(`${OUTPUT} is not what ${COMPILER} makes of the sources: run this without --check.\n`);
  process.exitCode = 1;
}
