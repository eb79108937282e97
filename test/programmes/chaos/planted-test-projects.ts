// Planted bugs in the separation of test projects from sales.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const apart = (title: string): NamedTest => ({ file: 'long/test-projects/test-projects-apart.test.ts', title });
const FIGURES = apart('a report is the same before and after, and so are capacity and the metrics');

export const PLANTED_TEST_PROJECTS: readonly PlantedBug[] = [
  {
    name: 'a test order is in a report',
    changes: one('modules/reports/report-sql.ts', "e.created_at < $2 AND e.contra <> 'test'`;", 'e.created_at < $2`;'),
    test: FIGURES,
  },
  {
    name: 'what a test project has is owed',
    changes: one(
      'modules/reports/report-sql.ts',
      'WHERE NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test)) b`;',
      'WHERE NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test AND false)) b`;',
    ),
    test: FIGURES,
  },
  {
    name: 'an order of a test project takes capacity',
    changes: one(SCHEMA, 'IF NOT v_test THEN', 'IF true THEN'),
    test: FIGURES,
  },
  {
    name: 'the ledger is read once for each order',
    changes: one(
      'modules/verify/test-project-checks.ts',
      'OR CASE WHEN o.test THEN e.of_money ELSE e.of_test END',
      "OR EXISTS (SELECT FROM the_entries c WHERE c.order_id = o.id AND (c.contra = 'test') <> o.test)",
    ),
    test: {
      file: 'integration/verify/verify-rows.test.ts',
      title: 'of thousands of orders no check reads any table once for each',
    },
  },
  {
    name: 'a worker that comes late plays an order all the same',
    changes: one(
      'modules/order-records/test-order-transitions.ts',
      'WHERE id = $1 AND fence = $2 RETURNING id`;',
      'WHERE id = $1 AND $2 > 0 RETURNING id`;',
    ),
    test: apart('one that comes late, after another has claimed its order, changes nothing'),
  },
  {
    name: 'what is not kept of a test project goes from its balance too',
    changes: one(
      SCHEMA,
      'FROM gone GROUP BY project_id HAVING sum(credits) <> 0;',
      'FROM gone GROUP BY project_id HAVING false;',
    ),
    test: apart(
      'are deleted after thirty days, a few at a time, with everything that belongs to them; a balance stays the sum of its entries',
    ),
  },
];
