// Planted bugs in how an outage is told to operators, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const OUTAGES = 'modules/console/outages.ts';
const outages = (title: string): NamedTest => ({ file: 'integration/console/console-outages.test.ts', title });

const FIGURES = 'modules/console/service-figures.ts';
const TESTED = 'counts live orders behind many test orders, and says since when it counts behind too many';

export const PLANTED_OUTAGES: readonly PlantedBug[] = [
  {
    name: 'test orders push live ones out of the figures of the last day',
    changes: one(FIGURES, 'FROM orders ORDER BY id DESC LIMIT $2', 'FROM orders ORDER BY id DESC LIMIT least($1, $2)'),
    test: outages(TESTED),
  },
  {
    name: 'figures of a part of the last day do not say since when they count',
    changes: one(FIGURES, 'HAVING count(*) >= $2 AND', 'HAVING count(*) > $2 AND'),
    test: outages(TESTED),
  },
  {
    name: 'an outage of the nodes asks for a worker',
    changes: one(OUTAGES, 'row.is_without_node ? null : row.pool_read', 'row.pool_read'),
    test: outages('does not ask for a worker while no node answers'),
  },
  {
    name: 'one paused wallet counts as an outage',
    changes: one(OUTAGES, 'wallets > 0 && selling === 0', 'selling < wallets'),
    test: outages('says that every wallet is paused, and not that one is'),
  },
  {
    name: 'a sold-out pool is foretold while nothing is sold',
    changes: one(
      'modules/console/operations.service.ts',
      'const isSelling = !inbox.some(',
      'const isSelling = inbox.some(',
    ),
    test: outages('says since when nothing is sold for unread fees'),
  },
];
