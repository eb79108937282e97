-- Counts the pending deliveries of an endpoint, up to p_most. Any plan without the index reads all of them or the
-- whole table.
CREATE OR REPLACE FUNCTION webhook_pending(p_endpoint uuid, p_most integer) RETURNS integer
  LANGUAGE sql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT count(*)::int FROM
    (SELECT FROM webhook_delivery d WHERE d.endpoint_id = p_endpoint AND d.status = 'pending' LIMIT p_most) d
$$;

REVOKE EXECUTE ON FUNCTION webhook_pending FROM PUBLIC;
