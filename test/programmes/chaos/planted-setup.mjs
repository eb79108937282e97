// Jest's global set-up for a planted bug. A bug that may change the test database gets servers of its own, whose
// migrations contain it. All others share the servers of the hunt (named-test.ts).
import globalSetup from '../../setup/global-setup.mjs';

export default async function plantedSetup() {
  if (process.env.PLANTED_SERVICES !== 'shared') return globalSetup();
  const { beginSearch } = await import('../../setup/canary.ts');
  await beginSearch();
}
