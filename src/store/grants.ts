/**
 * What each process may do in the database, table by table: the whole of it, for the newest schema. `migrate` grants
 * exactly this to the roles where they exist; a test fails when a table, a column of keys or a function is missing here
 * or a migrated database grants anything else. The owner, who runs the migrations, may do everything.
 */
import {
  AUTO_DELEGATION_IDENTITY,
  AUTO_DELEGATION_PURCHASES,
  AUTO_DELEGATION_TERMS,
  AUTO_DELEGATION_TURNS,
  DELIVERY_TERMS,
  DEPOSIT_DECISION,
  DEPOSIT_TERMS,
  ENDPOINT_SECRETS,
  ENDPOINT_TERMS,
  EVENT_AS_WRITTEN,
  PERSON_SECRETS,
  SECOND_FACTOR,
  SESSION_SECRETS,
  STATE_AS_NEW,
  WEBHOOK_ACTS,
  WALLET_IDENTITY,
  type Access,
} from './grant-columns.js';
import {
  CONSOLE_PERSONS,
  CONSOLE_MEMBERSHIPS,
  CONSOLE_INVITATIONS,
  CONSOLE_MAIL_REFUSALS,
  CONSOLE_SESSIONS,
} from './people-grants.js';
import { SHOWN_TABLES } from './shown-grants.js';
import { MERCHANT_TABLES } from './merchant-grants.js';
import { DEPOSIT_TABLES } from './deposit-grants.js';
import { ORDER_TABLES } from './order-grants.js';
import { OPERATOR_TABLES } from './operator-grants.js';

/** The roles by the process they are for, without `migrations`, who owns all of it. */
export const ROLES = ['api', 'worker', 'cli', 'console_merchant', 'console_operator', 'sender', 'reports'] as const;
export type Role = (typeof ROLES)[number];

const READ: Access = { select: 'all' };
/** SELECT … FOR UPDATE wants UPDATE on some column; nobody can change this one, it is GENERATED ALWAYS. */
const LOCK_ONLY = { only: ['id'] } as const;

const MARKET: Access = { select: 'all', insert: 'all', update: 'all', delete: 'all' };

