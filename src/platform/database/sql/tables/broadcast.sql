-- Every answer of a node to a broadcast transaction.
CREATE TABLE broadcast (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain_tx_id bigint NOT NULL,
  node text NOT NULL,
  -- The answer of the node. It proves nothing either way.
  answer text NOT NULL,
  message text,
  sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX broadcast_tx ON broadcast (chain_tx_id);

CREATE TRIGGER broadcast_no_truncate BEFORE TRUNCATE ON broadcast FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
