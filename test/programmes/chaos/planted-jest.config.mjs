// Runs any test against a source with a planted bug: see planted-transform.mjs.
import jest from '../../../jest.config.js';
import { SWC_OPTIONS } from '../../setup/swc.mjs';

// Unit tests need no servers.
const isUnit = process.env.PLANTED_SERVICES === 'none';
const project = jest.projects.find(({ displayName }) => displayName === (isUnit ? 'unit' : 'integration'));

/** @type {import('jest').Config} */
export default {
  ...project,
  roots: ['<rootDir>/test'],
  ...(!isUnit && { globalSetup: '<rootDir>/test/programmes/chaos/planted-setup.mjs' }),
  transform: { '^.+\\.ts$': ['<rootDir>/test/programmes/chaos/planted-transform.mjs', SWC_OPTIONS] },
  testTimeout: jest.testTimeout,
};
