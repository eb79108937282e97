// Planted bugs in the handling of a database that refuses connections, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const busy = (title: string): NamedTest => ({ file: 'integration/database/database-busy.test.ts', title });

export const PLANTED_STARTS: readonly PlantedBug[] = [
  {
    name: 'a database without a free connection is called away',
    changes: one('platform/database/database-fault.ts', `if (state === TOO_MANY) return 'full';`, ''),
    test: busy('process, command, migration and doctor report the truth of'),
  },
  {
    name: 'a pooler without a free connection is called away',
    changes: one('platform/database/database-fault.ts', `if (POOLER_IS_FULL.test(thrown.message)) return 'full';`, ''),
    test: busy('process, command, migration and doctor report the truth of'),
  },
  {
    name: 'a start waits for no connection',
    changes: one('platform/database/open-database.ts', 'if (!isDatabaseBusy(error) ||', 'if (isDatabaseBusy(error) ||'),
    test: busy('a process starts as soon as a connection is free'),
  },
];
