// Planted bugs in acts of operators: decisions on held deposits, and the audit log.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const HELD = 'modules/deposits/held-deposits.ts';
const DECISIONS = 'modules/console/deposit-decisions.ts';
const AUDIT = 'modules/console/audit-list.ts';
const deposits = (title: string): NamedTest => ({ file: 'integration/console/console-deposits.test.ts', title });
const audit = (title: string): NamedTest => ({ file: 'integration/console/console-audit.test.ts', title });

export const PLANTED_ACTS: readonly PlantedBug[] = [
  {
    name: 'one admin alone decides on a held deposit of any worth',
    changes: one(DECISIONS, 'if (worth <= this.config.approvalCredits) {', 'if (worth >= 0n) {'),
    test: deposits('also takes two admins to refuse a deposit'),
  },
  {
    name: 'a held deposit is decided on at another worth than the admin saw',
    changes: one(HELD, 'if (expected !== undefined && credits !== expected) {', 'if (expected === undefined) {'),
    test: deposits('needs an admin with a fresh sign-in, a reason, a decision and the worth that the admin saw'),
  },
  {
    name: 'a held deposit is decided on again',
    changes: one(HELD, "if (row.status !== 'held') throw", "if (row.status === 'pending') throw"),
    test: deposits('is not carried out when the command decided on the deposit meanwhile'),
  },
  {
    name: 'a refusal that was approved credits the deposit',
    changes: one('modules/billing/credit-requests.ts', "isCredited: kind === 'deposit'", 'isCredited: true'),
    test: deposits('also takes two admins to refuse a deposit'),
  },
  {
    name: 'the audit log ends after one stretch of entries',
    changes: one(AUDIT, 'older?.is_any === true ? first : undefined', 'undefined'),
    test: audit('is read page by page over more entries than one stretch'),
  },
];
