// Loads the program named by the first argument (`api`, `worker`, `sender`, `console`, `signer`, `devnet …` or `cli …`)
// into this process, so that it receives signals directly and its exit code is the container's.
import { constants } from 'node:os';

const PROGRAMS = {
  api: 'dist/bundle/main.api.js',
  worker: 'dist/bundle/main.worker.js',
  sender: 'dist/bundle/main.sender.js',
  console: 'dist/bundle/main.console.js',
  cli: 'dist/bundle/main.cli.js',
  signer: 'dist/bundle/main.signer.js',
  // Only in the image of the target `devnet`.
  devnet: 'packages/devnet/dist/main.devnet.js',
};

const [, script, name = '', ...args] = process.argv;
const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
if (program === undefined) {
  console.error(`Say one of ${Object.keys(PROGRAMS).join(', ')}; a CLI command comes after cli.`);
  process.exit(64);
}
// Process 1 ignores signals without a handler. These handlers end it immediately, until the program installs its own;
// for a command they stay.
const end = (signal) => process.exit(name === 'cli' ? 128 + constants.signals[signal] : 0);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
process.setSourceMapsEnabled(true);
process.argv = [process.argv[0], script, ...args];
await import(new URL(`../${program}`, import.meta.url).href);
for (const signal of ['SIGTERM', 'SIGINT']) process.off(signal, end);
