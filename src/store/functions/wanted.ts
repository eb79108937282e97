/**
 * The functions, triggers and unique indexes that this version of the code wants in its database. Migrations hold
 * literal copies; a test compares a migrated database with these, and `verify` compares the live one.
 */
import { ACCEPT_ORDER_SQL, RESERVE_CAPACITY_SQL, SPLIT_CAPACITY_SQL, TAKE_FROM_SLOTS_SQL } from './accept-order.js';
import { ARCHIVE_FUNCTIONS } from './archive-functions.js';
import { AUTO_DELEGATION_FUNCTIONS } from './auto-delegation-functions.js';
import { CLOCK_FUNCTIONS } from './clock-functions.js';
import { CONSOLE_FUNCTIONS } from './console-functions.js';
import { DEPOSIT_FUNCTIONS } from './deposit-functions.js';
import { EVENT_WRITERS } from './event-writers.js';
import { EXTENSION_FUNCTIONS } from './extend-order.js';
import { FINAL_ROWS } from './final-rows.js';
import { PREVIOUS_SECRETS } from './previous-secrets.js';
import { PROJECT_FUNCTIONS } from './project-functions.js';
import { ROW_GUARDS } from './row-guards.js';
import { MARK_FUNCTIONS } from './server-mark.js';
import {
  ORDER_REFUSAL_SQL,
  ORDER_REFUSALS_SQL,
  REFUSE_OR_ACCEPT_ORDER_SQL,
  TAKE_ORDER_SQL,
  TAKE_UNLABELLED_ORDER_SQL,
} from './take-order.js';
import { TRIGGER_FUNCTIONS } from './trigger-functions.js';
import { STATEMENT_FUNCTIONS } from './statement-functions.js';
import { TEST_PROJECT_FUNCTIONS } from './test-project-functions.js';
import { WEBHOOK_FUNCTIONS } from './webhook-functions.js';

/** The statement that makes each function, by the function's name; a second one of the name by more words. */
export const FUNCTIONS: Readonly<Record<string, string>> = {
  accept_order: ACCEPT_ORDER_SQL,
  take_order: TAKE_ORDER_SQL,
  'take_order without labels': TAKE_UNLABELLED_ORDER_SQL,
  order_refusal: ORDER_REFUSAL_SQL,
  order_refusals: ORDER_REFUSALS_SQL,
  refuse_or_accept_order: REFUSE_OR_ACCEPT_ORDER_SQL,
  reserve_capacity: RESERVE_CAPACITY_SQL,
  split_capacity: SPLIT_CAPACITY_SQL,
  take_from_slots: TAKE_FROM_SLOTS_SQL,
  ...EXTENSION_FUNCTIONS,
  ...PREVIOUS_SECRETS,
  ...PROJECT_FUNCTIONS,
  ...ROW_GUARDS,
  ...FINAL_ROWS,
  ...TRIGGER_FUNCTIONS,
  ...MARK_FUNCTIONS,
  ...EVENT_WRITERS,
  ...ARCHIVE_FUNCTIONS,
  ...AUTO_DELEGATION_FUNCTIONS,
  ...CLOCK_FUNCTIONS,
  ...CONSOLE_FUNCTIONS,
  ...DEPOSIT_FUNCTIONS,
  ...STATEMENT_FUNCTIONS,
  ...TEST_PROJECT_FUNCTIONS,
  ...WEBHOOK_FUNCTIONS,
};

/** What Postgres keeps of a function's statement as its body (`pg_proc.prosrc`). */
export function bodyOf(statement: string): string {
  return statement.slice(statement.indexOf('$$') + 2, statement.lastIndexOf('$$'));
}

