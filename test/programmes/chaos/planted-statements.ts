// Planted bugs in reading the ledger and closing its months.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const CLOSING = 'modules/statements/statement-closing.ts';
const CLOSING_SQL = 'modules/statements/closing-sql.ts';
const LINES = 'modules/statements/statement-lines.ts';

const statements = (title: string): NamedTest => ({ file: 'integration/statements/statements.test.ts', title });
const VERIFIED: NamedTest = {
  file: 'long/statements/statements-verify.test.ts',
  title: 'reports every change made past the guards',
};
const readers = (title: string): NamedTest => ({ file: 'integration/fulfilment/bundle-readers.test.ts', title });
const ledger = (title: string): NamedTest => ({ file: 'integration/billing/ledger.test.ts', title });

export const PLANTED_STATEMENTS: readonly PlantedBug[] = [
  {
    name: 'the running balance of each month begins at zero',
    changes: one(LINES, 'let balance = statement.openingCredits;', 'let balance = 0n;'),
    test: statements('closes each month with every movement of the balance, opening with the previous closing'),
  },
  {
    name: 'an entry is in two statements',
    changes: one(
      CLOSING_SQL,
      'AND id >= $9::bigint AND (id > $8::bigint OR created_at >= $7::timestamptz)),',
      'AND id >= $9::bigint AND (id > $8::bigint OR created_at >= $7::timestamptz OR true)),',
    ),
    test: statements('an entry whose id is out of the order of time is in exactly one statement, that of its month'),
  },
  {
    name: 'a month is cut off beside who is still writing in it',
    changes: one(CLOSING, "if (writers.size > 0) return 'waits';", "if (writers.size > 1000) return 'waits';"),
    test: statements('a month waits for the writers at its cut, and contains their commits'),
  },
  {
    name: 'an entry is in no statement when it comes behind one of the next month',
    changes: one(
      CLOSING_SQL,
      'coalesce(min(id) FILTER (WHERE NOT is_due AND id <= $4::bigint), $4::bigint + 1) AS rest_from,',
      '$4::bigint + 1 AS rest_from,',
    ),
    test: statements('an entry whose id is out of the order of time is in exactly one statement, that of its month'),
  },
  {
    name: 'a statement closes without its refunds',
    changes: one(
      CLOSING_SQL,
      'coalesce(sum(credits) FILTER (WHERE is_due), 0)::bigint AS moved,',
      "coalesce(sum(credits) FILTER (WHERE is_due AND kind <> 'refund'), 0)::bigint AS moved,",
    ),
    test: statements(
      'closes each month with every movement of the balance, opening with the previous closing, and announces it',
    ),
  },
  {
    name: 'a statement is closed that the ledger does not prove',
    changes: one(
      CLOSING,
      'if (closing + rest === balance || closing + rest + (explained ?? 0n) === balance) return;',
      'if (closing + rest !== balance + 1000n) return;',
    ),
    test: statements('a project whose ledger does not add up is not closed and delays no other, until it is corrected'),
  },
  {
    name: 'a month is closed though a project in it is not',
    changes: one(CLOSING, 'const ended = hasSkipped ? []', 'const ended = hasSkipped && this.skipped > 9 ? []'),
    test: statements('a project whose ledger does not add up is not closed and delays no other, until it is corrected'),
  },
  {
    name: 'a month takes what is of an earlier one that is open',
    changes: one(
      CLOSING_SQL,
      'OR e.created_at >= p.before_ends_at)) AS waits',
      'OR e.created_at >= p.before_ends_at)) AND false AS waits',
    ),
    test: {
      file: 'integration/statements/statements-waiting.test.ts',
      title:
        'while a project’s ledger does not add up, the other projects’ next months are closed, and its own wait in order',
    },
  },
  {
    name: 'a cell of a statement is a formula',
    changes: one('platform/support/csv.ts', 'FORMULA.test(inner) ?', 'FORMULA.test(`,${inner}`) ?'),
    test: statements(
      'the lines are CSV without formulas for any spreadsheet program, with rate, transaction and running balance',
    ),
  },
  {
    name: 'a statement is in memory as a whole',
    changes: one(LINES, 'const PAGE_LINES = 1000;', 'const PAGE_LINES = 1_000_000;'),
    test: statements('sends a hundred thousand lines page by page, and disconnects a caller that reads none'),
  },
  {
    name: 'a page of the ledger begins behind a millisecond',
    changes: one('modules/statements/entry-rows.ts', 'HH24:MI:SS.US"Z"', 'HH24:MI:SS.MS"000Z"'),
    test: ledger('is read page by page, each entry once, also within one microsecond, and between two times'),
  },
  {
    name: 'verify does not see that the number of a statement is missing',
    changes: one(
      'modules/verify/statement-checks.ts',
      'WHERE number <> coalesce(before, 0) + 1 OR opening_credits',
      'WHERE opening_credits',
    ),
    test: VERIFIED,
  },
  {
    name: 'verify does not see that a statement has another month’s name',
    changes: one(
      'modules/verify/statement-checks.ts',
      "OR ends_at <> (month + interval '1 month') AT TIME ZONE 'UTC'",
      '',
    ),
    test: VERIFIED,
  },
  {
    name: 'verify does not see that a top-up is among the deposits of a statement',
    changes: one(
      'modules/verify/statement-checks.ts',
      'r.compensation_credits, r.deposit_credits, r.topup_credits)',
      'r.compensation_credits, e.deposits, r.deposit_credits + r.topup_credits - e.deposits)',
    ),
    test: VERIFIED,
  },
  {
    name: 'verify does not see that an entry is in no statement',
    changes: one(
      'modules/verify/statement-checks.ts',
      'WHERE (e.entries, e.credits) IS DISTINCT FROM (s.lines, s.closing_credits)',
      'WHERE (e.entries, e.credits) IS DISTINCT FROM (e.entries, e.credits)',
    ),
    test: VERIFIED,
  },
  {
    name: 'a report returns the price of an activation that a refund keeps',
    changes: one(
      'modules/reports/report-sql.ts',
      `WHEN 'refund' THEN CASE WHEN o.kept_credits IS NULL THEN 0 ELSE o.activation_price_sun END - o.price_sun`,
      `WHEN 'refund' THEN -o.price_sun`,
    ),
    test: readers('shares an order by its items: each item to the wallets that deliver it'),
  },
  {
    name: 'a report gives wallets that delegate energy the price of bandwidth and activation',
    changes: one('modules/reports/report-sql.ts', ' AND g.kind = e.leg_kind AND NOT g.top_up', ' AND NOT g.top_up'),
    test: readers('shares an order by its items: each item to the wallets that deliver it'),
  },
  {
    name: 'bandwidth counts as rented energy in explanations',
    changes: one('modules/explain/rental-records.ts', `leg.kind === 'rental' && `, ''),
    test: readers('an explanation counts only delegations of energy as rented energy'),
  },
];
