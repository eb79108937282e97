// Jest's global set-up with a planted bug in the source: the migrations of the test database have it too.
import { register } from 'node:module';
import globalSetup from '../setup/global-setup.mjs';

// After those of the ordinary set-up, so that it is asked before them.
register('./planted-hooks.mjs', import.meta.url);

export default globalSetup;
