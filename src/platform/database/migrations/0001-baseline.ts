import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SQL_FILES } from '../sql-files.js';

/** Leaves an empty database. The history of a used one would be lost, so that one is kept. */
const DOWN = [
  `DO $$
BEGIN
  IF EXISTS (SELECT FROM project) OR EXISTS (SELECT FROM audit_log) OR EXISTS (SELECT FROM pool_wallet) THEN
    RAISE EXCEPTION 'the database has records, which the first migration keeps' USING ERRCODE = 'object_in_use';
  END IF;
END $$`,
  `DROP TABLE
    api_key, asset_rate, audit_log, auto_delegation, blacklisted_address, broadcast, chain_tx, clock_mark,
    console_session, credit_account, credit_entry, credit_request, deposit, deposit_account, deposit_address,
    deposit_cursor, deposit_movement, deposit_return, deposit_sum, deposit_sweep_address, deposit_token, event,
    event_numbering, event_position, explained_finding, explanation_request, ignored_transfer, invitation,
    judged_credits, judged_entries, key_canary, leg, mail_refusal, market_state, membership, notification,
    order_extension, order_key, order_replay, orders, orphan_tx, parked_payment, person, pool_slot, pool_wallet,
    pool_wallet_day, price_row, project, receiver_energy, reclaim_usage, reconcile_state, recovery_code,
    refused_request, rental_use, request_nonce, sales_stop, sign_in_guess, statement, statement_month,
    token_state, unsearched_block, webhook_act, webhook_delivery, webhook_destination, webhook_endpoint,
    webhook_state CASCADE`,
  `DO $$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT oid::regprocedure AS function FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname = ANY (ARRAY[
    'add_archive_range', 'announce_project', 'archive_orders', 'archived_row', 'auto_delegation_changed',
    'auto_delegation_order_moved', 'balance_low', 'buy_for_auto_delegation', 'buy_in_console', 'chain_tx_final',
    'chain_tx_guard', 'charge_api_key', 'charge_auto_delegation', 'charges_of_day', 'claim_paid_projects',
    'console_audience', 'console_buyer', 'console_invited_to', 'console_looks', 'console_memberships',
    'console_purchase_fault', 'console_session_ended', 'credit_entry_guard', 'deposit_changed', 'deposit_guard',
    'end_later_times', 'extend_for_auto_delegation', 'extend_in_console', 'extend_order', 'keep_order_key',
    'keep_previous_key', 'keep_previous_secret', 'kept_unless_archived', 'kept_unless_test', 'leg_final', 'leg_guard',
    'notifications_due', 'order_changed', 'order_compensated', 'order_refusal', 'order_refusals', 'orders_guard',
    'orders_judged', 'pool_wallet_status', 'project_acts', 'project_deposit_returns', 'project_frozen',
    'project_order_compensations', 'project_order_legs', 'project_primary_key', 'prune_test_orders',
    'recount_spending', 'refuse_change', 'refuse_test_project', 'reserve_capacity', 'reserve_order', 'return_to_caps',
    'sales_stop_reaches_wallets', 'server_mark', 'split_capacity', 'stamp_audit_entry', 'statement_closed',
    'statement_guard', 'take_from_slots', 'take_order', 'webhook_changed', 'webhook_fan_out', 'webhook_fan_out_batch',
    'webhook_pending', 'webhook_project_frozen'
  ]) LOOP
    EXECUTE format('DROP FUNCTION %s', r.function);
  END LOOP;
END $$`,
];

/** Makes the whole schema of the first release by one script, in one round trip. */
export class Baseline1760000000001 implements MigrationInterface {
  readonly name = 'Baseline1760000000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SQL_FILES['migrations/0001-baseline.sql'] ?? '');
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
