// Runs any test against a source with a planted bug: see planted-transform.mjs.
import base from '../../../jest.config.js';

const [, swc] = base.transform['^.+\\.ts$'];

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../../..',
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/programmes/chaos/planted-setup.mjs',
  transform: { '^.+\\.ts$': ['<rootDir>/test/programmes/chaos/planted-transform.mjs', swc] },
};
