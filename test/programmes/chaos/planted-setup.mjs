// Jest's global set-up for a planted bug. A bug that may change the test database gets servers of its own, whose
// migrations contain it. All others share the servers of the hunt (named-test.ts).
import { register } from 'node:module';
import globalSetup from '../../setup/global-setup.mjs';

// Registered after the hooks of the ordinary set-up, so that it runs before them.
register('./planted-hooks.mjs', import.meta.url);

export default async function plantedSetup() {
  if (process.env.PLANTED_SERVICES !== 'shared') return globalSetup();
  const { beginSearch } = await import('../../setup/canary.ts');
  await beginSearch();
}
