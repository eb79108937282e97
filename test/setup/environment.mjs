// Jest's Node environment. Loaded once per worker process, outside the sandboxes of the test files, it keeps what the
// processes say that tests start; whoever starts them, and from whichever copy of the code, the channel is one.
import { TestEnvironment } from 'jest-environment-node';
import './typescript.mjs';

const { keepChildren } = await import('./canary.ts');
keepChildren();

export default TestEnvironment;
