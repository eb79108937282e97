/**
 * The first schema: projects and their credits, orders with legs and chain transactions, the pool, market state.
 * No foreign keys on the order path: each would take a key-share lock on the hot balance or wallet row; `verify`
 * looks for the orphans they would have refused.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ACCEPT_ORDER_SQL, RESERVE_CAPACITY_SQL, TAKE_FROM_SLOTS_SQL } from '../accept-order.js';
import { ROW_GUARDS } from '../row-guards.js';

const PROJECT = [
  `CREATE TABLE project (
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    api_key_sealed bytea NOT NULL,
    require_idempotency_key boolean NOT NULL DEFAULT false,
    require_quote boolean NOT NULL DEFAULT false,
    allowed_sources text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  )`,
  // Terms stand beside the balance, so that the one update which charges also judges them under one row lock.
  `CREATE TABLE credit_account (
    project_id uuid PRIMARY KEY REFERENCES project,
    balance_credits bigint NOT NULL DEFAULT 0,
    is_postpaid boolean NOT NULL DEFAULT false,
    -- How low a charge may take the balance: 0 prepaid, -debt limit postpaid, null postpaid without a limit.
    floor_credits bigint DEFAULT 0 CHECK (floor_credits <= 0),
    frozen boolean NOT NULL DEFAULT false,
    daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
    spent_on date NOT NULL DEFAULT 'epoch',
    spent_credits bigint NOT NULL DEFAULT 0,
    CHECK (is_postpaid OR floor_credits IS NOT DISTINCT FROM 0)
  ) WITH (fillfactor = 50)`,
  `CREATE TABLE credit_entry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What this entry is for, once: charge:<order>, refund:<order>, topup:<reference>, adjustment:<reference>.
    entry_key text NOT NULL UNIQUE,
    project_id uuid NOT NULL,
    -- The other side of the entry: it gets the same amount with the opposite sign, so the books balance by shape.
    contra text NOT NULL,
    kind text NOT NULL,
    credits bigint NOT NULL,
    order_id bigint,
    actor text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  // Statements, and the sum that proves a balance: one project's entries in order.
  `CREATE INDEX credit_entry_project ON credit_entry (project_id, id)`,
  `CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$`,
  `CREATE TRIGGER credit_entry_append_only BEFORE UPDATE OR DELETE ON credit_entry
   FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_entry_no_truncate BEFORE TRUNCATE ON credit_entry
   FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  // Every API process drops its cached record of a project at once.
  `CREATE FUNCTION announce_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('project_changed', to_jsonb(NEW) ->> TG_ARGV[0]);
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER project_announced AFTER INSERT OR UPDATE ON project
   FOR EACH ROW EXECUTE FUNCTION announce_project('id')`,
  `CREATE TRIGGER credit_account_announced AFTER UPDATE ON credit_account FOR EACH ROW
   WHEN (OLD.frozen IS DISTINCT FROM NEW.frozen OR OLD.is_postpaid IS DISTINCT FROM NEW.is_postpaid
      OR OLD.floor_credits IS DISTINCT FROM NEW.floor_credits
      OR OLD.daily_cap_credits IS DISTINCT FROM NEW.daily_cap_credits)
   EXECUTE FUNCTION announce_project('project_id')`,
];

const ORDERS = [
  `CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    quote_id uuid,
    kind text NOT NULL,
    status text NOT NULL,
    receive_address text NOT NULL,
    energy bigint,
    duration_sec integer,
    price_sun bigint NOT NULL,
    credits bigint NOT NULL,
    trx_usd_e8 bigint NOT NULL,
    request_id text,
    settled boolean NOT NULL DEFAULT false,
    -- Set while a failed order takes back what other legs had delivered.
    undoing boolean NOT NULL DEFAULT false,
    needs_attention boolean NOT NULL DEFAULT false,
    error_code text,
    error text,
    delivered_energy bigint,
    created_at timestamptz NOT NULL,
    -- The chain's clock:
    delivered_at timestamptz,
    ends_at timestamptz,
    reclaimed_at timestamptz,
    -- The database's clock: when a transaction first may have been on its way; due work, its lease and its fence.
    placed_at timestamptz,
    next_run_at timestamptz,
    lease_until timestamptz,
    fence integer NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70)`,
  // The referee of idempotency: one order per key of a project, for ever.
  `CREATE UNIQUE INDEX orders_key ON orders (project_id, key)`,
  // The referee of quotes: one order per quote, for ever.
  `CREATE UNIQUE INDEX orders_quote ON orders (quote_id) WHERE quote_id IS NOT NULL`,
  // Listing, newest first.
  `CREATE INDEX orders_project ON orders (project_id, id DESC)`,
  // Listing of one status, newest first. Of every status: where most orders were refunded, delivered is the rare one.
  `CREATE INDEX orders_project_status ON orders (project_id, status, id DESC)`,
  // The queue of record: what is due by the database's clock. Finished orders are not in it.
  `CREATE INDEX orders_due ON orders (next_run_at) WHERE next_run_at IS NOT NULL`,
  // What is due by the chain's clock: running rentals by their end.
  `CREATE INDEX orders_ending ON orders (ends_at)
   WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL`,
  `CREATE TABLE leg (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    leg_no smallint NOT NULL,
    kind text NOT NULL,
    wallet_id integer NOT NULL,
    receive_address text NOT NULL,
    -- What is delegated; of an activation, what is held for its fee.
    amount_sun bigint NOT NULL,
    energy bigint,
    status text NOT NULL,
    active_at timestamptz,
    -- The database's clock, for reconciling capacity with a chain read that may not have seen the change yet.
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (order_id, leg_no)
  ) WITH (fillfactor = 80)`,
  // Sums of open delegations per wallet and receiver, held against the chain; ended legs are not in it.
  `CREATE INDEX leg_open ON leg (wallet_id, receive_address) WHERE status IN ('reserved', 'placed', 'active', 'reclaiming')`,
  // What changed since a chain read began.
  `CREATE INDEX leg_changed ON leg (wallet_id, changed_at)`,
  `CREATE TABLE chain_tx (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    leg_id bigint NOT NULL,
    purpose text NOT NULL,
    attempt integer NOT NULL,
    wallet_id integer NOT NULL,
    status text NOT NULL,
    -- Two orders may never share an id: the chain would deliver once for both.
    txid bytea NOT NULL UNIQUE,
    raw_data bytea NOT NULL,
    signature bytea,
    ref_block_number bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    block_number bigint,
    block_id bytea,
    block_at timestamptz,
    sends integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    evidence jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (leg_id, purpose, attempt)
  ) WITH (fillfactor = 70)`,
  // Never two that could both happen for one leg and purpose.
  `CREATE UNIQUE INDEX chain_tx_live ON chain_tx (leg_id, purpose) WHERE status NOT IN ('dead', 'dropped')`,
  // All of an order's transactions.
  `CREATE INDEX chain_tx_order ON chain_tx (order_id)`,
  // What waits for its block to become solid.
  `CREATE INDEX chain_tx_included ON chain_tx (block_number) WHERE status = 'included'`,
  `CREATE TABLE broadcast (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_tx_id bigint NOT NULL,
    node text NOT NULL,
    -- What the node said; it proves nothing either way.
    answer text NOT NULL,
    message text,
    sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE INDEX broadcast_tx ON broadcast (chain_tx_id)`,
  `CREATE TABLE order_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    chain_at timestamptz
  )`,
  `CREATE INDEX order_event_order ON order_event (order_id)`,
  ...Object.entries(ROW_GUARDS).flatMap(([table, body]) => [
    `CREATE FUNCTION ${table}_guard() RETURNS trigger LANGUAGE plpgsql AS $$${body}$$`,
    `CREATE TRIGGER ${table}_guard BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_guard()`,
  ]),
  `CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER chain_tx_kept BEFORE DELETE ON chain_tx FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
];

const POOL = [
  `CREATE TABLE pool_wallet (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address text NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('pool', 'activation')),
    permission_id smallint NOT NULL CHECK (permission_id BETWEEN 0 AND 9),
    -- The key's own address, so that a signature can be checked without opening the key.
    key_address text NOT NULL,
    -- Null when a signer process holds the key.
    key_sealed bytea,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
    pause_reason text,
    -- Sums of the last pass over the chain.
    staked_sun bigint NOT NULL DEFAULT 0,
    delegated_sun bigint NOT NULL DEFAULT 0,
    free_sun_seen bigint NOT NULL DEFAULT 0,
    balance_sun bigint NOT NULL DEFAULT 0,
    synced_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  // Free stake in slots, because one row per wallet would be a hot row for all projects (measured: a quarter of the rate).
  `CREATE TABLE pool_slot (
    wallet_id integer NOT NULL REFERENCES pool_wallet,
    slot_no smallint NOT NULL,
    free_sun bigint NOT NULL DEFAULT 0 CHECK (free_sun >= 0),
    PRIMARY KEY (wallet_id, slot_no)
  ) WITH (fillfactor = 20)`,
];

const REST = [
  `CREATE TABLE price_row (
    duration_max_sec integer PRIMARY KEY CHECK (duration_max_sec > 0),
    sun_per_energy bigint NOT NULL CHECK (sun_per_energy > 0)
  )`,
  // Defaults for a burn price of 100 sun (Contract 3).
  `INSERT INTO price_row VALUES (600, 38), (3600, 45), (86400, 65), (259200, 80), (604800, 95), (2592000, 130)`,
  // What processes share of the outside: one of them reads, all of them use.
  `CREATE TABLE market_state (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz
  )`,
  `CREATE TABLE audit_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    reason text,
    detail jsonb
  )`,
  `CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
   FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  TAKE_FROM_SLOTS_SQL,
  RESERVE_CAPACITY_SQL,
  ACCEPT_ORDER_SQL,
];

export class Initial1760000000001 implements MigrationInterface {
  readonly name = 'Initial1760000000001';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...PROJECT, ...ORDERS, ...POOL, ...REST]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION accept_order, reserve_capacity, take_from_slots`);
    await runner.query(
      `DROP TABLE audit_log, market_state, price_row, pool_slot, pool_wallet, order_event, broadcast, chain_tx, leg, orders,
       credit_entry, credit_account, project`,
    );
    await runner.query(
      `DROP FUNCTION orders_guard, leg_guard, chain_tx_guard, credit_entry_guard, announce_project, refuse_change`,
    );
  }
}
