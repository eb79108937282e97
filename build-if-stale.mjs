// Builds dist/ and packages/*/dist/ when a source or a package is newer than the last build; every command that runs from dist begins here.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
const newest = (path) => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newest(`${path}/${name}`)));
};

const packages = existsSync(`${root}packages`) ? readdirSync(`${root}packages`) : [];
const inputs = [
  'src',
  ...packages.flatMap((name) => [`packages/${name}/src`, `packages/${name}/package.json`]),
  'bundle.mjs',
  'packages/sdk/build.mjs',
  ...['build.mjs', 'vite.config.mjs', 'tsconfig.json', 'index.html', 'public'].map(
    (name) => `packages/console/${name}`,
  ),
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
];
/** A build that ignores its signal is killed after this time. */
const END_LIMIT_MS = 5000;

function build() {
  // Progress and faults go to stderr: stdout belongs to the command that follows. A process group of its own, so that a
  // signal ends all of it, and the command with it.
  const startedAt = Date.now();
  console.error('Building: TypeScript to dist/, then a bundle of each program. Only when a source has changed.');
  const child = spawn('npm', ['run', '-s', 'build'], { cwd: root, stdio: ['ignore', 2, 2], detached: true });
  let ending;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    process.on(signal, () => {
      ending ??= signal;
      killGroup(child.pid, signal);
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), END_LIMIT_MS).unref();
    });
  }
  child.once('error', (error) => {
    console.error(`npm run build: ${error.message}`);
    process.exit(1);
  });
  child.once('close', (code) => {
    if (code === 0) console.error(`Built in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
    process.exit(ending === undefined ? (code ?? 1) : 128 + constants.signals[ending]);
  });
}

function killGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}

// A file of each folder of bundles, which is there only when the whole of its folder is.
const outputs = [
  'dist/bundle/main.api.js',
  'packages/devnet/dist/main.devnet.js',
  'packages/local/dist/main.demo.js',
  'packages/sdk/dist/index.js',
  'packages/console/dist/index.html',
];
const builtAt = Math.min(...outputs.map((name) => newest(root + name)));
if (Math.max(...inputs.map((name) => newest(root + name))) > builtAt) build();
