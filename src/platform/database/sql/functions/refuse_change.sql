-- Refuses every change of a table whose rows are only added, or kept.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$;

REVOKE EXECUTE ON FUNCTION refuse_change FROM PUBLIC;
