-- The ledger. Rows are only added; entries of test orders alone may be deleted.
CREATE TABLE credit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The unique reason of the entry: charge:<order>, refund:<order>, topup:<reference>, adjustment:<reference> and so
  -- on.
  entry_key text NOT NULL UNIQUE,
  project_id uuid NOT NULL,
  -- The other side of the entry. It gets the same amount with the opposite sign, so the ledger balances by design.
  contra text NOT NULL,
  kind text NOT NULL,
  credits bigint NOT NULL,
  order_id bigint,
  actor text,
  reason text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The key that pays.
  api_key_id uuid
);

-- The entries of one project in order: the sum that proves its balance.
CREATE INDEX credit_entry_project ON credit_entry (project_id, id);
-- Entries of a project between two times, newest first. Ids are not in the order of time, and a page deep in the past
-- must not cost more than the first page.
CREATE INDEX credit_entry_time ON credit_entry (project_id, created_at, id);
-- Reports read by time. The table grows with time, so a summary of each range of pages is enough; a row index would
-- cost each order two more writes.
CREATE INDEX credit_entry_created_at ON credit_entry USING brin (created_at)
  WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX credit_entry_compensation ON credit_entry (order_id) WHERE kind = 'compensation';

CREATE TRIGGER credit_entry_append_only BEFORE UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_entry_kept BEFORE DELETE ON credit_entry FOR EACH ROW
  WHEN (old.contra <> 'test'::text)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_entry_guard BEFORE INSERT OR UPDATE ON credit_entry FOR EACH ROW
  EXECUTE FUNCTION credit_entry_guard();
CREATE TRIGGER credit_entry_no_truncate BEFORE TRUNCATE ON credit_entry FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_entry_compensates AFTER INSERT ON credit_entry FOR EACH ROW
  WHEN (new.kind = 'compensation'::text)
  EXECUTE FUNCTION order_compensated();
