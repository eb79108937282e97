// Builds dist/ when a source or a package is newer than the last build; every command that runs from dist begins here.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
const newest = (path) => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newest(`${path}/${name}`)));
};

const inputs = [
  'src',
  'bundle.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
];
// The last file of a build, and there only when the whole of it is.
const builtAt = statSync(`${root}dist/bundle/main.api.js`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (Math.max(...inputs.map((name) => newest(root + name))) > builtAt) {
  // Progress and faults go to stderr: stdout belongs to the command that follows.
  const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: ['ignore', 2, 2] });
  process.exit(status ?? 1);
}
