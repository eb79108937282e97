-- Writes an order's key in the statement that inserts the order. Refuses the order if the key belongs to an
-- extension, whose key extend_order writes.
CREATE OR REPLACE FUNCTION keep_order_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO order_key (project_id, key, order_id) VALUES (NEW.project_id, NEW.key, NEW.id) ON CONFLICT DO NOTHING;
     IF NOT FOUND THEN
       RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = 'ER001';
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION keep_order_key FROM PUBLIC;
