-- Recovery codes of second factors.
CREATE TABLE recovery_code (
  code_hash bytea PRIMARY KEY,
  person_id uuid NOT NULL,
  audience text NOT NULL,
  CONSTRAINT recovery_code_person_id_audience_fkey FOREIGN KEY (person_id, audience) REFERENCES person (id, audience)
);

CREATE INDEX recovery_code_person ON recovery_code (person_id);

ALTER TABLE recovery_code ENABLE ROW LEVEL SECURITY;
CREATE POLICY recovery_code_of_audience ON recovery_code
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');
