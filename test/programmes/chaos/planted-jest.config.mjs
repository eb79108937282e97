// Runs any test against a source with a planted bug: see planted-hooks.mjs.
import { register } from 'node:module';
import jest from '../../../jest.config.js';
import '../../setup/typescript.mjs';

// Registered after the hooks of every test, so that it runs before them. One file runs in Jest's own process.
register('./planted-hooks.mjs', import.meta.url);

// Unit tests need no servers.
const isUnit = process.env.PLANTED_SERVICES === 'none';
const project = jest.projects.find(({ displayName }) => displayName === (isUnit ? 'unit' : 'integration'));

/** @type {import('jest').Config} */
export default {
  ...project,
  roots: ['<rootDir>/test'],
  ...(!isUnit && { globalSetup: '<rootDir>/test/programmes/chaos/planted-setup.mjs' }),
  testTimeout: jest.testTimeout,
};
