import { ROLES, type Role } from './grants.js';
import { TOLD_SEQUENCES } from './told-numbers.js';

/** The roles that may raise each sequence after a restore. Inserting a row needs no right on its sequence. */
export const SEQUENCE_GRANTS: Readonly<Record<string, readonly Role[]>> = Object.fromEntries(
  TOLD_SEQUENCES.map((sequence) => [sequence, ['cli']] as const),
);

/**
 * The roles that may call each function; PUBLIC may call none. The rights on tables are in grants.ts. A trigger's
 * function has no caller: it runs for the session that changes the row.
 */
export const FUNCTION_GRANTS: Readonly<Record<string, readonly Role[]>> = {
  // Both write orders, legs, slots, ledger entries and balances with the owner's rights, which the API lacks.
  take_order: ['api'],
  extend_order: ['api'],
  // Both call those two for auto-delegations, with the owner's rights.
  buy_for_auto_delegation: ['worker'],
  extend_for_auto_delegation: ['worker'],
  // Both call those two for the owner of a session, with the owner's rights, and record the act.
  buy_in_console: ['console_merchant'],
  extend_in_console: ['console_merchant'],
  console_buyer: [],
  console_purchase_fault: [],
  // Charge within take_order and extend_order, with their rights.
  charge_api_key: [],
  charge_auto_delegation: [],
  // With the owner's rights: a refund lowers what was spent.
  return_to_caps: ['worker'],
  // Both judge orders beforehand, with the caller's rights.
  order_refusal: ['api'],
  order_refusals: ['api'],
  // Called by the row-level security policies of every reading role.
  console_audience: ROLES,
  // With the owner's rights: covers projects whose rows row-level security hides from a merchants' console.
  console_memberships: ['console_merchant'],
  console_invited_to: ['console_merchant', 'console_operator'],
  console_looks: ['console_merchant', 'console_operator'],
  // With the owner's rights: memberships whose event log has new entries.
  notifications_due: ['console_merchant'],
  // With the owner's rights, for the project that the transaction names.
  project_acts: ['console_merchant', 'console_operator'],
  project_deposit_returns: ['console_merchant', 'console_operator'],
  project_order_compensations: ['console_merchant', 'console_operator'],
  project_order_legs: ['console_merchant', 'console_operator'],
  // Deletes test orders with the owner's rights; no role may delete orders itself.
  prune_test_orders: ['worker'],
  // Corrects times in rows of several processes, with the owner's rights, after the clock was set back.
  end_later_times: ['worker'],
  // Corrects the spending of keys and auto-delegations, with the owner's rights, after the clock jumped.
  recount_spending: ['worker'],
  charges_of_day: [],
  // Moves orders to the archive with the owner's rights; no role may delete them itself.
  archive_orders: ['worker'],
  add_archive_range: [],
  archived_row: [],
  kept_unless_archived: [],
  reserve_capacity: ['worker'],
  reserve_order: ['worker'],
  split_capacity: ['worker'],
  take_from_slots: ['worker'],
  // Processes that assign deposit addresses call it, too.
  server_mark: ['worker', 'cli', 'console_operator'],
  // Locks projects and balances, with the caller's rights.
  claim_paid_projects: ['worker', 'cli'],
  // With the caller's rights.
  webhook_pending: ['api', 'cli', 'console_merchant', 'console_operator'],
  announce_project: [],
  auto_delegation_changed: [],
  auto_delegation_order_moved: [],
  balance_low: [],
  chain_tx_final: [],
  chain_tx_guard: [],
  console_session_ended: [],
  credit_entry_guard: [],
  deposit_changed: [],
  deposit_guard: [],
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
