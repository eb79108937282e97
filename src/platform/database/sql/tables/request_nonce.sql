-- Nonces of signed requests while Redis is away. Logged: a nonce that a crash of the server lost could be used again.
CREATE TABLE request_nonce (
  project_id uuid NOT NULL,
  nonce text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, nonce)
);

-- Expired nonces are deleted.
CREATE INDEX request_nonce_expires_at ON request_nonce (expires_at);
