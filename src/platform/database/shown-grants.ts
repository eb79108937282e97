/** Rights on data that is only displayed to people, and on their notification settings. */
import type { Access } from './grant-columns.js';
import { CONSOLE_NOTIFICATIONS } from './people-grants.js';

const READ: Access = { select: 'all' };

export const SHOWN_TABLES = {
  // Read from the chain periodically, for operators. A credit does not use it: it asks the chain.
  blacklisted_address: {
    worker: { select: 'all', insert: 'all', delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  // Asked in a console, answered by a worker, which deletes old rows.
  explanation_request: {
    worker: { select: 'all', update: { only: ['taken_at', 'answered_at', 'answer', 'error'] }, delete: 'all' },
    cli: READ,
    console_operator: { select: 'all', insert: { only: ['id', 'project_id', 'txid'] } },
    reports: READ,
  },
  notification: {
    cli: READ,
    console_merchant: CONSOLE_NOTIFICATIONS,
    console_operator: CONSOLE_NOTIFICATIONS,
    reports: READ,
  },
  // Counted by the API; no decision depends on it.
  order_replay: {
    api: { select: 'all', insert: 'all', update: { only: ['replays', 'last_at'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  // Read beside fulfilment and shown with an order.
  receiver_energy: {
    worker: { select: 'all', insert: 'all', update: { but: ['order_id'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  // Added up by the worker that reads solid blocks.
  rental_use: {
    api: READ,
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
