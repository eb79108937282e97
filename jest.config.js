// The tests but those of test/long, on embedded Postgres and Redis unless DATABASE_URL / REDIS_URL name others.
/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/setup/environment.mjs',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Those in a browser run by themselves: npm run test:console; and those that take long: npm run test:long.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/console/', '<rootDir>/test/long/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
  testSequencer: '<rootDir>/test/setup/sequencer.mjs',
  globalSetup: '<rootDir>/test/setup/global-setup.mjs',
  globalTeardown: '<rootDir>/test/setup/global-teardown.mjs',
  // A leaked connection, timer or child process is a bug of ours: Jest must be able to end by itself.
  forceExit: false,
  testTimeout: 180_000,
  workerIdleMemoryLimit: '1500MB',
};
