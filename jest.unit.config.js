// The tests that need no database, queue or chain: pure files only, so nothing is started for them.
import base from './jest.config.js';

const unit = { ...base, testEnvironment: 'node', roots: ['<rootDir>/test/unit'] };
delete unit.globalSetup;
delete unit.globalTeardown;

/** @type {import('jest').Config} */
export default unit;
