-- The compensations of one order, with the reason that its project sees.
CREATE OR REPLACE FUNCTION project_order_compensations(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$;

REVOKE EXECUTE ON FUNCTION project_order_compensations FROM PUBLIC;
