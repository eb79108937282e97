/**
 * Rights of a merchants' console on projects' data, and the rows that it sees. It sees only the rows of the project
 * that its transaction names (project-scope.ts), and none without a name. It cannot read a table that is missing here.
 */
import {
  AUTO_DELEGATION_IDENTITY,
  AUTO_DELEGATION_TERMS,
  AUTO_DELEGATION_TURNS,
  ENDPOINT_TERMS,
  EVENT_AS_WRITTEN,
  STATE_AS_NEW,
  WEBHOOK_ACTS,
} from './grant-columns.js';
import type { Access } from './grant-columns.js';

/** The setting of a transaction that names its project. */
export const PROJECT_SETTING = 'energy.project';

/**
 * The condition that a row belongs to the project, by the column with the project's id. An empty setting counts as
 * none.
 */
const of = (column: string): string =>
  `(${column} = (NULLIF(current_setting('energy.project'::text, true), ''::text))::uuid)`;
const PROJECT_ROWS = of('project_id');
/** The condition that a row belongs to a visible row of another table, according to that table's policy. */
const through = (table: string, column: string): string => `(EXISTS ( SELECT
   FROM ${table} x
  WHERE (x.id = ${column})))`;

interface MerchantTable {
  readonly access: Access;
  /** The visible rows, in the notation of `pg_get_expr`. */
  readonly rows: string;
}

/** The columns of an order that its project may see; the rest is internal. */
const ORDER_SHOWN = [
  ...[
    'id',
    'project_id',
    'key',
    'quote_id',
    'kind',
    'receive_address',
    'energy',
    'duration_sec',
    'price_sun',
    'credits',
  ],
  ...['trx_usd_e8', 'request_id', 'created_at', 'status', 'delivered_energy', 'settled', 'needs_attention'],
  ...[
    'test',
    'reference',
    'metadata',
    'error_code',
    'error',
    'delivered_at',
    'ends_at',
    'reclaimed_at',
    'extensions',
    'placed_at',
    'expected_uses',
    'energy_fee_sun',
    'max_fee_limit_sun',
  ],
  ...['bandwidth', 'bandwidth_price_sun', 'bandwidth_credits', 'activation_price_sun', 'activation_credits'],
  ...['delivered_bandwidth', 'kept_credits'],
];
const LEG_SHOWN = [
  ...['id', 'order_id', 'leg_no', 'kind', 'receive_address', 'amount_sun', 'energy', 'status', 'active_at'],
  ...['closed_at', 'closed_by_txid', 'bandwidth'],
];
/** The columns of a chain transaction that are public on chain. Costs, attempts and evidence are internal. */
const TRANSACTION_SHOWN = [
  ...['id', 'leg_id', 'order_id', 'purpose', 'status', 'txid', 'block_number', 'block_id', 'block_at', 'sent_at'],
  ...['created_at', 'expires_at'],
];
const ENTRY_SHOWN = ['id', 'project_id', 'order_id', 'kind', 'entry_key', 'credits', 'created_at', 'api_key_id'];
const KEY_SECRETS = ['sealed', 'previous_sealed'];
const ENDPOINT_SECRETS_UNREAD = ['secret_sealed', 'previous_secret_sealed'];

/** For tables that belong to no project. */
const EVERY_ROW = 'true';

