/** Who may call which function of the database: the whole of it, beside the tables' (grants.ts). */
import { ROLES, type Role } from './grants.js';

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
  // In front of both, for auto-delegations, with the owner's rights.
  buy_for_auto_delegation: ['worker'],
  extend_for_auto_delegation: ['worker'],
  // As accept_order, for the time that a rental is extended by.
  extend_order: ['api'],
  order_refusals: ['api'],
  // Asked by row-level security, for whoever reads.
  console_audience: ROLES,
  // With the owner's rights: of projects whose rows a merchants' console does not read for it.
  console_memberships: ['console_merchant'],
  // Of the version before.
  console_projects: ['console_merchant', 'console_operator'],
  console_invited_to: ['console_merchant', 'console_operator'],
  console_looks: ['console_merchant', 'console_operator'],
  // As well: which of its people's logs have gone on.
  notifications_due: ['console_merchant'],
  // As well, by the project that the transaction names.
  project_acts: ['console_merchant', 'console_operator'],
  project_deposit_returns: ['console_merchant', 'console_operator'],
  project_order_compensations: ['console_merchant', 'console_operator'],
  project_order_legs: ['console_merchant', 'console_operator'],
  // Of the version before.
  refuse_or_accept_order: ['api'],
  // Deletes test orders, with the owner's rights: nobody else may delete any.
  prune_test_orders: ['worker'],
  // Moves times of several processes' rows, with the owner's rights, when the clock was set back.
  end_later_times: ['worker'],
  // As well: nobody else may delete what is open.
  archive_orders: ['worker'],
  add_archive_range: [],
  archived_row: [],
  kept_unless_archived: [],
  reserve_capacity: ['worker'],
  split_capacity: ['worker'],
  take_from_slots: ['worker'],
  // Asked by whoever assigns deposit addresses, too.
  server_mark: ['worker', 'cli', 'console_operator'],
  // Locks projects and balances, with the rights of whoever calls.
  claim_paid_projects: ['worker', 'cli'],
  // With the rights of whoever calls.
  webhook_pending: ['api', 'cli', 'console_merchant', 'console_operator'],
  announce_project: [],
  auto_delegation_changed: [],
  auto_delegation_order_moved: [],
  balance_low: [],
  charge_auto_delegation: [],
  charge_api_key: [],
  chain_tx_final: [],
  chain_tx_guard: [],
  console_session_ended: [],
  credit_entry_guard: [],
  deposit_changed: [],
  deposit_guard: [],
  keep_moves: [],
  keep_order_key: [],
  keep_previous_key: [],
  keep_previous_secret: [],
  kept_unless_test: [],
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
  refuse_test_project: [],
  sales_stop_reaches_wallets: [],
  stamp_audit_entry: [],
  statement_closed: [],
  statement_guard: [],
  webhook_changed: [],
  webhook_fan_out: [],
  webhook_fan_out_batch: [],
  webhook_project_frozen: [],
};