/** Every trigger as `pg_get_triggerdef(oid, true)` writes it. */
export const TRIGGERS: readonly string[] = [
  `CREATE TRIGGER console_session_ended AFTER DELETE ON console_session FOR EACH ROW EXECUTE FUNCTION console_session_ended()`,
  `CREATE TRIGGER api_key_announced AFTER INSERT OR UPDATE OF name, scopes, allowed_sources, sealed, previous_sealed, previous_until, revoked_at ON api_key FOR EACH ROW EXECUTE FUNCTION announce_project('project_id')`,
  `CREATE TRIGGER api_key_keeps_previous BEFORE UPDATE ON api_key FOR EACH ROW WHEN (old.previous_until IS DISTINCT FROM new.previous_until) EXECUTE FUNCTION keep_previous_key()`,
  `CREATE TRIGGER api_key_kept BEFORE DELETE ON api_key FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER api_key_no_truncate BEFORE TRUNCATE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER archived_chain_tx_final BEFORE INSERT OR DELETE OR UPDATE ON archived_chain_tx FOR EACH ROW EXECUTE FUNCTION archived_row('chain_tx')`,
  `CREATE TRIGGER archived_chain_tx_no_truncate BEFORE TRUNCATE ON archived_chain_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER archived_leg_final BEFORE INSERT OR DELETE OR UPDATE ON archived_leg FOR EACH ROW EXECUTE FUNCTION archived_row('leg')`,
  `CREATE TRIGGER archived_leg_no_truncate BEFORE TRUNCATE ON archived_leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER archived_orders_final BEFORE INSERT OR DELETE OR UPDATE ON archived_orders FOR EACH ROW EXECUTE FUNCTION archived_row('orders')`,
  `CREATE TRIGGER archived_orders_no_truncate BEFORE TRUNCATE ON archived_orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER audit_log_stamped BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION stamp_audit_entry()`,
  `CREATE TRIGGER auto_delegation_changed AFTER UPDATE ON auto_delegation FOR EACH ROW WHEN (old.pause_reason IS DISTINCT FROM new.pause_reason) EXECUTE FUNCTION auto_delegation_changed()`,
  `CREATE TRIGGER auto_delegation_live BEFORE INSERT ON auto_delegation FOR EACH ROW EXECUTE FUNCTION refuse_test_project()`,
  `CREATE TRIGGER auto_delegation_no_truncate BEFORE TRUNCATE ON auto_delegation FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER broadcast_no_truncate BEFORE TRUNCATE ON broadcast FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER chain_tx_final BEFORE UPDATE ON chain_tx FOR EACH ROW WHEN (old.status = ANY (ARRAY['solid'::text, 'dead'::text, 'dropped'::text])) EXECUTE FUNCTION chain_tx_final()`,
  `CREATE TRIGGER chain_tx_guard BEFORE INSERT OR UPDATE ON chain_tx FOR EACH ROW EXECUTE FUNCTION chain_tx_guard()`,
  `CREATE TRIGGER chain_tx_kept BEFORE DELETE ON chain_tx FOR EACH ROW EXECUTE FUNCTION kept_unless_archived('chain_tx')`,
  `CREATE TRIGGER chain_tx_no_truncate BEFORE TRUNCATE ON chain_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_account_announced AFTER UPDATE ON credit_account FOR EACH ROW WHEN (old.frozen IS DISTINCT FROM new.frozen OR old.is_postpaid IS DISTINCT FROM new.is_postpaid OR old.floor_credits IS DISTINCT FROM new.floor_credits OR old.daily_cap_credits IS DISTINCT FROM new.daily_cap_credits) EXECUTE FUNCTION announce_project('project_id')`,
  `CREATE TRIGGER credit_account_frozen AFTER UPDATE ON credit_account FOR EACH ROW WHEN (old.frozen IS DISTINCT FROM new.frozen) EXECUTE FUNCTION project_frozen()`,
  `CREATE TRIGGER credit_account_kept BEFORE DELETE ON credit_account FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  // A project without a threshold compares with null, which is never true.
  `CREATE TRIGGER credit_account_low AFTER UPDATE ON credit_account FOR EACH ROW WHEN (old.balance_credits >= new.low_balance_credits AND new.balance_credits < new.low_balance_credits) EXECUTE FUNCTION balance_low()`,
  `CREATE TRIGGER credit_account_no_truncate BEFORE TRUNCATE ON credit_account FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_account_frozen_stops_repetitions AFTER UPDATE ON credit_account FOR EACH ROW WHEN (new.frozen AND NOT old.frozen) EXECUTE FUNCTION webhook_project_frozen()`,
  // By its name before the charge of the API key: the order of locks.
  `CREATE TRIGGER credit_entry_charges_auto_delegation AFTER INSERT ON credit_entry FOR EACH ROW WHEN (new.kind = 'refund'::text OR new.kind = 'charge'::text AND current_setting('energy.auto_delegation'::text, true) <> ''::text) EXECUTE FUNCTION charge_auto_delegation()`,
  `CREATE TRIGGER credit_entry_charges_key AFTER INSERT ON credit_entry FOR EACH ROW WHEN (new.kind = ANY (ARRAY['charge'::text, 'refund'::text])) EXECUTE FUNCTION charge_api_key()`,
  `CREATE TRIGGER credit_entry_append_only BEFORE UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_entry_kept BEFORE DELETE ON credit_entry FOR EACH ROW WHEN (old.contra <> 'test'::text) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_entry_guard BEFORE INSERT OR UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION credit_entry_guard()`,
  `CREATE TRIGGER credit_entry_no_truncate BEFORE TRUNCATE ON credit_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_entry_compensates AFTER INSERT ON credit_entry FOR EACH ROW WHEN (new.kind = 'compensation'::text) EXECUTE FUNCTION order_compensated()`,
  `CREATE TRIGGER credit_request_final BEFORE UPDATE ON credit_request FOR EACH ROW WHEN (old.status <> 'pending'::text OR old.id <> new.id OR old.project_id <> new.project_id OR old.kind <> new.kind OR old.credits <> new.credits OR old.reference <> new.reference OR old.asked_by <> new.asked_by) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_request_kept BEFORE DELETE ON credit_request FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_request_no_truncate BEFORE TRUNCATE ON credit_request FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_account_kept BEFORE DELETE OR UPDATE ON deposit_account FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_account_no_truncate BEFORE TRUNCATE ON deposit_account FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_address_kept BEFORE DELETE OR UPDATE ON deposit_address FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_address_live BEFORE INSERT ON deposit_address FOR EACH ROW EXECUTE FUNCTION refuse_test_project()`,
  `CREATE TRIGGER deposit_address_no_truncate BEFORE TRUNCATE ON deposit_address FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_changed AFTER INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_changed()`,
  `CREATE TRIGGER deposit_guard BEFORE INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_guard()`,
  `CREATE TRIGGER deposit_kept BEFORE DELETE ON deposit FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_no_truncate BEFORE TRUNCATE ON deposit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  // A row gets its position and its payload once; what is too old to be read loses the payload, and stays.
  `CREATE TRIGGER deposit_movement_kept BEFORE DELETE OR UPDATE ON deposit_movement FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_movement_no_truncate BEFORE TRUNCATE ON deposit_movement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_return_kept BEFORE DELETE ON deposit_return FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_return_no_truncate BEFORE TRUNCATE ON deposit_return FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_sweep_address_kept BEFORE DELETE OR UPDATE ON deposit_sweep_address FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_sweep_address_no_truncate BEFORE TRUNCATE ON deposit_sweep_address FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_token_kept BEFORE DELETE OR UPDATE OF contract, replaces, created_at ON deposit_token FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_token_no_truncate BEFORE TRUNCATE ON deposit_token FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER event_changes BEFORE UPDATE ON event FOR EACH ROW WHEN (NOT (old.id = new.id AND NOT old.order_id IS DISTINCT FROM new.order_id AND NOT old.from_status IS DISTINCT FROM new.from_status AND NOT old.to_status IS DISTINCT FROM new.to_status AND old.at = new.at AND NOT old.chain_at IS DISTINCT FROM new.chain_at AND NOT old.project_id IS DISTINCT FROM new.project_id AND NOT old.type IS DISTINCT FROM new.type AND new.snapshot IS NULL AND (old."position" IS NULL AND old.type IS NOT NULL AND new."position" IS NOT NULL AND new.payload IS NOT NULL OR old."position" IS NOT NULL AND NOT old."position" IS DISTINCT FROM new."position" AND new.payload IS NULL))) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER event_first BEFORE INSERT ON event FOR EACH ROW WHEN ((new."position" IS NOT NULL OR new.payload IS NOT NULL) AND new.type IS DISTINCT FROM 'log.restarted'::text) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER event_kept BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION kept_unless_test()`,
  `CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER event_numbered AFTER UPDATE ON event REFERENCING NEW TABLE AS numbered FOR EACH STATEMENT EXECUTE FUNCTION webhook_fan_out_batch()`,
  `CREATE TRIGGER event_restarted AFTER INSERT ON event FOR EACH ROW WHEN (new."position" IS NOT NULL) EXECUTE FUNCTION webhook_fan_out()`,
  `CREATE TRIGGER leg_final BEFORE UPDATE ON leg FOR EACH ROW WHEN (old.status = ANY (ARRAY['reclaimed'::text, 'released'::text])) EXECUTE FUNCTION leg_final()`,
  `CREATE TRIGGER leg_guard BEFORE INSERT OR UPDATE ON leg FOR EACH ROW EXECUTE FUNCTION leg_guard()`,
  `CREATE TRIGGER leg_kept BEFORE DELETE ON leg FOR EACH ROW EXECUTE FUNCTION kept_unless_archived('leg')`,
  `CREATE TRIGGER leg_no_truncate BEFORE TRUNCATE ON leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  // Under the name that the version before looks for.
  `CREATE TRIGGER order_event_no_truncate INSTEAD OF DELETE ON order_event FOR EACH ROW EXECUTE FUNCTION keep_moves()`,
  `CREATE TRIGGER order_extension_final BEFORE UPDATE ON order_extension FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER order_extension_kept BEFORE DELETE ON order_extension FOR EACH ROW EXECUTE FUNCTION kept_unless_test()`,
  `CREATE TRIGGER order_extension_no_truncate BEFORE TRUNCATE ON order_extension FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER order_key_final BEFORE UPDATE ON order_key FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER order_key_kept BEFORE DELETE ON order_key FOR EACH ROW EXECUTE FUNCTION kept_unless_test()`,
  `CREATE TRIGGER order_key_no_truncate BEFORE TRUNCATE ON order_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER orders_changed AFTER UPDATE ON orders FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status OR old.settled IS DISTINCT FROM new.settled OR old.reclaimed_at IS DISTINCT FROM new.reclaimed_at OR old.extensions IS DISTINCT FROM new.extensions) EXECUTE FUNCTION order_changed()`,
  `CREATE TRIGGER open_chain_tx_no_truncate BEFORE TRUNCATE ON open_chain_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER open_leg_no_truncate BEFORE TRUNCATE ON open_leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER open_orders_no_truncate BEFORE TRUNCATE ON open_orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER orders_of_auto_delegation AFTER UPDATE ON orders FOR EACH ROW WHEN (new.key ~~ 'auto\\_%'::text AND (old.status IS DISTINCT FROM new.status OR old.reclaimed_at IS DISTINCT FROM new.reclaimed_at)) EXECUTE FUNCTION auto_delegation_order_moved()`,
  `CREATE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard()`,
  `CREATE TRIGGER orders_judged BEFORE INSERT OR UPDATE ON orders FOR EACH ROW WHEN (new.judged) EXECUTE FUNCTION orders_judged()`,
  `CREATE TRIGGER orders_keyed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION keep_order_key()`,
  `CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW WHEN (NOT old.test) EXECUTE FUNCTION kept_unless_archived('orders')`,
  `CREATE TRIGGER orders_no_truncate BEFORE TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER orphan_tx_kept BEFORE DELETE ON orphan_tx FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER orphan_tx_no_truncate BEFORE TRUNCATE ON orphan_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER reclaim_usage_final BEFORE UPDATE ON reclaim_usage FOR EACH ROW WHEN (old.tx_id IS DISTINCT FROM new.tx_id OR old.order_id IS DISTINCT FROM new.order_id OR old.receive_address IS DISTINCT FROM new.receive_address OR old.used_energy IS DISTINCT FROM new.used_energy OR old.limit_energy IS DISTINCT FROM new.limit_energy OR old.pool_energy IS DISTINCT FROM new.pool_energy OR old.sold_energy IS DISTINCT FROM new.sold_energy OR old.taken_energy IS DISTINCT FROM new.taken_energy OR old.read_block IS DISTINCT FROM new.read_block OR old.read_at IS DISTINCT FROM new.read_at) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER reclaim_usage_kept BEFORE DELETE ON reclaim_usage FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER reclaim_usage_no_truncate BEFORE TRUNCATE ON reclaim_usage FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER pool_wallet_kept BEFORE DELETE ON pool_wallet FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER pool_wallet_no_truncate BEFORE TRUNCATE ON pool_wallet FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER pool_wallet_status BEFORE INSERT OR UPDATE ON pool_wallet FOR EACH ROW EXECUTE FUNCTION pool_wallet_status()`,
  `CREATE TRIGGER project_announced AFTER INSERT OR UPDATE ON project FOR EACH ROW EXECUTE FUNCTION announce_project('id')`,
  `CREATE TRIGGER project_kept BEFORE DELETE ON project FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER project_primary_key AFTER INSERT OR UPDATE OF api_key_sealed ON project FOR EACH ROW EXECUTE FUNCTION project_primary_key()`,
  `CREATE TRIGGER project_test_fixed BEFORE UPDATE ON project FOR EACH ROW WHEN (old.test <> new.test) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER project_no_truncate BEFORE TRUNCATE ON project FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER sales_stop_reaches_wallets AFTER INSERT OR DELETE OR UPDATE ON sales_stop FOR EACH STATEMENT EXECUTE FUNCTION sales_stop_reaches_wallets()`,
  `CREATE TRIGGER statement_closed AFTER INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_closed()`,
  `CREATE TRIGGER statement_guard BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_guard()`,
  `CREATE TRIGGER statement_kept BEFORE DELETE OR UPDATE ON statement FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_live BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION refuse_test_project()`,
  `CREATE TRIGGER statement_month_final BEFORE UPDATE ON statement_month FOR EACH ROW WHEN (old.closed_at IS NOT NULL OR old.month <> new.month OR old.ends_at <> new.ends_at OR old.entries_to <> new.entries_to OR old.cut_at <> new.cut_at) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_month_kept BEFORE DELETE ON statement_month FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_month_no_truncate BEFORE TRUNCATE ON statement_month FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_no_truncate BEFORE TRUNCATE ON statement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER webhook_delivery_no_truncate BEFORE TRUNCATE ON webhook_delivery FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER webhook_endpoint_changed AFTER INSERT OR UPDATE ON webhook_endpoint FOR EACH ROW EXECUTE FUNCTION webhook_changed()`,
  `CREATE TRIGGER webhook_endpoint_keeps_previous BEFORE UPDATE ON webhook_endpoint FOR EACH ROW WHEN (old.previous_until IS DISTINCT FROM new.previous_until) EXECUTE FUNCTION keep_previous_secret()`,
  `CREATE TRIGGER webhook_endpoint_kept BEFORE DELETE ON webhook_endpoint FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER webhook_endpoint_no_truncate BEFORE TRUNCATE ON webhook_endpoint FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

