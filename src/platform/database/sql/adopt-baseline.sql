-- Changes the schema of the last version before the baseline into the baseline's. `migrate adopt-baseline` runs it in its
-- transaction, makes the changed functions from the baseline's text (adopt-baseline.ts), and compares the result.

-- The moves of orders under the name of their former table.
DROP VIEW order_event;
DROP FUNCTION keep_moves();

-- The memberships of a person without the kind of project.
DROP FUNCTION console_projects(uuid);

-- An order paid by the primary key.
DROP FUNCTION refuse_or_accept_order(
  uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint, bigint, bigint, bigint, text, text, integer,
  integer);

-- Lists of orders by id; the lists are in the order of time.
DROP INDEX orders_project, orders_project_status, archived_orders_project, archived_orders_project_status;

-- Buyer and payer come as arguments: the defaults of columns and the triggers that charged go, and the functions with
-- fewer arguments.
DROP TRIGGER credit_entry_charges_auto_delegation ON credit_entry;
DROP TRIGGER credit_entry_charges_key ON credit_entry;
DROP FUNCTION charge_auto_delegation();
DROP FUNCTION charge_api_key();
DROP FUNCTION accept_order(
  uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint, bigint, bigint, bigint, text, text, integer,
  integer);
DROP FUNCTION take_order(
  uuid, uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint, bigint, bigint, bigint, text, text,
  integer, integer);
DROP FUNCTION take_order(
  uuid, uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint, bigint, bigint, bigint, text, text,
  integer, integer, text, text);
DROP FUNCTION extend_order(
  uuid, uuid, text, bytea, bigint, integer, bigint, bigint, bigint, timestamptz, integer, text, text, integer);
DROP FUNCTION extend_for_auto_delegation(
  bigint, bigint, bigint, bytea, bigint, integer, bigint, bigint, bigint, timestamptz, integer, text, text, integer);
DROP FUNCTION buy_for_auto_delegation(
  bigint, bigint, bigint, bytea, bigint, integer, bigint, bigint, bigint, bigint, bigint, integer, text, text, integer);
ALTER TABLE orders ALTER COLUMN reference DROP DEFAULT, ALTER COLUMN metadata DROP DEFAULT, ADD COLUMN expected_uses integer,
  ADD COLUMN transfer json, ADD COLUMN energy_fee_sun bigint, ADD COLUMN max_fee_limit_sun bigint;
ALTER TABLE order_extension ADD COLUMN expected_uses integer, ADD COLUMN fee_limit_sun bigint,
  ADD COLUMN fee_limit_capped boolean;
ALTER TABLE auto_delegation ADD COLUMN auto_duration boolean NOT NULL DEFAULT false, ADD COLUMN uses_on date,
  ADD COLUMN daily_uses integer[], ADD COLUMN transfer json, ADD COLUMN transfer_energy bigint CHECK (transfer_energy >= 0);
ALTER TABLE credit_entry ALTER COLUMN api_key_id DROP DEFAULT;

-- The request log has every refusal.
ALTER TABLE refused_request DROP CONSTRAINT refused_request_status_check,
  ADD CONSTRAINT refused_request_status_check CHECK (status BETWEEN 400 AND 499);

-- Decisions on held deposits also wait for a second admin.
ALTER TABLE credit_request DROP CONSTRAINT credit_request_kind_check,
  ADD CONSTRAINT credit_request_kind_check CHECK (kind IN ('topup', 'adjustment', 'deposit', 'refusal'));

-- The same condition in a form that a dump and a restore do not change.
DROP TRIGGER reclaim_usage_final ON reclaim_usage;
CREATE TRIGGER reclaim_usage_final BEFORE UPDATE ON reclaim_usage FOR EACH ROW
  WHEN (old.tx_id IS DISTINCT FROM new.tx_id
    OR old.order_id IS DISTINCT FROM new.order_id
    OR old.receive_address IS DISTINCT FROM new.receive_address
    OR old.used_energy IS DISTINCT FROM new.used_energy
    OR old.limit_energy IS DISTINCT FROM new.limit_energy
    OR old.pool_energy IS DISTINCT FROM new.pool_energy
    OR old.sold_energy IS DISTINCT FROM new.sold_energy
    OR old.taken_energy IS DISTINCT FROM new.taken_energy
    OR old.read_block IS DISTINCT FROM new.read_block
    OR old.read_at IS DISTINCT FROM new.read_at)
  EXECUTE FUNCTION refuse_change();

-- Energy that receivers' calls took from stake while a rental ran, by the receipts of solid blocks, as one node has them.
-- Blocks that were skipped unread are missing. No money depends on it.
CREATE TABLE rental_use (
  order_id bigint PRIMARY KEY,
  energy bigint NOT NULL CHECK (energy > 0),
  calls integer NOT NULL CHECK (calls > 0),
  last_block bigint NOT NULL
);

