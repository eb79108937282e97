// The environment of tests with servers. It keeps the output of every process that a test starts, for the search of
// secrets at the end of the run.
import { TestEnvironment } from 'jest-environment-node';
import './typescript.mjs';

const { keepChildren } = await import('./canary.ts');
keepChildren();

export default TestEnvironment;