/** The unique indexes that referee keys, quotes, ledger entries, ids and live transactions, as `pg_get_indexdef` writes them. */
export const REFEREES: Readonly<Record<string, string>> = {
  orders_key: `CREATE UNIQUE INDEX orders_key ON public.open_orders USING btree (project_id, key)`,
  order_key_pkey: `CREATE UNIQUE INDEX order_key_pkey ON public.order_key USING btree (project_id, key)`,
  order_extension_pkey: `CREATE UNIQUE INDEX order_extension_pkey ON public.order_extension USING btree (order_id, number)`,
  orders_quote: `CREATE UNIQUE INDEX orders_quote ON public.open_orders USING btree (quote_id) WHERE (quote_id IS NOT NULL)`,
  chain_tx_live: `CREATE UNIQUE INDEX chain_tx_live ON public.open_chain_tx USING btree (leg_id, purpose) WHERE (status <> ALL (ARRAY['dead'::text, 'dropped'::text]))`,
  chain_tx_txid_key: `CREATE UNIQUE INDEX chain_tx_txid_key ON public.open_chain_tx USING btree (txid)`,
  credit_entry_entry_key_key: `CREATE UNIQUE INDEX credit_entry_entry_key_key ON public.credit_entry USING btree (entry_key)`,
  chain_tx_leg_id_purpose_attempt_key: `CREATE UNIQUE INDEX chain_tx_leg_id_purpose_attempt_key ON public.open_chain_tx USING btree (leg_id, purpose, attempt)`,
  credit_request_reference: `CREATE UNIQUE INDEX credit_request_reference ON public.credit_request USING btree (kind, reference) WHERE (status <> 'rejected'::text)`,
  deposit_txid_kind_place_key: `CREATE UNIQUE INDEX deposit_txid_kind_place_key ON public.deposit USING btree (txid, kind, place)`,
  deposit_token_first: `CREATE UNIQUE INDEX deposit_token_first ON public.deposit_token USING btree (((replaces IS NULL))) WHERE (replaces IS NULL)`,
  deposit_return_txid_key: `CREATE UNIQUE INDEX deposit_return_txid_key ON public.deposit_return USING btree (txid)`,
  auto_delegation_address: `CREATE UNIQUE INDEX auto_delegation_address ON public.auto_delegation USING btree (project_id, address)`,
  statement_pkey: `CREATE UNIQUE INDEX statement_pkey ON public.statement USING btree (project_id, number)`,
  statement_project_id_month_key: `CREATE UNIQUE INDEX statement_project_id_month_key ON public.statement USING btree (project_id, month)`,
  leg_order_id_leg_no_key: `CREATE UNIQUE INDEX leg_order_id_leg_no_key ON public.open_leg USING btree (order_id, leg_no)`,
};
