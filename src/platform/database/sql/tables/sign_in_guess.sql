-- Sign-in attempts, named by a keyed hash: the table names no account, device or address.
CREATE TABLE sign_in_guess (
  key bytea PRIMARY KEY,
  guesses integer NOT NULL,
  window_ends timestamptz NOT NULL
);

CREATE INDEX sign_in_guess_ends ON sign_in_guess (window_ends);
