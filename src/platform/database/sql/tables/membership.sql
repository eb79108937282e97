-- A person's role in a project or among the operators.
CREATE TABLE membership (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person_id uuid NOT NULL,
  audience text NOT NULL,
  project_id uuid REFERENCES project (id),
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT membership_person_id_audience_fkey FOREIGN KEY (person_id, audience) REFERENCES person (id, audience),
  CONSTRAINT membership_check CHECK ((audience = 'operator') = (project_id IS NULL)),
  CONSTRAINT membership_role CHECK (
    CASE audience WHEN 'operator' THEN role IN ('admin', 'support') ELSE role IN ('owner', 'member') END
  )
);

-- One role per person in a project, and one among the operators.
CREATE UNIQUE INDEX membership_project ON membership (project_id, person_id) WHERE project_id IS NOT NULL;
-- The memberships of a person, read with every request.
CREATE INDEX membership_person ON membership (person_id);
CREATE UNIQUE INDEX membership_operator ON membership (person_id) WHERE project_id IS NULL;

ALTER TABLE membership ENABLE ROW LEVEL SECURITY;
CREATE POLICY membership_of_audience ON membership
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');
