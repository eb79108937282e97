// The static checks and the unit tests, two at a time. Usage: npm run check [-- name ...]
// Ends with 1 when one fails; a failed check never hides another one.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const AT_ONCE = 2;
const COMMANDS = {
  // Reports the compiler's errors too.
  lint: ['oxlint'],
  format: ['prettier --check --cache --cache-location .cache/prettier --log-level warn .'],
  deps: ['depcruise src packages test --config .dependency-cruiser.cjs'],
  unused: ['knip --no-progress'],
  prose: ['node scripts/check-prose.mjs'],
  commits: ['node scripts/check-commits.mjs'],
  unit: ['npm run -s test:unit'],
};

const root = fileURLToPath(new URL('..', import.meta.url));
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in COMMANDS));
if (unknown.length > 0) {
  console.error(`${unknown.join(', ')}: no such check. The checks are ${Object.keys(COMMANDS).join(', ')}.`);
  process.exit(2);
}

/** Returns the exit code and all that the command printed. */
function run(command) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn('sh', ['-c', `exec ${command}`], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    child.once('error', (error) => resolve({ code: 1, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

async function check(name) {
  const startedAt = Date.now();
  const failed = [];
  for (const command of COMMANDS[name]) {
    const { code, output } = await run(command);
    if (code !== 0) failed.push(output.trim());
  }
  console.log(`${name}: ${failed.length === 0 ? 'ok' : 'FAILED'}, ${Math.round((Date.now() - startedAt) / 1000)} s`);
  for (const output of failed) console.error(output);
  return failed.length === 0;
}

async function checkAll(names) {
  const waiting = [...names];
  const results = [];
  const next = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) results.push(await check(name));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return results.every(Boolean);
}

const names = chosen.length > 0 ? chosen : Object.keys(COMMANDS);
// The unit tests use every core themselves.
const first = await checkAll(names.filter((name) => name !== 'unit'));
const second = names.includes('unit') ? await checkAll(['unit']) : true;
process.exit(first && second ? 0 : 1);
