// Bugs in how processes start, stop and meet their database, each with the test that must catch it.
import { one, type PlantedBug } from './planted-bug.js';

const CLAIMING_STOPS = {
  file: 'integration/worker-stop.test.ts',
  title: 'stops every kind of claim before it waits for the work of any',
};

export const PLANTED_OPERATIONS: readonly PlantedBug[] = [
  {
    name: 'a stopping worker claims auto-delegations until their turn to end comes',
    changes: one(
      'auto-delegations/refills.ts',
      'onModuleDestroy(): void {\n    this.repeater.end();',
      'onModuleDestroy(): void {',
    ),
    test: CLAIMING_STOPS,
  },
  {
    name: 'a process that may not list its addresses ends without a reason',
    changes: one(
      'webhooks/address-rules.ts',
      "throw new StartError(\n      'NETWORK_RESTRICTED'",
      "throw error ?? new StartError(\n      'NETWORK_RESTRICTED'",
    ),
    test: {
      file: 'unit/webhook-rules.test.ts',
      title: 'a process that may not list the addresses of its machine says what to allow',
    },
  },
];
