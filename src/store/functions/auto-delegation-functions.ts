/**
 * What buys for auto-delegations: one purchase per number, charged against the cap in the transaction that charges the
 * balance, in the order of locks of every purchase: order key → slots → ledger entry → auto-delegation → key cap → balance.
 */
import { REFILL_LEAD_SEC } from '../../domain/order-state.js';
import { LOCK_WAIT_MS, REFUSAL_SQLSTATE } from './accept-order.js';

/** Names the purchase that the ledger entry of the same transaction is made for: id, fence, number, what is bought. */
const NAME_ORDER = `
  PERFORM set_config('energy.auto_delegation', p_auto || ':' || p_fence || ':' || p_number || ':order', true);`;
const NAME_EXTENSION = `
  PERFORM set_config('energy.auto_delegation', p_auto || ':' || p_fence || ':' || p_number || ':extension', true);`;

/**
 * Takes an order for an auto-delegation, under the key of its number. p_fence: of the check that found the need; another
 * check or change since has raised it, and then nothing is bought. p_refusal: what is known against the order.
 * A refusal leaves nothing: one that take_order answers instead of raising is raised here.
 */
const BUY_SQL = `
CREATE OR REPLACE FUNCTION buy_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_energy bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_amount bigint, p_leg_slack bigint, p_legs_max integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT ${LOCK_WAIT_MS.toString()},
  OUT created boolean, OUT order_id bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
  v_refusal text;
  v_same boolean;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;${NAME_ORDER}
  SELECT t.refusal, t.created, t.order_id, t.same_request INTO v_refusal, created, order_id, v_same
    FROM take_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, 'rental', NULL, NULL,
      v_auto.address, p_energy, p_duration, p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal,
      p_request_id, p_legs_max, p_lock_ms) t;
  IF v_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', v_refusal USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  -- Callers could take such keys before they were kept for this: the number is passed over.
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$`;

/**
 * Extends a rental of the auto-delegation's own, under the key of its number; all else as the purchase of an order. One
 * that somebody has extended since the check began ends later than it was seen to, and is left as it is.
 */
const EXTEND_SQL = `
CREATE OR REPLACE FUNCTION extend_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT ${LOCK_WAIT_MS.toString()},
  OUT created boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  IF NOT EXISTS (SELECT FROM open_orders o WHERE o.id = p_order AND o.project_id = v_auto.project_id
                    AND o.key LIKE 'auto\\_' || p_auto || '\\_%') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;${NAME_EXTENSION}
  SELECT x.created INTO created
    FROM extend_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, p_order, p_duration,
      p_price, p_credits, p_rate, p_head, p_longest, p_refusal, p_request_id, p_lock_ms) x;
  -- Read under the row's lock, which extend_order holds.
  IF created AND EXISTS (
      SELECT FROM open_orders o WHERE o.id = p_order
         AND o.ends_at - p_duration * interval '1 second' > p_head + interval '${REFILL_LEAD_SEC.toString()} seconds') THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$`;

/**
 * With the ledger entry of a purchase: takes its number, opens it where it is an order, and charges the day's cap, under
 * the row's lock. Of a hundred who saw the same need one finds the row as it was. A refund lowers what was spent on the
 * day of its charge.
 */
const CHARGE_SQL = `
CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_purchase text[] := string_to_array(current_setting('energy.auto_delegation', true), ':');
     v_key text;
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       SELECT o.key INTO v_key FROM open_orders o WHERE o.id = NEW.order_id;
       IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
         UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - NEW.credits, 0)
           FROM credit_entry c
          WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = NEW.project_id
            AND c.entry_key = 'charge:' || NEW.order_id AND a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       END IF;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE auto_delegation a
          SET purchases = v_purchase[3]::bigint,
              open_order_id = CASE v_purchase[4] WHEN 'order' THEN NEW.order_id END,
              spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(a.spent_on, v_today)
        WHERE a.id = v_purchase[1]::bigint AND a.project_id = NEW.project_id AND a.fence = v_purchase[2]::bigint
          AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL
          AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits <= a.daily_cap_credits
       RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The key that set it goes on ordering for it as long as it may order.
         IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                         WHERE a.id = v_purchase[1]::bigint AND 'order' = ANY (k.scopes)) THEN
           RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = '${REFUSAL_SQLSTATE}';
         END IF;
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_purchase[1]::bigint;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM auto_delegation a
            WHERE a.id = v_purchase[1]::bigint AND a.fence = v_purchase[2]::bigint
              AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = '${REFUSAL_SQLSTATE}';
     END LOOP;
   END $$`;

/**
 * When an order of an auto-delegation is delivered or over, or its rental ends: the address is checked again. Without the time of
 * its next change, by which that check knows that it is the first one after this.
 */
const ORDER_MOVED_SQL = `
CREATE OR REPLACE FUNCTION auto_delegation_order_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     IF NEW.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
       UPDATE auto_delegation a
          SET open_order_id = CASE WHEN a.open_order_id = NEW.id AND NEW.status IN ('delivered', 'refunded') THEN NULL
                                   ELSE a.open_order_id END,
              due_at = CASE WHEN a.asleep THEN a.due_at ELSE clock_timestamp() END, change_at = NULL, fence = a.fence + 1
        WHERE a.id = split_part(NEW.key, '_', 2)::bigint AND a.project_id = NEW.project_id;
     END IF;
     RETURN NULL;
   END $$`;

/** What events and answers share of an auto-delegation, as it is now. */
const SNAPSHOT = `json_build_object('auto_delegation', row_to_json(NEW))`;

const CHANGED_SQL = `
CREATE OR REPLACE FUNCTION auto_delegation_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id,
             CASE WHEN NEW.pause_reason IS NULL THEN 'auto_delegation.resumed' ELSE 'auto_delegation.paused' END,
             ${SNAPSHOT});
     RETURN NULL;
   END $$`;

export const AUTO_DELEGATION_FUNCTIONS: Readonly<Record<string, string>> = {
  buy_for_auto_delegation: BUY_SQL,
  extend_for_auto_delegation: EXTEND_SQL,
  charge_auto_delegation: CHARGE_SQL,
  auto_delegation_order_moved: ORDER_MOVED_SQL,
  auto_delegation_changed: CHANGED_SQL,
};
