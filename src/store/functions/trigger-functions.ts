/** The other trigger functions: what is only ever added to, what other processes are told, what stops sales. */

/** Refuses whatever the trigger is on: of a table that is only added to, or whose rows are kept. */
const REFUSE_CHANGE_SQL = `
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$`;

/** Writes when and by which role an entry is made: what a caller says of these does not count. */
const STAMP_AUDIT_ENTRY_SQL = `
CREATE OR REPLACE FUNCTION stamp_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.at := clock_timestamp();
     NEW.login_role := session_user;
     NEW.acting_role := current_user;
     RETURN NEW;
   END $$`;

/** Tells every API process to drop its cached record of a project; the argument names the column with its id. */
const ANNOUNCE_PROJECT_SQL = `
CREATE OR REPLACE FUNCTION announce_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('project_changed', to_jsonb(NEW) ->> TG_ARGV[0]);
     RETURN NULL;
   END $$`;

/** A wallet's status follows from who holds it, whoever writes the row; the operator's own pause stays. */
const POOL_WALLET_STATUS_SQL = `
CREATE OR REPLACE FUNCTION pool_wallet_status() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE v_fault text;
   BEGIN
     -- What the chain did not allow is allowed again: whatever failed for it may be tried anew.
     IF TG_OP = 'UPDATE' AND OLD.wallet_fault IS NOT NULL AND NEW.wallet_fault IS NULL AND NEW.sign_failures < 3 THEN
       NEW.deaths := 0;
       NEW.delivery_fault := NULL;
       NEW.delivery_held_until := NULL;
     END IF;
     IF NEW.status = 'paused' AND (NEW.pause_reason IS NULL OR NEW.pause_reason NOT LIKE 'auto:%') THEN
       RETURN NEW;
     END IF;
     v_fault := coalesce((SELECT 'everything is stopped: ' || reason FROM sales_stop), NEW.books_fault, NEW.wallet_fault,
                         NEW.delivery_fault);
     NEW.status := CASE WHEN v_fault IS NULL THEN 'active' ELSE 'paused' END;
     NEW.pause_reason := 'auto: ' || v_fault;
     RETURN NEW;
   END $$`;

/** Stopping and resuming sales reaches every wallet in the same transaction. */
const SALES_STOP_REACHES_WALLETS_SQL = `
CREATE OR REPLACE FUNCTION sales_stop_reaches_wallets() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE pool_wallet SET status = status;
     RETURN NULL;
   END $$`;

export const TRIGGER_FUNCTIONS: Readonly<Record<string, string>> = {
  refuse_change: REFUSE_CHANGE_SQL,
  stamp_audit_entry: STAMP_AUDIT_ENTRY_SQL,
  announce_project: ANNOUNCE_PROJECT_SQL,
  pool_wallet_status: POOL_WALLET_STATUS_SQL,
  sales_stop_reaches_wallets: SALES_STOP_REACHES_WALLETS_SQL,
};
