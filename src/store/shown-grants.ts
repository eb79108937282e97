/** What each process may do with what is only ever shown to people, and with what they chose to be notified of. */
import type { Access } from './grant-columns.js';
import { CONSOLE_NOTIFICATIONS } from './people-grants.js';

const READ: Access = { select: 'all' };

export const SHOWN_TABLES = {
  // Read from the chain in turn, for operators; a credit asks the chain itself.
  blacklisted_address: {
    worker: { select: 'all', insert: 'all', delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  notification: {
    cli: READ,
    console_merchant: CONSOLE_NOTIFICATIONS,
    console_operator: CONSOLE_NOTIFICATIONS,
    reports: READ,
  },
  // Counted by who answers; nothing is decided by it.
  order_replay: {
    api: { select: 'all', insert: 'all', update: { only: ['replays', 'last_at'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  // Read beside the work, for who looks at an order.
  receiver_energy: {
    worker: { select: 'all', insert: 'all', update: { but: ['order_id'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  token_state: {
    worker: { select: 'all', insert: 'all', update: { but: ['contract'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
} satisfies Readonly<Record<string, Readonly<Record<string, Access>>>>;
