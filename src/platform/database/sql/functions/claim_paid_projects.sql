-- Locks the balances of projects, and the projects against deletion. Skips locked projects, but waits up to 250 ms for
-- each of p_waits of them. Returns the projects that it locked.
CREATE OR REPLACE FUNCTION claim_paid_projects(p_projects uuid[], p_waits integer) RETURNS SETOF uuid
LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
DECLARE
  v_claimed uuid[];
  v_project uuid;
BEGIN
  SELECT coalesce(array_agg(c.project_id), '{}') INTO v_claimed FROM (
    SELECT a.project_id FROM credit_account a JOIN project p ON p.id = a.project_id
     WHERE a.project_id = ANY (p_projects) ORDER BY a.project_id
     FOR NO KEY UPDATE OF a SKIP LOCKED FOR KEY SHARE OF p SKIP LOCKED) c;
  FOR v_project IN SELECT x FROM unnest(p_projects) x WHERE x <> ALL (v_claimed) ORDER BY x LIMIT p_waits LOOP
    BEGIN
      PERFORM FROM credit_account a JOIN project p ON p.id = a.project_id
        WHERE a.project_id = v_project FOR NO KEY UPDATE OF a FOR KEY SHARE OF p;
      v_claimed := v_claimed || v_project;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  RETURN QUERY SELECT unnest(v_claimed);
END $$;

REVOKE EXECUTE ON FUNCTION claim_paid_projects FROM PUBLIC;
