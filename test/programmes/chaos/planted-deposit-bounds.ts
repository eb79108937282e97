// Planted bugs in the bounds that keep one project's deposits from delaying others, and in the check that our own money
// is not taken for a deposit.
import { SCHEMA, one, type NamedTest, type PlantedBug } from './planted-bug.js';

const bounded = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-bounded.test.ts', title });
const restored = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-restored.test.ts', title });
const unimpeded = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-unimpeded.test.ts', title });

export const PLANTED_DEPOSIT_BOUNDS: readonly PlantedBug[] = [
  {
    name: 'all small deposits of a sum are credited in the block of the payment that it passes with',
    changes: one('modules/deposits/small-sums.ts', 'const SETTLED_BATCH = 500;', 'const SETTLED_BATCH = 1_000_000;'),
    test: bounded(
      'is credited with all of them by one payment that reaches the minimum, and a block reads a bounded number of rows',
    ),
  },
  {
    name: 'the statistics of the planner decide how much of a sum is read',
    changes: one(
      'modules/deposits/small-sums-sql.ts',
      "(SELECT m.id FROM deposit m WHERE m.sum_id = s.id AND m.status = 'pending' AND m.entry_key IS NULL\n            ORDER BY ${BY_SUM} LIMIT 1) IS NULL",
      "NOT EXISTS (SELECT FROM deposit m WHERE m.sum_id = s.id AND m.status = 'pending' AND m.entry_key IS NULL)",
    ),
    test: bounded(
      'is credited with all of them by one payment that reaches the minimum, and a block reads a bounded number of rows',
    ),
  },
  {
    name: 'small deposits that got a rate join no sum',
    changes: one('modules/deposits/small-deposits.ts', '    await this.joinSums(tx, batch);\n', ''),
    test: bounded('gets rates for the waiting ones in batches, and credit for their sum'),
  },
  {
    name: 'a small deposit may be credited without its sum',
    changes: one(SCHEMA, 'IF OLD.sum_id IS NOT NULL AND NEW.entry_key IS NOT NULL AND', 'IF OLD.sum_id < 0 AND'),
    test: bounded('is credited only together with its sum'),
  },
  {
    name: 'a block waits for the lock on a project',
    changes: one(
      'modules/deposits/project-claims.ts',
      'if (wanted.length === 0) return new Set();',
      'if (wanted.length >= 0) return new Set(wanted);',
    ),
    test: bounded('delays its own deposits alone, and they are credited once it ends'),
  },
  {
    name: 'what is parked is forgotten',
    changes: one('modules/deposits/deposit-book.ts', '    await this.recordParked(fence);\n', ''),
    test: bounded('delays its own deposits alone, and they are credited once it ends'),
  },
  {
    name: 'a block waits for the lock on a deposit that was seen at the head',
    changes: one(
      'modules/deposits/unlocked-payments.ts',
      'claimed.has(payment.projectId) && !blocked.has(keyOf(payment))',
      'claimed.has(payment.projectId)',
    ),
    test: bounded('on a deposit seen at the head delays that one alone'),
  },
  {
    name: 'a locked deposit that waits for a rate holds up the others',
    changes: one(
      'modules/deposits/deposit-sql.ts',
      "reason IN ('no_rate', 'below_peg')\n   ORDER BY id FOR UPDATE SKIP LOCKED",
      "reason IN ('no_rate', 'below_peg')\n   ORDER BY id FOR UPDATE",
    ),
    test: bounded('on a deposit that waits for a rate delays that one alone'),
  },
  {
    name: 'a payment from an address that a deposit address paid is credited',
    changes: one(
      'modules/deposits/deposit-judge.ts',
      'if (candidate.isPaidByUs === true) {',
      'if (candidate.amount < 0n) {',
    ),
    test: restored('is held, whatever its size, and credited when the operator decides so'),
  },
  {
    name: 'the receiver of a return is taken for our own',
    changes: one(
      'modules/deposits/deposit-sql.ts',
      "m.kind <> 'fee'\n       AND NOT EXISTS (SELECT FROM deposit_return r WHERE r.txid = m.txid AND r.to_address = v.address))",
      "m.kind <> 'fee')",
    ),
    test: restored('is credited if a deposit was returned to that address'),
  },
  {
    name: 'a deposit is given back while money has left that nobody can account for',
    changes: one(
      'modules/deposits/deposit-returns.ts',
      'const open = named.find(({ fingerprint }) => !explained.has(fingerprint));',
      'const open = named.find(({ fingerprint }) => explained.has(fingerprint));',
    ),
    test: restored('is refused while an outflow is neither a sweep nor a return, and made once that is explained'),
  },
  {
    name: 'a restored server gives out the numbers of addresses that it has lost',
    changes: one('modules/deposits/deposit-addresses.ts', 'newest.is_other_server ? RESTORE_GAP : 1', '1'),
    test: restored('leaves a gap on another server, once'),
  },
  {
    name: 'verify takes any rate of a deposit',
    changes: one(
      'modules/verify/deposit-checks.ts',
      "AND d.rate_e8 = CASE d.asset WHEN 'USDT' THEN least(r.rate_e8, 100000000) ELSE r.rate_e8 END",
      'AND d.rate_e8 > 0',
    ),
    test: restored('verify finds a deposit credited at a rate that was not stored since its minute'),
  },
  {
    name: 'the doctor is content with exchanges that name no price of USDT',
    changes: one(
      'modules/diagnostics/doctor-deposits.ts',
      'if (found.length < PEG_QUORUM_MIN) {',
      'if (found.length < 0) {',
    ),
    test: { file: 'unit/domain/dollar-rate.test.ts', title: 'the doctor says so, with the remedy' },
  },
  {
    name: 'a worker knows its deposit addresses by their number',
    changes: one(
      'modules/deposits/deposit-reader.ts',
      `count(*) || ' ' || bit_xor(hashint8extended(place, account))`,
      'count(*)::text',
    ),
    test: unimpeded('an address that a failover put in the place of a lost one is read'),
  },
  {
    name: 'a receipt that no node answers for ends the work between blocks',
    changes: one('platform/support/concurrency.ts', 'errors.push(error);', 'throw error;'),
    test: unimpeded('delays no deposit at the head'),
  },
  {
    name: 'a receipt that no node answers for ends the look-ups of a round',
    changes: one('modules/costs/cost-recorder.ts', '.catch((error: unknown) => faults.push(error))', ''),
    test: unimpeded('delays no look-up of others'),
  },
  {
    name: 'held deposits wait for a head that nodes agree on',
    changes: one('platform/support/concurrency.ts', 'errors.push(error);', 'throw error;'),
    test: unimpeded('a head on which no two nodes agree delays no release of held deposits'),
  },
  {
    name: 'a sum counts as settled although a decision came meanwhile',
    changes: one(
      'modules/deposits/small-sums-sql.ts',
      'AND entry_key IS NOT NULL ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`',
      'AND entry_key IS NOT NULL ORDER BY id`',
    ),
    test: {
      file: 'integration/deposits/deposits-sums-decided.test.ts',
      title: 'each deposit of a held sum gets the decision that came while it was being held',
    },
  },
  {
    name: 'a deposit of any size is credited without the operator',
    changes: one('modules/deposits/deposit-judge.ts', 'total > CREDITS_MAX || ', ''),
    test: {
      file: 'integration/deposits/deposits-guards.test.ts',
      title: 'of more than a hundred million dollars is held, although the balance could hold it',
    },
  },
];
