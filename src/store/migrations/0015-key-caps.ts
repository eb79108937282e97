/**
 * The daily cap of a key, charged with the ledger entry and so in the statement that charges the balance, before it. Which
 * key pays is said to take_order; the version before calls refuse_or_accept_order, and the primary key pays.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Apart: a default in ADD COLUMN would be worked out for the rows there are.
  `ALTER TABLE credit_entry ADD COLUMN api_key_id uuid`,
  `ALTER TABLE credit_entry ALTER COLUMN api_key_id SET DEFAULT nullif(current_setting('energy.api_key', true), '')::uuid`,
  `CREATE OR REPLACE FUNCTION charge_api_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
   END $$`,
  `REVOKE EXECUTE ON FUNCTION charge_api_key() FROM PUBLIC`,
  `CREATE TRIGGER credit_entry_charges_key AFTER INSERT ON credit_entry FOR EACH ROW
     WHEN (NEW.kind IN ('charge', 'refund')) EXECUTE FUNCTION charge_api_key()`,
  `CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  -- The ledger entry of the charge is made under it.
  PERFORM set_config('energy.api_key', p_api_key::text, true);
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    SELECT CASE
        WHEN p_refusal IS NOT NULL THEN p_refusal
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
          THEN 'SPEND_CAP_REACHED'
        WHEN CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits > k.daily_cap_credits
          THEN 'SPEND_CAP_REACHED' END
      INTO refusal FROM credit_account a JOIN api_key k ON k.id = p_api_key
     WHERE a.project_id = p_project
       AND NOT EXISTS (SELECT FROM orders o WHERE o.project_id = p_project AND o.key = p_key);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
    PERFORM set_config('lock_timeout', v_key_wait, true);
  END IF;
  SELECT a.created, a.order_id, a.order_created_at, a.same_request
    INTO created, order_id, order_created_at, same_request
    FROM accept_order(p_project, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                      p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max,
                      p_lock_ms) a;
END $$`,
  `REVOKE EXECUTE ON FUNCTION take_order FROM PUBLIC`,
];

const DOWN = [
  `DROP FUNCTION take_order`,
  `DROP TRIGGER credit_entry_charges_key ON credit_entry`,
  `DROP FUNCTION charge_api_key()`,
  `ALTER TABLE credit_entry DROP COLUMN api_key_id`,
];

export class KeyCaps1760000000015 implements MigrationInterface {
  readonly name = 'KeyCaps1760000000015';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
