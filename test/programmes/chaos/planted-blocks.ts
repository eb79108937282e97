// Planted bugs in the shared reading of solid blocks and in its cursors.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const SEARCH = 'modules/reconciliation/unrecorded-search.ts';

const reading = (title: string): NamedTest => ({ file: 'integration/blocks/block-reading.test.ts', title });

export const PLANTED_BLOCKS: readonly PlantedBug[] = [
  {
    name: 'solid blocks are read by everyone who takes something from them',
    changes: one('platform/blocks/solid-blocks.ts', '    read.set(number, reading);\n', ''),
    test: reading('asks each node once for a block and its receipts, for consumers and search together'),
  },
  {
    name: 'the search waits for blocks that deposits wait for',
    changes: one(
      'platform/blocks/block-follower.ts',
      'const left = await this.search.searchNext(this.lease !== undefined);',
      'await this.runPass();\n    const left = await this.search.searchNext(this.lease !== undefined);',
    ),
    test: reading('with one of two nodes away the search continues while deposits wait, and reads no block twice'),
  },
  {
    name: 'every worker searches',
    changes: one(SEARCH, 'if (!this.hasLease && monotonicMs()', 'if (this.seen === undefined && monotonicMs()'),
    test: reading(
      'a worker that does not read blocks leaves the search to the reader, and takes it over from a dead one',
    ),
  },
  {
    name: 'the search moves on from wherever it is',
    changes: one(
      SEARCH,
      'WHERE scanned_to IS NOT DISTINCT FROM $1 AND server_mark() = $5 RETURNING',
      'WHERE $1::bigint IS DISTINCT FROM -1 AND $5::text IS NOT NULL RETURNING',
    ),
    test: reading('a search that was set back meanwhile skips nothing, and restarts from there'),
  },
  {
    name: 'the search moves past a block apart from what it found there',
    changes: one(
      SEARCH,
      'await this.recordActs(block, acts, async (tx) => movePosition(tx, stretch));',
      'await this.recordActs(block, acts, async () => Promise.resolve());\n      await movePosition(this.database as never, stretch);',
    ),
    test: {
      file: 'long/reconciliation/unrecorded-search.test.ts',
      title: 'records an act together with the search’s move past its block, or neither',
    },
  },
];
