-- Blocks that the search for unrecorded transactions passed without knowing their content, until a node answers.
CREATE TABLE unsearched_block (
  number bigint PRIMARY KEY,
  tries integer NOT NULL DEFAULT 0
);
