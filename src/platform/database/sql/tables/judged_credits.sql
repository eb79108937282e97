-- The sum of each project over the entries up to reconcile_state.entries_to.
CREATE TABLE judged_credits (
  project_id uuid PRIMARY KEY,
  credits bigint NOT NULL
);
