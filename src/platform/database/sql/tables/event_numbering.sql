-- One row: the server on which the numberer last worked, and the last pruned event.
CREATE TABLE event_numbering (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  server_mark text,
  pruned_id bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO event_numbering DEFAULT VALUES;
