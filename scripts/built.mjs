// Builds dist/ and packages/*/dist/ when a source or a package is newer than the last build, then runs a program in this
// process. Usage: node scripts/built.mjs [program [arguments]]
import { spawn } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const packages = existsSync(`${root}packages`) ? readdirSync(`${root}packages`) : [];
const inputs = [
  'src',
  ...packages.flatMap((name) => [`packages/${name}/src`, `packages/${name}/package.json`]),
  'scripts/bundle.mjs',
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
// A folder of bundles is replaced as a whole, so one file of each shows its age.
const outputs = [
  'dist/bundle/main.api.js',
  'packages/devnet/dist/main.devnet.js',
  'packages/local/dist/main.demo.js',
  'packages/sdk/dist/index.js',
  'packages/console/dist/index.html',
];
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];
/** A build that ignores its signal is killed after this time. */
const END_LIMIT_MS = 5000;
/** Holds the id of the process that builds. */
const lock = `${root}.cache/build.pid`;
const LOCK_RETRY_MS = 200;
/** Several times as long as a build takes on a slow machine. */
const LOCK_LIMIT_MS = 600_000;

const newest = (path) => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newest(`${path}/${name}`)));
};
const isStale = () =>
  Math.max(...inputs.map((name) => newest(root + name))) > Math.min(...outputs.map((name) => newest(root + name)));

/** Ends this process when the build fails, or when a signal has ended it. */
async function build() {
  // Progress and faults go to stderr: stdout belongs to the program. A process group of its own, so that a signal ends
  // all of it.
  const startedAt = Date.now();
  console.error('Building: TypeScript to dist/, then a bundle of each program. Only when a source has changed.');
  const child = spawn('npm', ['run', '-s', 'build'], { cwd: root, stdio: ['ignore', 2, 2], detached: true });
  let ending;
  const end = (signal) => {
    ending ??= signal;
    killGroup(child.pid, signal);
    setTimeout(() => killGroup(child.pid, 'SIGKILL'), END_LIMIT_MS).unref();
  };
  for (const signal of SIGNALS) process.on(signal, end);
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`npm run build: ${error.message}`);
      resolve(1);
    });
    child.once('close', resolve);
  });
  if (ending !== undefined) process.exit(128 + constants.signals[ending]);
  if (code !== 0) process.exit(code ?? 1);
  for (const signal of SIGNALS) process.off(signal, end);
  console.error(`Built in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
}

function killGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}

/** Waits until no other command builds: concurrent builds would mix their files. Ends this process at the limit. */
async function lockBuild() {
  const own = `${lock}.${process.pid}`;
  const limitMs = Date.now() + LOCK_LIMIT_MS;
  mkdirSync(dirname(lock), { recursive: true });
  for (let isNews = true; ; isNews = false) {
    // A link appears with its content, so that no other process reads an empty lock.
    writeFileSync(own, `${process.pid}`);
    try {
      linkSync(own, lock);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    } finally {
      rmSync(own, { force: true });
    }
    const holder = readLock(lock);
    if (holder !== undefined && hasEnded(holder)) removeLockOf(holder);
    else if (isNews) console.error('Waiting for another command that builds.');
    if (Date.now() > limitMs) {
      console.error(`Another command has been building for too long. If none is, remove ${lock}.`);
      process.exit(1);
    }
    await sleep(LOCK_RETRY_MS);
  }
}

/** Returns the text of a lock, or undefined if it has been removed. */
function readLock(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  }
}

function hasEnded(pid) {
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** Removes the lock of a process that has ended, but puts back one that another command has taken meanwhile. */
function removeLockOf(holder) {
  const taken = `${lock}.${process.pid}`;
  try {
    renameSync(lock, taken);
    if (readLock(taken) !== holder) linkSync(taken, lock);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(error.code)) throw error;
  } finally {
    rmSync(taken, { force: true });
  }
}

if (isStale()) {
  await lockBuild();
  const unlock = () => rmSync(lock, { force: true });
  process.once('exit', unlock);
  // The other command may have built it already.
  if (isStale()) await build();
  process.off('exit', unlock);
  unlock();
}
const [program] = process.argv.splice(2, 1);
if (program !== undefined) {
  process.argv[1] = resolve(program);
  await import(pathToFileURL(process.argv[1]).href);
}
