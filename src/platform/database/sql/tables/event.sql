-- Moves of orders and events of the projects' logs. An event gets its position when the numberer reaches it.
CREATE TABLE event (
  id bigint CONSTRAINT order_event_id_not_null NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id bigint,
  from_status text,
  to_status text,
  at timestamptz CONSTRAINT order_event_at_not_null NOT NULL DEFAULT clock_timestamp(),
  chain_at timestamptz,
  project_id uuid,
  type text,
  snapshot json,
  position bigint,
  payload text
);

-- A project's log in order. Pruned events are not in it.
CREATE UNIQUE INDEX event_log ON event (project_id, position) WHERE payload IS NOT NULL;
-- The history of an order.
CREATE INDEX event_order ON event (order_id);
-- The next rows for the numberer: few, whatever the size of the table.
CREATE INDEX event_unnumbered ON event (id) WHERE position IS NULL AND type IS NOT NULL;

-- A row gets its position and payload once. Pruning removes the payload and keeps the row.
CREATE TRIGGER event_changes BEFORE UPDATE ON event FOR EACH ROW
  WHEN (NOT (old.id = new.id
      AND NOT old.order_id IS DISTINCT FROM new.order_id
      AND NOT old.from_status IS DISTINCT FROM new.from_status
      AND NOT old.to_status IS DISTINCT FROM new.to_status
      AND old.at = new.at
      AND NOT old.chain_at IS DISTINCT FROM new.chain_at
      AND NOT old.project_id IS DISTINCT FROM new.project_id
      AND NOT old.type IS DISTINCT FROM new.type
      AND new.snapshot IS NULL
      AND (old."position" IS NULL AND old.type IS NOT NULL AND new."position" IS NOT NULL AND new.payload IS NOT NULL
        OR old."position" IS NOT NULL AND NOT old."position" IS DISTINCT FROM new."position" AND new.payload IS NULL)))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_first BEFORE INSERT ON event FOR EACH ROW
  WHEN ((new."position" IS NOT NULL
      OR new.payload IS NOT NULL)
    AND new.type IS DISTINCT FROM 'log.restarted'::text)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_kept BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION kept_unless_test();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_numbered AFTER UPDATE ON event
  REFERENCING NEW TABLE AS numbered
  FOR EACH STATEMENT
  EXECUTE FUNCTION webhook_fan_out_batch();
-- The only event that is inserted with its position.
CREATE TRIGGER event_restarted AFTER INSERT ON event FOR EACH ROW
  WHEN (new."position" IS NOT NULL)
  EXECUTE FUNCTION webhook_fan_out();
