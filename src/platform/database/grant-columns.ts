/** The columns of a privilege. `but` excludes columns from those that the table has when the privilege is granted. */
export type Columns = 'all' | { readonly only: readonly string[] } | { readonly but: readonly string[] };

export interface Access {
  readonly select?: Columns;
  readonly insert?: Columns;
  readonly update?: Columns;
  readonly delete?: 'all';
}

export const ORDER_TERMS = [
  ...['id', 'project_id', 'key', 'request_hash', 'quote_id', 'kind', 'receive_address', 'energy', 'duration_sec'],
  ...['price_sun', 'credits', 'trx_usd_e8', 'request_id', 'created_at', 'extensions', 'test'],
  ...['reference', 'metadata', 'expected_uses', 'energy_fee_sun', 'max_fee_limit_sun', 'transfer'],
  ...['bandwidth', 'bandwidth_price_sun', 'bandwidth_credits', 'activation_price_sun', 'activation_credits'],
] as const;
export const LEG_TERMS = ['id', 'order_id', 'leg_no', 'kind', 'wallet_id', 'receive_address', 'amount_sun'] as const;
/** The columns of an event before it is numbered. */
export const EVENT_AS_WRITTEN = [
  'order_id',
  'from_status',
  'to_status',
  'chain_at',
  'project_id',
  'type',
  'snapshot',
] as const;
/** The event or test of a delivery and its cause; the other columns hold its progress. */
export const DELIVERY_TERMS = [
  ...['id', 'endpoint_id', 'cause', 'event_id', 'event_key', 'type', 'position', 'payload', 'created_at'],
] as const;
export const ENDPOINT_TERMS = ['id', 'project_id', 'made_by_key', 'created_at'] as const;
/** The columns that are reset when the owner of a webhook declares it repaired. */
export const STATE_AS_NEW = ['due_at', 'failures', 'failing_since', 'taken_at', 'refused_since'] as const;
export const ENDPOINT_SECRETS = ['secret_sealed', 'previous_secret_sealed'] as const;
/** The columns with the capacity that a slot has left. */
export const SLOT_CAPACITY = ['free_sun', 'free_transactions', 'free_bandwidth_sun'] as const;
/** The identity of a wallet and its signing key; only an operator sets them. */
export const WALLET_IDENTITY = [
  'id',
  'address',
  'role',
  'permission_id',
  'key_address',
  'key_sealed',
  'created_at',
] as const;
export const AUTO_DELEGATION_IDENTITY = ['project_id', 'address'] as const;
/** The terms that the project sets. */
export const AUTO_DELEGATION_TERMS = [
  ...['api_key_id', 'keep_energy', 'refill_below', 'duration_sec', 'max_sun_per_energy', 'daily_cap_credits'],
  ...['idle_after_sec', 'until', 'changed_at', 'auto_duration', 'transfer'],
] as const;
/** The schedule of the next check, and the energy that its transfer last needed. */
export const AUTO_DELEGATION_TURNS = [
  ...['asleep', 'failures', 'used_at', 'due_at', 'due_again', 'check_at', 'fence', 'transfer_energy'],
] as const;
export const AUTO_DELEGATION_PURCHASES = [
  ...['id', 'project_id', 'address', 'created_at', 'purchases', 'open_order_id', 'spent_credits', 'spent_on'],
] as const;
/** The columns of the decision on a deposit; the payment itself never changes. */
export const DEPOSIT_DECISION = [
  'status',
  'reason',
  'rate_e8',
  'entry_key',
  'credits',
  'sum_id',
  'changed_at',
] as const;
/** The columns of a deposit that are known only once its block is solid. */
export const DEPOSIT_TERMS = [
  ...['project_id', 'address', 'from_address', 'asset', 'contract', 'amount', 'block_number', 'block_id', 'block_at'],
] as const;
export const PERSON_SECRETS = ['password_hash', 'totp_sealed'] as const;
/** The columns that a reset of the second factor changes. */
export const SECOND_FACTOR = ['totp_sealed', 'totp_since', 'totp_step', 'credentials'] as const;
export const SESSION_SECRETS = ['token_hash', 'pending_totp_sealed'] as const;
/** Counts a project's requests to its webhooks; rows are deleted a day later. */
export const WEBHOOK_ACTS: Access = {
  select: 'all',
  insert: { only: ['project_id', 'act', 'count'] },
  delete: 'all',
};
