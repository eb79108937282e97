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

/** The primary key of a project is made with it, and has the secret of its row. */
const PROJECT_PRIMARY_KEY_SQL = `
CREATE OR REPLACE FUNCTION project_primary_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       INSERT INTO api_key (id, project_id, name, scopes, sealed)
       VALUES (NEW.id, NEW.id, 'primary', '{read,quote,order,manage}', NEW.api_key_sealed);
     ELSE
       UPDATE api_key SET sealed = NEW.api_key_sealed WHERE id = NEW.id;
     END IF;
     RETURN NULL;
   END $$`;

/**
 * Charges the daily cap of the key that pays, with the ledger entry: after the entry's row and before the balance's, as the
 * order of locks has it. A refund lowers what was spent on the day of its charge. With the owner's rights: whoever makes
 * entries has none on what keys have spent.
 */
const CHARGE_API_KEY_SQL = `
CREATE OR REPLACE FUNCTION charge_api_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_key uuid := coalesce(NEW.api_key_id, NEW.project_id);
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       UPDATE api_key k SET spent_credits = greatest(k.spent_credits - NEW.credits, 0)
         FROM credit_entry c
        WHERE c.entry_key = 'charge:' || NEW.order_id AND k.id = coalesce(c.api_key_id, c.project_id)
          AND k.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE api_key k
          SET spent_credits = CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(k.spent_on, v_today)
        WHERE k.id = v_key AND k.project_id = NEW.project_id AND k.revoked_at IS NULL
          AND (k.daily_cap_credits IS NULL OR
               CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END - NEW.credits <= k.daily_cap_credits)
       RETURNING k.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE api_key SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_key;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM api_key k WHERE k.id = v_key AND k.project_id = NEW.project_id AND k.revoked_at IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'INVALID_SIGNATURE' END USING ERRCODE = 'ER001';
     END LOOP;
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
  charge_api_key: CHARGE_API_KEY_SQL,
  project_primary_key: PROJECT_PRIMARY_KEY_SQL,
  pool_wallet_status: POOL_WALLET_STATUS_SQL,
  sales_stop_reaches_wallets: SALES_STOP_REACHES_WALLETS_SQL,
};
