// Builds dist/ when a source is newer than the last build; every command that runs from dist begins with this.
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

const inputs = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json'];
const builtAt = statSync(`${root}dist/.tsbuildinfo`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (Math.max(...inputs.map((name) => newest(root + name))) > builtAt) {
  // Progress and faults go to stderr: stdout belongs to the command that follows.
  const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: ['ignore', 2, 2] });
  process.exit(status ?? 1);
}
