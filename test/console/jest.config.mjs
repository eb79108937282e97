// The console's pages in a real browser, against real processes. They run alone, because a browser needs the whole
// machine.
import base from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/console'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
  testTimeout: 180_000,
};
