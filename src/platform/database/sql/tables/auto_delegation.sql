-- Addresses that are kept supplied with energy.
CREATE TABLE auto_delegation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  address text NOT NULL,
  api_key_id uuid NOT NULL,
  keep_energy bigint NOT NULL CHECK (keep_energy > 0),
  refill_below bigint NOT NULL,
  duration_sec integer NOT NULL CHECK (duration_sec > 0),
  max_sun_per_energy bigint CHECK (max_sun_per_energy > 0),
  daily_cap_credits bigint NOT NULL CHECK (daily_cap_credits >= 0),
  idle_after_sec integer NOT NULL CHECK (idle_after_sec > 0),
  until timestamptz,
  asleep boolean NOT NULL DEFAULT false,
  pause_reason text,
  paused_at timestamptz,
  failures smallint NOT NULL DEFAULT 0,
  purchases bigint NOT NULL DEFAULT 0,
  open_order_id bigint,
  spent_credits bigint NOT NULL DEFAULT 0 CHECK (spent_credits >= 0),
  spent_on date NOT NULL DEFAULT '1970-01-01',
  used_block bigint,
  used_block_id bytea,
  used_at timestamptz,
  usable_energy bigint,
  checked_at timestamptz,
  due_at timestamptz,
  change_at timestamptz,
  check_at timestamptz,
  fence bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The fence of a running check. Raising the fence ends that check.
  lease_fence bigint,
  due_again boolean NOT NULL DEFAULT false,
  -- True if the service chooses the duration of each purchase; duration_sec is then the one it starts with.
  auto_duration boolean NOT NULL DEFAULT false,
  -- The blocks with a use in each UTC day of the chain's clock: in the day uses_on and the days before it, newest first.
  uses_on date,
  daily_uses integer[],
  -- The transfer that sizes refills, and the energy that it last needed. keep_energy and refill_below are then the least.
  transfer json,
  transfer_energy bigint CHECK (transfer_energy >= 0),
  -- One for each address of a project.
  CONSTRAINT auto_delegation_address UNIQUE (project_id, address),
  CONSTRAINT auto_delegation_check CHECK (refill_below > 0 AND refill_below <= keep_energy),
  CONSTRAINT auto_delegation_check1 CHECK ((paused_at IS NULL) = (pause_reason IS NULL))
) WITH (fillfactor = 80);

-- Which auto-delegations the addresses in a block belong to.
CREATE INDEX auto_delegation_used ON auto_delegation (address);
-- A page of a project, newest first.
CREATE INDEX auto_delegation_project ON auto_delegation (project_id, id DESC);
-- Three queues: what is due now, what changes with a rental, and what the slow round checks.
CREATE INDEX auto_delegation_due ON auto_delegation (due_at) WHERE due_at IS NOT NULL;
-- Each project's next row in the queue and in the slow round, so that projects take turns.
CREATE INDEX auto_delegation_due_in_turn ON auto_delegation (project_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX auto_delegation_change ON auto_delegation (change_at) WHERE change_at IS NOT NULL;
CREATE INDEX auto_delegation_check ON auto_delegation (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX auto_delegation_check_in_turn ON auto_delegation (project_id, check_at) WHERE check_at IS NOT NULL;

CREATE TRIGGER auto_delegation_changed AFTER UPDATE ON auto_delegation FOR EACH ROW
  WHEN (old.pause_reason IS DISTINCT FROM new.pause_reason)
  EXECUTE FUNCTION auto_delegation_changed();
CREATE TRIGGER auto_delegation_live BEFORE INSERT ON auto_delegation FOR EACH ROW
  EXECUTE FUNCTION refuse_test_project();
CREATE TRIGGER auto_delegation_no_truncate BEFORE TRUNCATE ON auto_delegation FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
