// Runs any test against a source with a planted bug: see planted-transform.mjs.
import base from '../../../jest.config.js';

const [, swc] = base.transform['^.+\\.ts$'];

/** @type {import('jest').Config} */
const config = {
  ...base,
  rootDir: '../../..',
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/programmes/chaos/planted-setup.mjs',
  transform: { '^.+\\.ts$': ['<rootDir>/test/programmes/chaos/planted-transform.mjs', swc] },
};

// Unit tests need no servers.
if (process.env.PLANTED_SERVICES === 'none') {
  delete config.globalSetup;
  delete config.globalTeardown;
  config.testEnvironment = 'node';
}

export default config;
