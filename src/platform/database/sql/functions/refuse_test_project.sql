-- Refuses rows of test projects in a table that they may not use.
CREATE OR REPLACE FUNCTION refuse_test_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM project p WHERE p.id = NEW.project_id AND p.test) THEN
       RAISE EXCEPTION '%: a test project has none', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION refuse_test_project FROM PUBLIC;
