-- Subtracts a refunded charge from the amounts spent on the day of the charge: first of the order's auto-delegation, then
-- of the key that paid. Called after the ledger entry of the refund and before the balance moves, by the lock order.
-- With the owner's rights: roles that write entries may not change the spent amounts of keys.
CREATE OR REPLACE FUNCTION return_to_caps(p_order bigint, p_project uuid, p_credits bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_key text;
  v_paid_by uuid;
  v_charged_on date;
BEGIN
  SELECT coalesce(c.api_key_id, c.project_id), (c.created_at AT TIME ZONE 'UTC')::date INTO v_paid_by, v_charged_on
    FROM credit_entry c WHERE c.entry_key = 'charge:' || p_order AND c.project_id = p_project;
  SELECT o.key INTO v_key FROM open_orders o WHERE o.id = p_order;
  IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
    UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - p_credits, 0)
     WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = p_project AND a.spent_on = v_charged_on;
  END IF;
  UPDATE api_key k SET spent_credits = greatest(k.spent_credits - p_credits, 0)
   WHERE k.id = v_paid_by AND k.spent_on = v_charged_on;
END $$;

REVOKE EXECUTE ON FUNCTION return_to_caps FROM PUBLIC;