/** Every table of ours. Nobody but the owner may TRUNCATE, and rows that are kept for ever nobody else may DELETE. */
const BY_TABLE: Readonly<Record<string, Readonly<Partial<Record<Role, Access>>>>> = {
  ...SHOWN_TABLES,
  ...ORDER_TABLES,
  ...DEPOSIT_TABLES,
  api_key: {
    api: { select: 'all', update: { only: ['last_used_at', 'recent_sources'] } },
    worker: { select: { but: ['sealed', 'previous_sealed'] } },
    cli: {
      select: 'all',
      insert: 'all',
      update: { but: ['id', 'project_id', 'created_at', 'spent_on', 'spent_credits'] },
    },
    reports: { select: { but: ['sealed', 'previous_sealed'] } },
  },
  asset_rate: {
    worker: { select: 'all', insert: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  audit_log: {
    // Which keys were ours before: an act on chain is judged by who signed it.
    worker: READ,
    cli: { select: 'all', insert: 'all' },
    // What people do there; its project's owners read of it what `console_looks` shows them.
    console_merchant: { select: { only: ['id'] }, insert: 'all' },
    console_operator: { select: 'all', insert: 'all' },
    reports: READ,
  },
  auto_delegation: {
    api: {
      select: 'all',
      insert: { only: [...AUTO_DELEGATION_IDENTITY, ...AUTO_DELEGATION_TERMS, 'due_at'] },
      update: { only: [...AUTO_DELEGATION_TERMS, ...AUTO_DELEGATION_TURNS] },
      delete: 'all',
    },
    // What was asked for is its project's; what was bought and spent is written by the functions that charge.
    worker: { select: 'all', update: { but: [...AUTO_DELEGATION_TERMS, ...AUTO_DELEGATION_PURCHASES] } },
    cli: {
      select: 'all',
      insert: { only: [...AUTO_DELEGATION_IDENTITY, ...AUTO_DELEGATION_TERMS, 'due_at'] },
      update: { only: [...AUTO_DELEGATION_TERMS, ...AUTO_DELEGATION_TURNS] },
      delete: 'all',
    },
    console_operator: READ,
    reports: READ,
  },
  broadcast: {
    // Pruning takes the oldest rows under locks.
    worker: { select: 'all', insert: 'all', update: LOCK_ONLY, delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  clock_mark: {
    worker: { select: 'all', update: { only: ['seen_at', 'followed_at', 'jumped_at'] } },
    api: READ,
    sender: READ,
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  console_session: {
    cli: { select: { but: SESSION_SECRETS }, delete: 'all' },
    console_merchant: CONSOLE_SESSIONS,
    console_operator: CONSOLE_SESSIONS,
    reports: { select: { but: SESSION_SECRETS } },
  },
  credit_account: {
    api: READ,
    worker: { select: 'all', update: { only: ['balance_credits', 'spent_credits'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['project_id'] } },
    reports: READ,
  },
  credit_entry: {
    api: READ,
    worker: { select: 'all', insert: 'all' },
    cli: { select: 'all', insert: 'all' },
    reports: READ,
  },
  // Judged with everything else that a worker can verify.
  credit_request: { worker: READ, cli: READ, reports: READ },
  deposit: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { only: [...DEPOSIT_DECISION, ...DEPOSIT_TERMS] } },
    // A rescan takes in what was missed.
    cli: { select: 'all', insert: 'all', update: { only: [...DEPOSIT_DECISION, ...DEPOSIT_TERMS] } },
    console_operator: READ,
    reports: READ,
  },
  deposit_account: {
    api: READ,
    worker: READ,
    // Who assigns from an account locks its row.
    cli: { select: 'all', insert: 'all', update: { only: ['created_at'] } },
    reports: READ,
  },
  deposit_address: {
    api: READ,
    worker: READ,
    cli: { select: 'all', insert: 'all' },
    reports: READ,
  },
  deposit_cursor: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: ['id'] } },
    // A rescan takes its turn beside the worker by locking the row; the first account of deposits sets it to the block it begins at.
    cli: {
      select: 'all',
      insert: 'all',
      update: { only: ['block_number', 'block_id', 'block_at', 'fence', 'lease_until'] },
    },
    console_operator: READ,
    reports: READ,
  },
  deposit_movement: {
    worker: { select: 'all', insert: 'all' },
    cli: { select: 'all', insert: 'all' },
    console_operator: READ,
    reports: READ,
  },
  deposit_return: {
    // Which entries of the ledger are of deposits that were given back.
    api: { select: { only: ['deposit_id', 'entry_key'] } },
    worker: READ,
    cli: { select: 'all', insert: 'all', update: { only: ['txid', 'expires_at'] } },
    console_operator: READ,
    reports: READ,
  },
  deposit_sweep_address: {
    worker: READ,
    cli: { select: 'all', insert: 'all' },
    console_operator: READ,
    reports: READ,
  },
  deposit_token: {
    api: READ,
    worker: { select: 'all', insert: 'all' },
    cli: { select: 'all', insert: 'all', update: { only: ['from_block'] } },
    console_operator: READ,
    reports: READ,
  },
  event: {
    api: READ,
    // Written by triggers, with the rights of whoever makes the change; numbered by the worker.
    worker: { select: 'all', insert: 'all', update: { only: ['position', 'payload', 'snapshot'] } },
    cli: { select: 'all', insert: { only: EVENT_AS_WRITTEN } },
    // What it sends, and nothing of what has no position yet.
    sender: { select: { only: ['id', 'project_id', 'type', 'position', 'payload'] } },
    reports: READ,
  },
  event_numbering: {
    worker: { select: 'all', update: { but: ['id'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  event_position: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: ['project_id'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  explained_finding: {
    worker: READ,
    cli: { select: 'all', insert: 'all', update: { but: ['fingerprint'] }, delete: 'all' },
    console_operator: READ,
    reports: READ,
  },
  ignored_transfer: {
    worker: { select: 'all', insert: 'all', update: { only: ['transfers', 'amount', 'last_txid', 'last_block'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  invitation: {
    cli: { select: 'all', insert: 'all', update: { only: ['revoked_at'] } },
    console_merchant: CONSOLE_INVITATIONS,
    console_operator: CONSOLE_INVITATIONS,
    reports: { select: { but: ['token_hash'] } },
  },
  judged_credits: {
    worker: { select: 'all', insert: 'all', update: { only: ['credits'] }, delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  judged_entries: {
    worker: { select: 'all', insert: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  // Written by the migrations; each process opens those of the keys it holds.
  key_canary: {
    api: READ,
    worker: READ,
    cli: { select: 'all', update: { only: ['sealed', 'sealed_at', 'public_key'] } },
    console_merchant: READ,
    console_operator: READ,
    sender: READ,
  },
  market_state: { api: MARKET, worker: MARKET, cli: MARKET, console_operator: READ, reports: READ },
  membership: {
    cli: READ,
    console_merchant: CONSOLE_MEMBERSHIPS,
    console_operator: CONSOLE_MEMBERSHIPS,
    reports: READ,
  },
  // TypeORM's own: every process checks whether the schema is its version's.
  migrations: {
    api: READ,
    worker: READ,
    cli: READ,
    console_merchant: READ,
    console_operator: READ,
    sender: READ,
    reports: READ,
  },
  // Only for processes of the version before, which read moves here.
  order_event: {
    worker: { select: 'all', update: LOCK_ONLY, delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  // Both written by the database's own functions alone.
  order_extension: { api: READ, worker: READ, cli: READ, console_operator: READ, reports: READ },
  order_key: { api: READ, worker: READ, cli: READ, console_operator: READ, reports: READ },
  orphan_tx: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { only: ['order_id', 'gone_at', 'leg_ids'] } },
    cli: { select: 'all', update: { only: ['leg_ids'] } },
    console_operator: READ,
    reports: READ,
  },
  person: {
    // Resets a second factor, and seals those of others under a new key.
    cli: { select: { but: ['password_hash'] }, update: { only: SECOND_FACTOR } },
    console_merchant: CONSOLE_PERSONS,
    console_operator: CONSOLE_PERSONS,
    reports: { select: { but: PERSON_SECRETS } },
  },
  pool_slot: {
    api: READ,
    worker: { select: 'all', update: { only: ['free_sun', 'free_transactions'] } },
    cli: { select: 'all', insert: 'all', update: { only: ['free_sun', 'free_transactions'] } },
    console_operator: READ,
    reports: READ,
  },
  pool_wallet: {
    api: { select: { but: ['key_sealed'] } },
    worker: { select: 'all', update: { but: WALLET_IDENTITY } },
    cli: { select: 'all', insert: 'all', update: { but: ['id', 'address', 'role', 'created_at'] } },
    console_operator: { select: { but: ['key_sealed'] } },
    reports: { select: { but: ['key_sealed'] } },
  },
  pool_wallet_day: {
    // Who reads a wallet adds to its day; a month of days that are years old is deleted at a time.
    worker: { select: 'all', insert: 'all', update: { but: ['wallet_id', 'day'] }, delete: 'all' },
    cli: { select: 'all', insert: 'all', update: { but: ['wallet_id', 'day'] } },
    console_operator: READ,
    reports: READ,
  },
  price_row: {
    api: READ,
    worker: READ,
    cli: { select: 'all', insert: 'all', update: 'all', delete: 'all' },
    reports: READ,
  },
  project: {
    api: READ,
    // Who credits a deposit locks the row; nothing ever writes this column.
    worker: { select: { but: ['api_key_sealed'] }, update: { only: ['created_at'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['id', 'test', 'created_at'] } },
    reports: { select: { but: ['api_key_sealed'] } },
  },
  reconcile_state: {
    worker: { select: 'all', update: { but: ['id'] } },
    // Who lifts a stop ends the turn of whoever is judging the records of before.
    cli: { select: 'all', update: { only: ['fence'] } },
    console_operator: READ,
    reports: READ,
  },
  recovery_code: {
    cli: { select: { only: ['person_id'] }, delete: 'all' },
    console_merchant: { select: 'all', insert: 'all', delete: 'all' },
    console_operator: { select: 'all', insert: 'all', delete: 'all' },
    reports: { select: { only: ['person_id'] } },
  },
  refused_request: {
    // The API cuts a project's to the newest; what is old the worker deletes.
    api: { select: 'all', insert: 'all', delete: 'all' },
    worker: { select: 'all', delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  request_nonce: {
    // Kept while Redis is away; the API deletes a few as it writes, the worker all that have expired.
    api: { select: 'all', insert: 'all', delete: 'all' },
    worker: { select: 'all', delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  mail_refusal: {
    console_merchant: CONSOLE_MAIL_REFUSALS,
    console_operator: CONSOLE_MAIL_REFUSALS,
  },
  sales_stop: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: ['id'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['id'] }, delete: 'all' },
    console_operator: READ,
    reports: READ,
  },
  sign_in_guess: {
    console_merchant: { select: 'all', insert: 'all', update: { but: ['key'] }, delete: 'all' },
    console_operator: { select: 'all', insert: 'all', update: { but: ['key'] }, delete: 'all' },
  },
  statement: {
    api: READ,
    worker: { select: 'all', insert: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  statement_month: {
    worker: { select: 'all', insert: 'all', update: { only: ['projects_after', 'skipped', 'closed_at'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  unsearched_block: {
    // A block that a node answers at last is no longer unsearched.
    worker: { select: 'all', insert: 'all', update: { only: ['tries'] }, delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  webhook_act: { api: WEBHOOK_ACTS, cli: WEBHOOK_ACTS, reports: READ },
  webhook_delivery: {
    // Of an event they are written by the trigger that numbers it.
    api: { select: 'all', insert: 'all', update: { only: ['next_at', 'is_fresh', 'is_requested'] } },
    worker: READ,
    cli: { select: 'all', insert: 'all', update: { only: ['next_at', 'is_fresh', 'is_requested'] } },
    sender: { select: 'all', update: { but: DELIVERY_TERMS }, delete: 'all' },
    reports: READ,
  },
  webhook_destination: { sender: { select: 'all', insert: 'all', update: { only: ['free_at'] }, delete: 'all' } },
  webhook_endpoint: {
    api: { select: 'all', insert: 'all', update: { but: ENDPOINT_TERMS } },
    worker: { select: { but: ENDPOINT_SECRETS } },
    cli: { select: 'all', insert: 'all', update: { but: ENDPOINT_TERMS } },
    // Opens its secrets, and says that it fails.
    sender: {
      select: 'all',
      update: { only: ['failing_told_at', 'change_reported_at', 'disabled_at', 'disabled_reason'] },
    },
    reports: { select: { but: ENDPOINT_SECRETS } },
  },
  webhook_state: {
    api: { select: 'all', insert: 'all', update: { only: STATE_AS_NEW } },
    worker: READ,
    cli: { select: 'all', insert: 'all', update: { only: STATE_AS_NEW } },
    sender: { select: 'all', update: { but: ['endpoint_id'] } },
    reports: READ,
  },
};

/** With what the consoles may do with the data of projects. */
export const TABLE_GRANTS: typeof BY_TABLE = Object.fromEntries(
  Object.entries(BY_TABLE).map(([table, grants]) => {
    const merchant = MERCHANT_TABLES[table]?.access;
    const operator = OPERATOR_TABLES[table];
    const ofConsoles = {
      ...(merchant && { console_merchant: merchant }),
      ...(operator && { console_operator: operator }),
    };
    return [table, { ...grants, ...ofConsoles }];
  }),
);
