/**
 * What each process may do in the database, table by table: the whole of it, for the newest schema. `migrate` grants
 * exactly this to the roles where they exist; a test fails when a table, a column of keys or a function is missing here
 * or a migrated database grants anything else. The owner, who runs the migrations, may do everything.
 */

/** The roles by the process they are for, without `migrations`, who owns all of it. */
export const ROLES = ['api', 'worker', 'cli', 'console_merchant', 'console_operator', 'sender', 'reports'] as const;
export type Role = (typeof ROLES)[number];

/** The columns a privilege is on; `but` goes by the columns that the table has when it is granted. */
export type Columns = 'all' | { readonly only: readonly string[] } | { readonly but: readonly string[] };

export interface Access {
  readonly select?: Columns;
  readonly insert?: Columns;
  readonly update?: Columns;
  readonly delete?: 'all';
}

const READ: Access = { select: 'all' };
/** SELECT … FOR UPDATE wants UPDATE on some column; nobody can change this one, it is GENERATED ALWAYS. */
const LOCK_ONLY = { only: ['id'] } as const;

const ORDER_TERMS = [
  ...['id', 'project_id', 'key', 'request_hash', 'quote_id', 'kind', 'receive_address', 'energy', 'duration_sec'],
  ...['price_sun', 'credits', 'trx_usd_e8', 'request_id', 'created_at', 'extensions'],
] as const;
const LEG_TERMS = ['id', 'order_id', 'leg_no', 'kind', 'wallet_id', 'receive_address', 'amount_sun'] as const;
/** What an event has before it is numbered. */
const EVENT_AS_WRITTEN = [
  'order_id',
  'from_status',
  'to_status',
  'chain_at',
  'project_id',
  'type',
  'snapshot',
] as const;
/** What a delivery is of, and why; the rest is what became of it. */
const DELIVERY_TERMS = [
  ...['id', 'endpoint_id', 'cause', 'event_id', 'event_key', 'type', 'position', 'payload', 'created_at'],
] as const;
const ENDPOINT_TERMS = ['id', 'project_id', 'made_by_key', 'created_at'] as const;
const ENDPOINT_SECRETS = ['secret_sealed', 'previous_secret_sealed'] as const;
/** Whose stake is used and which key signs for it: an operator's act. */
const WALLET_IDENTITY = ['id', 'address', 'role', 'permission_id', 'key_address', 'key_sealed', 'created_at'] as const;
/** What is decided on a deposit; what was paid never changes. */
const DEPOSIT_DECISION = ['status', 'reason', 'rate_e8', 'entry_key', 'credits', 'changed_at'] as const;
/** What is only known of a deposit once its block is solid. */
const DEPOSIT_TERMS = [
  ...['project_id', 'address', 'from_address', 'asset', 'amount', 'block_number', 'block_id', 'block_at'],
] as const;
const MARKET: Access = { select: 'all', insert: 'all', update: 'all', delete: 'all' };