export const MERCHANT_TABLES: Readonly<Record<string, MerchantTable>> = {
  api_key: {
    access: {
      select: { but: KEY_SECRETS },
      insert: 'all',
      // The console seals secrets that it can neither read nor open. A trigger keeps the previous one.
      update: {
        only: [
          ...['name', 'scopes', 'allowed_sources', 'daily_cap_credits', 'revoked_at'],
          ...['sealed', 'previous_sealed', 'previous_until'],
        ],
      },
    },
    rows: PROJECT_ROWS,
  },
  auto_delegation: {
    access: {
      select: 'all',
      insert: { only: [...AUTO_DELEGATION_IDENTITY, ...AUTO_DELEGATION_TERMS, 'due_at', 'transfer_energy'] },
      update: { only: [...AUTO_DELEGATION_TERMS, ...AUTO_DELEGATION_TURNS] },
      delete: 'all',
    },
    rows: PROJECT_ROWS,
  },
  chain_tx: { access: { select: { only: TRANSACTION_SHOWN } }, rows: through('orders', 'chain_tx.order_id') },
  credit_account: {
    access: { select: 'all', update: { only: ['daily_cap_credits', 'low_balance_credits'] } },
    rows: PROJECT_ROWS,
  },
  credit_entry: { access: { select: { only: ENTRY_SHOWN } }, rows: PROJECT_ROWS },
  // Shows if the database's clock is confirmed.
  clock_mark: { access: { select: 'all' }, rows: EVERY_ROW },
  deposit: { access: { select: 'all' }, rows: PROJECT_ROWS },
  deposit_address: { access: { select: 'all' }, rows: PROJECT_ROWS },
  // Shows how far deposits have been read.
  deposit_cursor: {
    access: { select: { only: ['block_number', 'block_at', 'internal_at', 'read_at'] } },
    rows: EVERY_ROW,
  },
  deposit_token: { access: { select: 'all' }, rows: EVERY_ROW },
  deposit_return: {
    access: { select: { only: ['deposit_id', 'entry_key'] } },
    rows: through('deposit', 'deposit_return.deposit_id'),
  },
  event: {
    access: { select: { but: ['snapshot'] }, insert: { only: EVENT_AS_WRITTEN } },
    rows: PROJECT_ROWS,
  },
  event_position: { access: { select: 'all' }, rows: PROJECT_ROWS },
  explanation_request: {
    access: { select: 'all', insert: { only: ['id', 'project_id', 'txid'] } },
    rows: PROJECT_ROWS,
  },
  leg: { access: { select: { only: LEG_SHOWN } }, rows: through('orders', 'leg.order_id') },
  // The chain's fees and the rate, for the costs of burning and renting.
  market_state: {
    access: { select: { only: ['name', 'value', 'measured_at'] } },
    rows: `(name = ANY (ARRAY['chain'::text, 'trx-usd'::text]))`,
  },
  order_extension: { access: { select: { but: ['request_hash'] } }, rows: PROJECT_ROWS },
  order_replay: { access: { select: 'all' }, rows: through('orders', 'order_replay.order_id') },
  orders: { access: { select: { only: ORDER_SHOWN } }, rows: PROJECT_ROWS },
  // Prices are public: a quote shows them too.
  price_row: { access: { select: 'all' }, rows: EVERY_ROW },
  project: {
    access: {
      select: { but: ['api_key_sealed'] },
      update: {
        only: [
          ...['name', 'api_key_sealed', 'allowed_sources', 'signature_schemes', 'require_idempotency_key'],
          ...['require_quote', 'updated_at'],
        ],
      },
    },
    rows: of('id'),
  },
  receiver_energy: { access: { select: 'all' }, rows: through('orders', 'receiver_energy.order_id') },
  refused_request: { access: { select: 'all' }, rows: PROJECT_ROWS },
  rental_use: { access: { select: 'all' }, rows: through('orders', 'rental_use.order_id') },
  statement: { access: { select: 'all' }, rows: PROJECT_ROWS },
  webhook_act: { access: WEBHOOK_ACTS, rows: PROJECT_ROWS },
  webhook_delivery: {
    access: { select: 'all', insert: 'all', update: { only: ['next_at', 'is_fresh', 'is_requested'] } },
    rows: through('webhook_endpoint', 'webhook_delivery.endpoint_id'),
  },
  webhook_endpoint: {
    access: {
      select: { but: ENDPOINT_SECRETS_UNREAD },
      insert: 'all',
      update: { but: ENDPOINT_TERMS },
    },
    rows: PROJECT_ROWS,
  },
  webhook_state: {
    access: { select: 'all', insert: 'all', update: { only: STATE_AS_NEW } },
    rows: through('webhook_endpoint', 'webhook_state.endpoint_id'),
  },
};
