/**
 * The complete rights of each process's role, table by table, for the newest schema. `migrate` grants exactly these if
 * the roles exist. A test fails if a table, a column of keys or a function is missing here, or if a migrated database
 * grants anything else. The owner runs the migrations and has all rights.
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
  SLOT_CAPACITY,
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

/** One role per process. `migrations`, the owner, is not among them. */
export const ROLES = ['api', 'worker', 'cli', 'console_merchant', 'console_operator', 'sender', 'reports'] as const;
export type Role = (typeof ROLES)[number];

const READ: Access = { select: 'all' };
/** SELECT … FOR UPDATE requires UPDATE on some column. This one is GENERATED ALWAYS, so no role can change it. */
const LOCK_ONLY = { only: ['id'] } as const;

const MARKET: Access = { select: 'all', insert: 'all', update: 'all', delete: 'all' };

/** All our tables. Only the owner may TRUNCATE, and no other role may DELETE rows that are kept forever. */
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
    // The worker reads the former signing keys: an act on chain is judged by its signer.
    worker: READ,
    cli: { select: 'all', insert: 'all' },
    // Records acts of console users. Owners of a project read operators' looks at it through `console_looks`.
    console_merchant: { select: { only: ['id'] }, insert: 'all' },
    console_operator: { select: 'all', insert: 'all' },
    reports: READ,
  },
  auto_delegation: {
    api: {
      select: 'all',
      insert: { only: [...AUTO_DELEGATION_IDENTITY, ...AUTO_DELEGATION_TERMS, 'due_at', 'transfer_energy'] },
      update: { only: [...AUTO_DELEGATION_TERMS, ...AUTO_DELEGATION_TURNS] },
      delete: 'all',
    },
    // The project's processes write the terms; the functions that charge write purchases and spending.
    worker: { select: 'all', update: { but: [...AUTO_DELEGATION_TERMS, ...AUTO_DELEGATION_PURCHASES] } },
    cli: {
      select: 'all',
      insert: { only: [...AUTO_DELEGATION_IDENTITY, ...AUTO_DELEGATION_TERMS, 'due_at', 'transfer_energy'] },
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
    worker: { select: 'all', update: { only: ['seen_at', 'followed_at', 'jumped_at', 'counted_jump'] } },
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
  // The worker verifies it with the other records.
  credit_request: { worker: READ, cli: READ, reports: READ },
  deposit: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { only: [...DEPOSIT_DECISION, ...DEPOSIT_TERMS] } },
    // A rescan records missed deposits.
    cli: { select: 'all', insert: 'all', update: { only: [...DEPOSIT_DECISION, ...DEPOSIT_TERMS] } },
    reports: READ,
  },
  deposit_account: {
    api: READ,
    worker: READ,
    // Assigning an address locks the row of its account.
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
    // A rescan excludes the worker by locking the row. The first deposit account sets it to its first block.
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
    // Links ledger entries to returned deposits.
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
    // Triggers write events with the rights of the session that makes the change; the worker numbers them.
    worker: { select: 'all', insert: 'all', update: { only: ['position', 'payload', 'snapshot'] } },
    cli: { select: 'all', insert: { only: EVENT_AS_WRITTEN } },
    // The sender reads only events that have a position.
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
  // Migrations write the canaries; each process opens those of its keys.
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
  // TypeORM's table: every process compares it with its own version.
  migrations: {
    api: READ,
    worker: READ,
    cli: READ,
    console_merchant: READ,
    console_operator: READ,
    sender: READ,
    reports: READ,
  },
  // Only database functions write these two.
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
    // The CLI resets a second factor, and reseals the others under a new key.
    cli: { select: { but: ['password_hash'] }, update: { only: SECOND_FACTOR } },
    console_merchant: CONSOLE_PERSONS,
    console_operator: CONSOLE_PERSONS,
    reports: { select: { but: PERSON_SECRETS } },
  },
  pool_slot: {
    api: READ,
    worker: { select: 'all', update: { only: SLOT_CAPACITY } },
    cli: { select: 'all', insert: 'all', update: { only: SLOT_CAPACITY } },
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
    // Each reading of a wallet adds to its current day. Rows that are years old are deleted, a month at a time.
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
    // Crediting a deposit locks the row; no process writes this column.
    worker: { select: { but: ['api_key_sealed'] }, update: { only: ['created_at'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['id', 'test', 'created_at'] } },
    reports: { select: { but: ['api_key_sealed'] } },
  },
  reconcile_state: {
    worker: { select: 'all', update: { but: ['id'] } },
    // Lifting a sale stop raises the fence, which ends a pass that is still judging earlier records.
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
    // The API keeps only a project's newest rows; the worker deletes old ones.
    api: { select: 'all', insert: 'all', delete: 'all' },
    worker: { select: 'all', delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  request_nonce: {
    // Used while Redis is unreachable. The API deletes a few as it writes, the worker all expired ones.
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
    // A block is deleted here once a node answers for it.
    worker: { select: 'all', insert: 'all', update: { only: ['tries'] }, delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  webhook_act: { api: WEBHOOK_ACTS, cli: WEBHOOK_ACTS, reports: READ },
  webhook_delivery: {
    // The trigger that numbers an event writes its deliveries.
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
    // The sender opens the secrets, and marks an endpoint as failing.
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

/** All rights, including those of the consoles on projects' data. */
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
