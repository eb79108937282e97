// Jest's global set-up for a planted bug: the migrations of the test database contain the bug too.
import { register } from 'node:module';
import globalSetup from '../../setup/global-setup.mjs';

// Registered after the hooks of the ordinary set-up, so that it runs before them.
register('./planted-hooks.mjs', import.meta.url);

export default globalSetup;
