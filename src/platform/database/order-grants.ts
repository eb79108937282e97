// Rights on orders, legs and chain transactions: on the partitioned tables, and on the partitions of open and archived
// rows.
import { LEG_TERMS, ORDER_TERMS, type Access } from './grant-columns.js';

type ByRole = Readonly<Record<string, Access>>;

const READ: Access = { select: 'all' };

const ORDERS: ByRole = {
  api: READ,
  worker: { select: 'all', insert: 'all', update: { but: ORDER_TERMS } },
  cli: {
    select: 'all',
    update: { only: ['fence', 'lease_until', 'next_run_at', 'needs_attention', 'reclaimed_at'] },
  },
  console_operator: READ,
  reports: READ,
};
const LEGS: ByRole = {
  api: READ,
  worker: { select: 'all', insert: 'all', update: { but: LEG_TERMS } },
  cli: {
    select: 'all',
    update: { only: ['status', 'changed_at', 'closed_at', 'closed_by_txid', 'closed_reason'] },
  },
  console_operator: READ,
  reports: READ,
};
const TRANSACTIONS: ByRole = {
  api: READ,
  worker: { select: 'all', insert: 'all', update: { but: ['id', 'txid', 'raw_data', 'created_at'] } },
  cli: { select: 'all', update: { only: ['status'] } },
  console_operator: READ,
  reports: READ,
};
/** The archive. Only a database function moves rows there, and no role changes them. */
const ARCHIVED: ByRole = { api: READ, worker: READ, cli: READ, console_operator: READ, reports: READ };

/** The energy figures of a receiver when a reclaim was built. The only later change records the compensation. */
const RECLAIM_USAGE: ByRole = {
  worker: { select: 'all', insert: 'all', update: { only: ['weighed_at', 'left_energy'] } },
  cli: READ,
  console_operator: READ,
  reports: READ,
};

export const ORDER_TABLES = {
  orders: ORDERS,
  open_orders: ORDERS,
  archived_orders: ARCHIVED,
  leg: LEGS,
  open_leg: LEGS,
  archived_leg: ARCHIVED,
  chain_tx: TRANSACTIONS,
  open_chain_tx: TRANSACTIONS,
  archived_chain_tx: ARCHIVED,
  reclaim_usage: RECLAIM_USAGE,
};
