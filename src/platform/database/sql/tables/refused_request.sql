-- Requests refused in the last days, with the reason. Ids grow with time, so the oldest rows are found by id.
CREATE TABLE refused_request (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  at timestamptz NOT NULL,
  request_id text NOT NULL CHECK (length(request_id) <= 128),
  method text NOT NULL CHECK (length(method) <= 16),
  path text NOT NULL CHECK (length(path) <= 300),
  status smallint NOT NULL CHECK (status BETWEEN 400 AND 499),
  error text NOT NULL CHECK (length(error) <= 64),
  reason text NOT NULL CHECK (length(reason) <= 500),
  source_address text NOT NULL CHECK (length(source_address) <= 64),
  key_id uuid,
  omitted integer NOT NULL DEFAULT 0 CHECK (omitted >= 0)
);

-- Read page by page, and cut to the newest, for one project.
CREATE INDEX refused_request_project ON refused_request (project_id, id);
