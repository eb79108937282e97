// Jest's test runner without its module registry: Node itself loads the test files. All files of a worker process share
// one copy of the code under test and its libraries, since loading 3,000 modules anew took two seconds of CPU per file.
// Everything else stays Jest's own: workers, hooks, limits, matchers, results.
// Mocks and environment variables are put back after each file. A test file must leave no other changed global or module
// state behind.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { jest } from './jest-globals.mjs';
import './typescript.mjs';

const require = createRequire(import.meta.url);
const runWithCircus = require('jest-circus/runner').default;
const nodeConsole = globalThis.console;
let loads = 0;

/** Answers what Circus asks of Jest's module registry, with Node's own modules. */
function nodeModules(registry) {
  return {
    /** Circus keeps the tests of one file in its module: a new copy per file. */
    requireInternalModule(path) {
      delete globalThis[Symbol.for('EVENT_HANDLERS')];
      delete require.cache[path];
      return require(path);
    },
    requireModule: require,
    setGlobalsForRuntime: (globals) => Object.assign(globalThis, globals),
    unstable_shouldLoadAsEsm: () => true,
    // A file that runs again, as in watch mode, is loaded again.
    unstable_importModule: (path) => import(`${pathToFileURL(path).href}?load=${(loads += 1).toString()}`),
    enterTestCode: () => registry.enterTestCode(),
    leaveTestCode: () => registry.leaveTestCode(),
  };
}

export default async function run(globalConfig, config, environment, registry, testPath, sendMessageToJest) {
  // Node maps stacks by the source maps that the loader adds to each file.
  Error.prepareStackTrace = undefined;
  process.setSourceMapsEnabled(true);
  delete globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')];
  globalThis.console = environment.global.console;
  const env = { ...process.env };
  try {
    const modules = nodeModules(registry);
    return await runWithCircus(globalConfig, config, environment, modules, testPath, sendMessageToJest);
  } finally {
    jest.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    globalThis.console = nodeConsole;
  }
}
