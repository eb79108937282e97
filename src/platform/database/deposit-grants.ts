// Database rights on the sums of small deposits, and on payments that wait for a lock to end.
import type { Access } from './grant-columns.js';

type ByRole = Readonly<Record<string, Access>>;

const READ: Access = { select: 'all' };

export const DEPOSIT_TABLES: Readonly<Record<string, ByRole>> = {
  deposit_sum: {
    worker: { select: 'all', insert: 'all', update: { but: ['id'] } },
    // A decision of the operator, and a rescan.
    cli: { select: 'all', insert: 'all', update: { but: ['id'] } },
    reports: READ,
  },
  parked_payment: {
    worker: { select: 'all', insert: 'all', delete: 'all' },
    // A rescan also parks payments of locked rows.
    cli: { select: 'all', insert: 'all' },
    console_operator: READ,
    reports: READ,
  },
};
