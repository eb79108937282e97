// `api`, `worker`, `sender`, `console`, `signer`, `devnet …` or `cli …`: loads that program into this very process, so that signals reach
// it and its exit code is the container's.
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
// Process 1 is deaf to signals that it has no handler for. Until the program has its own, and for a command all the
// time, a signal ends it at once.
const end = (signal) => process.exit(name === 'cli' ? 128 + constants.signals[signal] : 0);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
process.setSourceMapsEnabled(true);
process.argv = [process.argv[0], script, ...args];
await import(new URL(`../${program}`, import.meta.url).href);
for (const signal of ['SIGTERM', 'SIGINT']) process.off(signal, end);