-- Transactions that people want explained in a console, which asks no node: a worker answers. Rows are kept for a day.
CREATE TABLE explanation_request (
  id uuid PRIMARY KEY,
  -- NULL: an operator asked, and the orders of all projects count.
  project_id uuid REFERENCES project (id),
  txid bytea NOT NULL CHECK (octet_length(txid) = 32),
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When a worker began to answer. It may have died since.
  taken_at timestamptz,
  answered_at timestamptz,
  -- The body of GET /v1/explain/{txid}. NULL in an answered row: no such transaction of the project.
  answer jsonb,
  -- The code of the error that replaces an answer.
  error text CHECK (length(error) BETWEEN 1 AND 100),
  CONSTRAINT explanation_request_answer CHECK (answered_at IS NOT NULL OR (answer IS NULL AND error IS NULL))
);

-- The requests that wait, oldest first; and the open ones of a project, which are limited.
CREATE INDEX explanation_request_open ON explanation_request (requested_at) WHERE answered_at IS NULL;
-- Their deletion a day later.
CREATE INDEX explanation_request_age ON explanation_request (requested_at);

-- The spending of a day is counted again after a jump of the clock.
ALTER TABLE clock_mark ADD COLUMN counted_jump timestamptz;

-- A change of a transaction's status changes no index, unless the transaction becomes final.
DROP INDEX chain_tx_live, chain_tx_included, chain_tx_dead, chain_tx_sending, chain_tx_without_cost;
DROP INDEX archived_chain_tx_live, archived_chain_tx_included, archived_chain_tx_dead, archived_chain_tx_sending,
  archived_chain_tx_without_cost;
ALTER TABLE chain_tx ADD COLUMN stage text NOT NULL GENERATED ALWAYS AS (
  CASE WHEN status IN ('dead', 'dropped') THEN 'dead' WHEN status <> 'solid' THEN 'open'
    WHEN fee_sun IS NULL THEN 'uncosted' ELSE 'final' END) STORED;
CREATE UNIQUE INDEX chain_tx_live ON open_chain_tx (leg_id, purpose) WHERE stage <> 'dead';
CREATE INDEX chain_tx_open ON open_chain_tx (ref_block_number) WHERE stage = 'open';
CREATE INDEX chain_tx_dead ON open_chain_tx (id) WHERE stage = 'dead';
CREATE INDEX chain_tx_without_cost ON open_chain_tx (id) WHERE stage = 'uncosted';
CREATE INDEX archived_chain_tx_live ON archived_chain_tx (leg_id, purpose) WHERE stage <> 'dead';
CREATE INDEX archived_chain_tx_open ON archived_chain_tx (ref_block_number) WHERE stage = 'open';
CREATE INDEX archived_chain_tx_dead ON archived_chain_tx (id) WHERE stage = 'dead';
CREATE INDEX archived_chain_tx_without_cost ON archived_chain_tx (id) WHERE stage = 'uncosted';

-- Bandwidth and activations that are sold beside energy.
ALTER TABLE orders ADD COLUMN bandwidth bigint, ADD COLUMN bandwidth_price_sun bigint, ADD COLUMN bandwidth_credits bigint,
  ADD COLUMN activation_price_sun bigint, ADD COLUMN activation_credits bigint, ADD COLUMN delivered_bandwidth bigint,
  ADD COLUMN kept_credits bigint, ADD COLUMN sun_per_bandwidth_e6 bigint, ADD COLUMN bandwidth_top_up_after timestamptz;
CREATE INDEX orders_standing_bandwidth ON open_orders (sun_per_bandwidth_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND sun_per_bandwidth_e6 IS NOT NULL;
CREATE INDEX archived_orders_standing_bandwidth ON archived_orders (sun_per_bandwidth_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND sun_per_bandwidth_e6 IS NOT NULL;
ALTER TABLE leg ADD COLUMN bandwidth bigint;
ALTER TABLE orphan_tx ADD COLUMN resource text;
UPDATE orphan_tx SET resource = 'ENERGY' WHERE type IN (57, 58);
DROP FUNCTION reserve_capacity(bigint, text, text, bigint, bigint, integer);
DROP FUNCTION take_from_slots(integer, smallint[], bigint, integer);
ALTER TABLE price_row ADD COLUMN sun_per_bandwidth bigint CHECK (sun_per_bandwidth > 0);
ALTER TABLE pool_slot ADD COLUMN free_bandwidth_sun bigint NOT NULL DEFAULT 0 CHECK (free_bandwidth_sun >= 0);
ALTER TABLE pool_wallet ADD COLUMN staked_bandwidth_sun bigint NOT NULL DEFAULT 0,
  ADD COLUMN delegated_bandwidth_sun bigint NOT NULL DEFAULT 0;
