// The tests that start whole services, kill them, run a node's bad days or walk through the pages of docs/.
import base from './jest.config.js';

/** @type {import('jest').Config} */
export default { ...base, roots: ['<rootDir>/test/long'], testPathIgnorePatterns: ['/node_modules/'] };
