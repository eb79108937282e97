// Planted bugs in the explanation of a transaction, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const cause = (title: string): NamedTest => ({ file: 'integration/explain/explain-causes.test.ts', title });
const access = (title: string): NamedTest => ({ file: 'integration/explain/explain-access.test.ts', title });
const consoles = (title: string): NamedTest => ({ file: 'integration/explain/explain-console.test.ts', title });
const pure = (title: string): NamedTest => ({ file: 'unit/explain/explain-causes.test.ts', title });

const FACTS = 'modules/explain/explain-facts.ts';

export const PLANTED_EXPLAIN: readonly PlantedBug[] = [
  {
    name: 'a transaction is explained to any project',
    changes: one(
      'modules/explain/explain.service.ts',
      'const projects = projectIds ?? (await this.records.projects());',
      'const projects = projectIds === undefined ? [] : await this.records.projects();',
    ),
    test: access('of other addresses is as unknown as one that was never sent'),
  },
  {
    name: 'a test order lets its project read the transactions of any address',
    changes: one(
      'modules/explain/rental-records.ts',
      'AND NOT o.test LIMIT 1) found ON true)',
      'LIMIT 1) found ON true)',
    ),
    test: access('of an address that only rents in a test project is unknown'),
  },
  {
    name: 'a rental of the same block counts as running before it began',
    changes: one(
      FACTS,
      'if (one.blockNumber !== blockNumber) return one.blockNumber < blockNumber;',
      'if (block.length >= 0) return one.blockNumber <= blockNumber;',
    ),
    test: cause('began in the same block, before or after the transaction'),
  },
  {
    name: 'a fee limit is judged by the energy price of today',
    changes: one(
      'platform/chain/transaction-report.ts',
      'if (parent !== undefined && Number(since) <= parent.timestampMs) price = BigInt(sun);',
      'if (parent !== undefined && Number(since) >= 0) price = BigInt(sun);',
    ),
    test: cause('is judged by the energy price of that time'),
  },
  {
    name: 'any dear transfer is blamed on its recipient',
    changes: one(
      'modules/explain/explain-causes.ts',
      'return plain === toOther && plain > toHolder',
      'return plain <= toOther && plain > toHolder',
    ),
    test: pure('the transfer used another energy'),
  },
  {
    name: 'a merchant’s request in the console is answered by the orders of all projects',
    changes: one(
      'modules/explain/explanation-answers.ts',
      'projectId === null ? undefined : [projectId]',
      'projectId === txid ? [projectId] : undefined',
    ),
    test: consoles('shows a merchant no transaction of another project, nor the requests of others'),
  },
  {
    name: 'an explanation that a dead worker had taken is never answered',
    changes: one(
      'modules/explain/explanation-answers.ts',
      'abs(extract(epoch FROM clock_timestamp() - taken_at)) > $1',
      'clock_timestamp() - taken_at > make_interval(secs => $1)',
    ),
    test: consoles('answers what a dead worker had taken, also after the clock was set back'),
  },
  {
    name: 'any number of explanations may wait',
    changes: one('modules/explain/explanation-requests.ts', 'LIMIT $4) recent) < $4', 'LIMIT $4) recent) <= $4'),
    test: consoles(
      'refuses further requests while many of the project wait or are a minute old, and takes them afterwards',
    ),
  },
  {
    name: 'an explanation that failed looks like an unknown transaction',
    changes: one(
      'modules/explain/explanation-answers.ts',
      'await this.database.query(ANSWER, [id, null, code]);',
      'await this.database.query(ANSWER, [id, null, code === id ? code : null]);',
    ),
    test: consoles('says that no node answered, instead of finding nothing'),
  },
];
