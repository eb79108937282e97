// Jest's Node environment. Each worker process loads it once, outside the test files' sandboxes. It keeps the output of
// every process that a test starts, through one channel for all copies of the code.
import { TestEnvironment } from 'jest-environment-node';
import './typescript.mjs';

const { keepChildren } = await import('./canary.ts');
keepChildren();

export default TestEnvironment;
