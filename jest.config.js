// Projects select tests by folder: `npm test` runs unit and integration, `npm run test:long` long, `npm run test:console`
// console.
const base = {
  rootDir: import.meta.dirname,
  testMatch: ['**/*.test.ts'],
  testRunner: '<rootDir>/test/setup/runner.mjs',
  testPathIgnorePatterns: ['/node_modules/'],
  transform: {},
};

/** With Postgres, Redis and what a test starts itself; embedded unless DATABASE_URL and REDIS_URL name others. */
const withServers = {
  ...base,
  testEnvironment: '<rootDir>/test/setup/environment.mjs',
  globalSetup: '<rootDir>/test/setup/global-setup.mjs',
  globalTeardown: '<rootDir>/test/setup/global-teardown.mjs',
};

const inFolders = (...names) => names.map((name) => `<rootDir>/test/${name}`);

/** @type {import('jest').Config} */
export default {
  projects: [
    { ...base, displayName: 'unit', testEnvironment: 'node', roots: inFolders('unit') },
    { ...withServers, displayName: 'integration', roots: inFolders('integration', 'devnet', 'programmes') },
    // Starts whole services, kills them, runs a node's bad days or walks through the pages of docs/.
    { ...withServers, displayName: 'long', roots: inFolders('long') },
    // A real browser against real processes: one file at a time.
    { ...withServers, displayName: 'console', roots: inFolders('console') },
  ],
  testSequencer: '<rootDir>/test/setup/sequencer.mjs',
  // A leaked connection, timer or child process is a bug of ours: Jest must be able to end by itself.
  forceExit: false,
  testTimeout: 180_000,
  // On a busy machine the end of a worker, which frees a gigabyte, takes longer than the usual half second.
  workerGracefulExitTimeout: 20_000,
  workerIdleMemoryLimit: '1500MB',
};
