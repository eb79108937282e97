-- Guards ledger entries. Entries of test projects have a contra of their own, which no other project has: play money
-- is no revenue.
CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.contra IN ('revenue', 'funding', 'adjustments', 'test'))
    AND (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation'))
    AND (NEW.credits <> 0)
    AND (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra IN ('funding', 'test') AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END)) THEN
    RAISE EXCEPTION 'ledger entry %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.contra IN ('revenue', 'funding', 'adjustments', 'test')) THEN 'the other side'
      WHEN NOT (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation')) THEN 'kind'
      WHEN NOT (NEW.credits <> 0) THEN 'the amount is not zero'
      WHEN NOT (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra IN ('funding', 'test') AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END) THEN 'sign, other side and order by kind' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'INSERT' AND (NEW.contra = 'test')
     <> coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false) THEN
    RAISE EXCEPTION 'ledger entry %: % is not the other side of its project', NEW.id, NEW.contra USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$;

REVOKE EXECUTE ON FUNCTION credit_entry_guard FROM PUBLIC;
