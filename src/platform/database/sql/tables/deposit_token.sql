-- The token that deposits are paid in, and its successors.
CREATE TABLE deposit_token (
  contract text PRIMARY KEY,
  -- The token before it; null for the first.
  replaces text UNIQUE REFERENCES deposit_token (contract),
  -- Transfers of this token count from this block on, until those of its successor do.
  from_block bigint NOT NULL UNIQUE CHECK (from_block >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- There is one first token, whichever process records it.
CREATE UNIQUE INDEX deposit_token_first ON deposit_token ((replaces IS NULL)) WHERE replaces IS NULL;

CREATE TRIGGER deposit_token_kept BEFORE DELETE OR UPDATE OF contract, replaces, created_at ON deposit_token
  FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_token_no_truncate BEFORE TRUNCATE ON deposit_token FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
