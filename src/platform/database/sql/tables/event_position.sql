-- The last position of each project's log, and the position up to which the log was pruned.
CREATE TABLE event_position (
  project_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  pruned_to bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
