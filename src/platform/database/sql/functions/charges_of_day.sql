-- The charges of a project on one UTC day, without what was refunded of them, with the key that paid and the
-- auto-delegation that bought. A purchase's request id equals its key; a caller's own order under such a key is no
-- purchase. Only entries after p_after up to p_to.
CREATE OR REPLACE FUNCTION charges_of_day(p_project uuid, p_day date, p_after bigint, p_to bigint) RETURNS TABLE (key_id uuid, auto_id bigint, credits bigint)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(c.api_key_id, c.project_id), CASE WHEN b.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' AND b.key = b.request_id
      THEN split_part(b.key, '_', 2)::bigint END, -c.credits - coalesce(r.credits, 0)
    FROM credit_entry c LEFT JOIN credit_entry r ON r.entry_key = 'refund:' || c.order_id CROSS JOIN LATERAL (
      SELECT o.key, o.request_id FROM orders o WHERE c.entry_key = 'charge:' || c.order_id AND o.id = c.order_id
      UNION ALL SELECT x.key, x.request_id FROM order_extension x
       WHERE x.order_id = c.order_id AND c.entry_key = 'charge:' || x.order_id || ':ext:' || x.number) b
   WHERE c.project_id = p_project AND c.kind = 'charge' AND c.created_at >= p_day::timestamp AT TIME ZONE 'UTC'
     AND c.created_at < (p_day + 1)::timestamp AT TIME ZONE 'UTC' AND c.id > p_after AND c.id <= p_to
     AND -c.credits > coalesce(r.credits, 0)
$$;

REVOKE EXECUTE ON FUNCTION charges_of_day FROM PUBLIC;
