// Planted bugs in start, stop and database connection of processes, each with the test that must catch it.
import { one, SCHEMA, type PlantedBug } from './planted-bug.js';

const CLAIMING_STOPS = {
  file: 'integration/fulfilment/worker-stop.test.ts',
  title: 'stops every kind of claim before it waits for the work of any',
};

export const PLANTED_OPERATIONS: readonly PlantedBug[] = [
  {
    name: 'a stopping worker claims auto-delegations until their turn to end comes',
    changes: one(
      'modules/auto-delegations/refills.ts',
      '  /** Checks due rows.',
      '  override onModuleDestroy(): void {}\n\n  /** Checks due rows.',
    ),
    test: CLAIMING_STOPS,
  },
  {
    name: 'a process that may not list its addresses ends without a reason',
    changes: one(
      'modules/webhooks/address-rules.ts',
      "throw new StartError(\n      'NETWORK_RESTRICTED'",
      "throw error ?? new StartError(\n      'NETWORK_RESTRICTED'",
    ),
    test: {
      file: 'unit/webhooks/webhook-rules.test.ts',
      title: 'a process that may not list the machine’s addresses names the missing permission',
    },
  },
  {
    name: 'a session keeps the ways of its role to write values',
    changes: one('platform/database/data-source.ts', '        ...PINNED_OPTIONS,\n', ''),
    test: {
      file: 'integration/database/database-session.test.ts',
      title: 'unusual settings that a pooler keeps change no value, or prevent the start',
    },
  },
  {
    name: 'an unknown authority is called a database that is away',
    changes: one(
      'platform/database/database-fault.ts',
      'is: saying(/unable to (verify the first',
      'is: saying(/unable to (believe the first',
    ),
    test: {
      file: 'integration/database/database-reasons.test.ts',
      title: 'command and doctor name',
    },
  },
  {
    name: 'exchanged keys blame the master key',
    changes: one('platform/database/key-canaries.ts', 'if (exchanged.length > 0) {', 'if (exchanged.length > 99) {'),
    test: { file: 'integration/diagnostics/doctor-causes.test.ts', title: 'names exchanged keys' },
  },
  {
    name: 'exchanged URLs of a node are an answer that is not usable',
    changes: one('modules/diagnostics/doctor-chain.ts', 'if (exchanged.length > 0) return exchanged;', ''),
    test: { file: 'integration/diagnostics/doctor-causes.test.ts', title: 'names exchanged URLs of a node' },
  },
  {
    name: 'migrate down takes a used connection for one that a pooler left',
    changes: one('platform/database/migrate.ts', 'usedAt === null || known.get(pid) !== usedAt', '!known.has(pid)'),
    test: {
      file: 'integration/database/migrate-down-pooled.test.ts',
      title: 'a process that uses its connections through a pooler counts as running',
    },
  },
  {
    name: 'a trigger has a condition that a restored dump prints otherwise',
    changes: one(
      SCHEMA,
      'WHEN (old.tx_id IS DISTINCT FROM new.tx_id\n    OR old.order_id IS DISTINCT FROM new.order_id\n    OR old.receive',
      'WHEN ((old.tx_id, old.order_id) IS DISTINCT FROM (new.tx_id, new.order_id)\n    OR old.receive',
    ),
    test: {
      file: 'integration/database/schema.test.ts',
      title: 'triggers, checks and indexes of a restored dump are printed as before',
    },
  },
  {
    name: 'adoption accepts a schema that is not the one of the baseline',
    changes: one('platform/database/adopt-baseline.ts', 'if (differing.length > 0) {', 'if (differing.length > 99) {'),
    test: { file: 'integration/database/adopt-baseline.test.ts', title: 'refuses to adopt a database with' },
  },
  {
    name: 'an outdated release passes on the main network',
    changes: one(
      'modules/diagnostics/doctor-releases.ts',
      'if (isMainNetwork)\n',
      'if (isMainNetwork && check === says)\n',
    ),
    test: { file: 'unit/diagnostics/doctor-releases.test.ts', title: 'on a private network and' },
  },
  {
    name: 'a release is compared as text',
    changes: one(
      'modules/diagnostics/doctor-releases.ts',
      'const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);',
      'const difference = (left?.[at] ?? 0).toString().localeCompare((right?.[at] ?? 0).toString());',
    ),
    test: { file: 'unit/diagnostics/doctor-releases.test.ts', title: 'orders releases by their numbers' },
  },
  {
    name: 'the doctor compares only fork switches that every node lists',
    changes: one(
      'modules/diagnostics/doctor-releases.ts',
      'const differing = keys.filter((key) => ',
      'const differing = keys.filter((key) => known.every(({ switches }) => switches.has(key)) && ',
    ),
    test: {
      file: 'integration/diagnostics/doctor-nodes.test.ts',
      title: 'are compared between the nodes, by value and by presence',
    },
  },
  {
    name: 'the doctor does not compare the heads of nodes',
    changes: one(
      'modules/diagnostics/doctor-chain.ts',
      'if (lag <= LAG_BLOCKS_MAX) return [];',
      'if (lag >= 0) return [];',
    ),
    test: {
      file: 'integration/diagnostics/doctor-nodes.test.ts',
      title: 'a node far behind the others is a fault, because it gets no requests',
    },
  },
  {
    name: 'the fee for several signatures is charged by the number of keys',
    changes: one(
      'modules/pool/permission-cost.ts',
      'return last < 0 ? weights.length : last + 1;',
      'return last < 0 ? 1 : weights.length;',
    ),
    test: {
      file: 'integration/operator/cli-pool-fees.test.ts',
      title: 'adds the fee for several signatures if the owner permission needs them',
    },
  },
  {
    name: 'a key that cannot sign alone suits a wallet',
    changes: one('modules/pool/wallet-permission.ts', 'if (weight < permission.threshold) {', 'if (weight < 1n) {'),
    test: {
      file: 'unit/pool/wallet-permission.test.ts',
      title: 'a key whose weight is below the threshold cannot act alone',
    },
  },
  {
    name: 'a permission update costs what it costs on the main network',
    changes: one('modules/pool/permission-cost.ts', 'updateSun: fees.updateSun,', 'updateSun: 100_000_000n,'),
    test: {
      file: 'integration/operator/cli-pool-fees.test.ts',
      title: 'prints the fee of the chain, which the update then burns',
    },
  },
  {
    name: 'an interrupted rescan passes for a complete one',
    changes: one('modules/deposits/rescan.ts', 'interrupted: next <= last', 'interrupted: next > to'),
    test: {
      file: 'integration/operator/cli-deposits.test.ts',
      title: 'that is interrupted fails, and names the blocks that are left',
    },
  },
  {
    name: 'a wallet that another service uses is added without a question',
    changes: one('modules/pool/pool-wallets.ts', 'if (delegatedSun > 0n) await', 'if (delegatedSun < 0n) await'),
    test: { file: 'integration/operator/cli-pool.test.ts', title: 'asks before it adds a wallet that has delegated' },
  },
];
