// The tests that need no database, queue or chain: pure files only.
import base from './jest.config.js';

const { globalSetup: _setup, globalTeardown: _teardown, ...rest } = base;
/** @type {import('jest').Config} */
export default { ...rest, roots: ['<rootDir>/test/unit'] };
