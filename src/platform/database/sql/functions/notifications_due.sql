-- Memberships whose log has new events since their last mail, for the console that mails merchants. The limits of
-- 4401 s and 181 s end a due time or a lease that a later clock wrote.
CREATE OR REPLACE FUNCTION notifications_due(p_limit integer) RETURNS TABLE (membership_id bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN event_position p ON p.project_id = m.project_id
    JOIN person r ON r.id = m.person_id AND r.address_proven_at IS NOT NULL
   WHERE n.audience = 'merchant' AND n.kinds <> '{}'
     AND (n.due_at <= clock_timestamp() OR n.due_at > clock_timestamp() + interval '4401 seconds')
     AND (n.lease_until IS NULL OR n.lease_until < clock_timestamp() OR n.lease_until > clock_timestamp() + interval '181 seconds')
     AND p.position > n.position
   ORDER BY n.due_at LIMIT p_limit
$$;

REVOKE EXECUTE ON FUNCTION notifications_due FROM PUBLIC;
