/**
 * What stands in front of accept_order: a refusal that can be told from rows as they stand costs no write. Nothing here
 * accepts an order.
 */

/** Why an order without a quote would be refused; null where it may be accepted, or where the key was taken before. */
export const ORDER_REFUSAL_SQL = `
CREATE OR REPLACE FUNCTION order_refusal(
  p_project uuid, p_api_key uuid, p_key text, p_credits bigint, p_refusal text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_refusal text;
BEGIN
  SELECT CASE
      WHEN p_refusal IS NOT NULL THEN p_refusal
      WHEN a.frozen THEN 'PROJECT_FROZEN'
      WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
      WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
        THEN 'SPEND_CAP_REACHED'
      WHEN CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits > k.daily_cap_credits
        THEN 'SPEND_CAP_REACHED' END
    INTO v_refusal FROM credit_account a JOIN api_key k ON k.id = p_api_key
   WHERE a.project_id = p_project
     AND NOT EXISTS (SELECT FROM order_key o WHERE o.project_id = p_project AND o.key = p_key);
  RETURN v_refusal;
END $$`;

/**
 * The same for many orders at once, in their order; null too where another request of the same key is under way, which
 * only take_order waits for. p_lock_ms: how long it waits for each lock of others.
 */
export const ORDER_REFUSALS_SQL = `
CREATE OR REPLACE FUNCTION order_refusals(
  p_projects uuid[], p_api_keys uuid[], p_keys text[], p_credits bigint[], p_refusals text[], p_lock_ms integer
) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  FOR i IN 1 .. cardinality(p_keys) LOOP
    RETURN NEXT CASE WHEN pg_try_advisory_xact_lock(1, hashtext(p_projects[i] || p_keys[i]))
      THEN order_refusal(p_projects[i], p_api_keys[i], p_keys[i], p_credits[i], p_refusals[i]) END;
  END LOOP;
END $$`;

/**
 * In front of accept_order: an order without a quote that would be refused for what is known of it, or for the balance or
 * the caps as they stand, is refused before anything is written, and by an answer instead of an error. It decides no
 * acceptance: that is accept_order’s, under its locks. The key that pays is p_api_key. Labels come to
 * the order's row, as that key to its ledger entry, by the defaults of columns: accept_order knows of neither.
 */
export const TAKE_ORDER_SQL = `
CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  p_reference text, p_metadata text,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
BEGIN
  -- The ledger entry of the charge is made under the first, the order's row under the others.
  PERFORM set_config('energy.api_key', p_api_key::text, true), set_config('energy.reference', p_reference, true),
          set_config('energy.metadata', p_metadata, true);
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    refusal := order_refusal(p_project, p_api_key, p_key, p_credits, p_refusal);
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
END $$`;

/** The same without labels: what auto-delegations buy by, and the version before. */
export const TAKE_UNLABELLED_ORDER_SQL = `
CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.refusal, t.created, t.order_id, t.order_created_at, t.same_request
    INTO refusal, created, order_id, order_created_at, same_request
    FROM take_order(p_project, p_api_key, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                    p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max, p_lock_ms,
                    NULL, NULL) t;
END $$`;

/** What the version before calls in its place: the primary key pays. */
export const REFUSE_OR_ACCEPT_ORDER_SQL = `
CREATE OR REPLACE FUNCTION refuse_or_accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    SELECT CASE
        WHEN p_refusal IS NOT NULL THEN p_refusal
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
          THEN 'SPEND_CAP_REACHED' END
      INTO refusal FROM credit_account a
     WHERE a.project_id = p_project
       AND NOT EXISTS (SELECT FROM order_key o WHERE o.project_id = p_project AND o.key = p_key);
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
END $$`;
