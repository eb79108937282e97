-- The moves among the events, under the name of their former table.
CREATE VIEW order_event AS
  SELECT id, order_id, from_status, to_status, at, chain_at FROM event WHERE to_status IS NOT NULL;

CREATE TRIGGER order_event_no_truncate INSTEAD OF DELETE ON order_event FOR EACH ROW EXECUTE FUNCTION keep_moves();