/** Every table of ours. Nobody but the owner may TRUNCATE, and rows that are kept for ever nobody else may DELETE. */
export const TABLE_GRANTS: Readonly<Record<string, Readonly<Partial<Record<Role, Access>>>>> = {
  api_key: {
    api: { select: 'all', update: { only: ['last_used_at'] } },
    worker: { select: { but: ['sealed', 'previous_sealed'] } },
    cli: {
      select: 'all',
      insert: 'all',
      update: { but: ['id', 'project_id', 'created_at', 'spent_on', 'spent_credits'] },
    },
    console_operator: { select: { but: ['sealed', 'previous_sealed'] } },
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
  chain_tx: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: ['id', 'txid', 'raw_data', 'created_at'] } },
    cli: { select: 'all', update: { only: ['status'] } },
    console_operator: READ,
    reports: READ,
  },
  clock_mark: {
    worker: { select: 'all', update: { only: ['seen_at'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  credit_account: {
    api: READ,
    worker: { select: 'all', update: { only: ['balance_credits', 'spent_credits'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['project_id'] } },
    console_operator: READ,
    reports: READ,
  },
  credit_entry: {
    api: READ,
    worker: { select: 'all', insert: 'all' },
    cli: { select: 'all', insert: 'all' },
    console_operator: READ,
    reports: READ,
  },
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
    console_operator: READ,
    reports: READ,
  },
  deposit_address: {
    api: READ,
    worker: READ,
    cli: { select: 'all', insert: 'all' },
    console_operator: READ,
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
  event: {
    api: READ,
    // Written by triggers, with the rights of whoever makes the change; numbered by the worker.
    worker: { select: 'all', insert: 'all', update: { only: ['position', 'payload', 'snapshot'] } },
    cli: { select: 'all', insert: { only: EVENT_AS_WRITTEN } },
    console_operator: READ,
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
    worker: { select: 'all', insert: 'all', update: { only: ['transfers'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
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
    cli: { select: 'all', update: { only: ['sealed', 'sealed_at'] } },
    sender: READ,
  },
  leg: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: LEG_TERMS } },
    cli: {
      select: 'all',
      update: { only: ['status', 'changed_at', 'closed_at', 'closed_by_txid', 'closed_reason'] },
    },
    console_operator: READ,
    reports: READ,
  },
  market_state: { api: MARKET, worker: MARKET, cli: MARKET, console_operator: READ, reports: READ },
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
  orders: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: ORDER_TERMS } },
    cli: {
      select: 'all',
      update: { only: ['fence', 'lease_until', 'next_run_at', 'needs_attention', 'reclaimed_at'] },
    },
    console_operator: READ,
    reports: READ,
  },
  orphan_tx: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { only: ['order_id', 'gone_at', 'leg_ids'] } },
    cli: { select: 'all', update: { only: ['leg_ids'] } },
    console_operator: READ,
    reports: READ,
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
    console_operator: READ,
    reports: READ,
  },
  project: {
    api: READ,
    worker: { select: { but: ['api_key_sealed'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['id', 'created_at'] } },
    console_operator: { select: { but: ['api_key_sealed'] } },
    reports: { select: { but: ['api_key_sealed'] } },
  },
  reconcile_state: {
    worker: { select: 'all', update: { but: ['id'] } },
    cli: READ,
    console_operator: READ,
    reports: READ,
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
    // Kept while Redis is away, and pruned by what has expired.
    api: { select: 'all', insert: 'all', delete: 'all' },
    cli: READ,
    console_operator: READ,
    reports: READ,
  },
  sales_stop: {
    api: READ,
    worker: { select: 'all', insert: 'all', update: { but: ['id'] } },
    cli: { select: 'all', insert: 'all', update: { but: ['id'] }, delete: 'all' },
    console_operator: READ,
    reports: READ,
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
  webhook_delivery: {
    // Of an event they are written by the trigger that numbers it.
    api: { select: 'all', insert: 'all', update: { only: ['next_at', 'is_fresh'] } },
    worker: READ,
    cli: { select: 'all', insert: 'all', update: { only: ['next_at', 'is_fresh'] } },
    console_operator: READ,
    sender: { select: 'all', update: { but: DELIVERY_TERMS }, delete: 'all' },
    reports: READ,
  },
  webhook_destination: {
    sender: { select: 'all', insert: 'all', update: { only: ['free_at'] }, delete: 'all' },
  },
  webhook_endpoint: {
    api: { select: 'all', insert: 'all', update: { but: ENDPOINT_TERMS } },
    worker: { select: { but: ENDPOINT_SECRETS } },
    cli: { select: 'all', insert: 'all', update: { but: ENDPOINT_TERMS } },
    console_operator: { select: { but: ENDPOINT_SECRETS } },
    // Opens its secrets, and says that it fails.
    sender: { select: 'all', update: { only: ['failing_told_at', 'disabled_at', 'disabled_reason'] } },
    reports: { select: { but: ENDPOINT_SECRETS } },
  },
  webhook_state: {
    api: { select: 'all', insert: 'all', update: { only: ['due_at', 'failures', 'failing_since'] } },
    worker: READ,
    cli: { select: 'all', insert: 'all', update: { only: ['due_at', 'failures', 'failing_since'] } },
    console_operator: READ,
    sender: { select: 'all', update: { but: ['endpoint_id'] } },
    reports: READ,
  },
};

/**
 * Who may call each function. PUBLIC may call none: what one may do through them is written here. A trigger's function
 * is called by nobody; it runs for whoever changes the row.
 */
export const FUNCTION_GRANTS: Readonly<Record<string, readonly Role[]>> = {
  // Takes orders, legs, slots, ledger entries and balances with the owner's rights: the API has none on them.
  accept_order: ['api'],
  // In front of it, with the rights of whoever calls.
  take_order: ['api'],
  order_refusal: ['api'],
  // As accept_order, for the time that a rental is extended by.
  extend_order: ['api'],
  order_refusals: ['api'],
  // Of the version before.
  refuse_or_accept_order: ['api'],
  reserve_capacity: ['worker'],
  split_capacity: ['worker'],
  take_from_slots: ['worker'],
  server_mark: ['worker', 'cli'],
  announce_project: [],
  balance_low: [],
  charge_api_key: [],
  chain_tx_final: [],
  chain_tx_guard: [],
  credit_entry_guard: [],
  deposit_changed: [],
  deposit_guard: [],
  keep_moves: [],
  keep_order_key: [],
  leg_final: [],
  leg_guard: [],
  order_changed: [],
  order_compensated: [],
  orders_guard: [],
  orders_judged: [],
  pool_wallet_status: [],
  project_primary_key: [],
  project_frozen: [],
  refuse_change: [],
  sales_stop_reaches_wallets: [],
  stamp_audit_entry: [],
  statement_closed: [],
  statement_guard: [],
  webhook_changed: [],
  webhook_fan_out: [],
  webhook_project_frozen: [],
};
