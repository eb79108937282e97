-- Which of these deposits of the project were returned, and whether the return was paid. With the owner’s rights:
-- outflows of addresses belong to the service.
CREATE OR REPLACE FUNCTION project_deposit_returns(p_deposits bigint[]) RETURNS TABLE (deposit_id bigint, is_paid boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT r.deposit_id, EXISTS (SELECT FROM deposit_movement m WHERE m.txid = r.txid AND m.address = d.address
    AND m.asset = d.asset AND m.amount < 0 AND m.kind <> 'fee' AND m.counterparty = r.to_address)
    FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id
   WHERE r.deposit_id = ANY (p_deposits) AND d.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$;

REVOKE EXECUTE ON FUNCTION project_deposit_returns FROM PUBLIC;
