/**
 * What a merchant labels an order with, and lists by: a reference and metadata, the receiver, the time. Both labels come to
 * the row by the defaults of its columns, as the key that pays comes to a ledger entry, so that the function that accepts
 * stays as it is.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `ALTER TABLE orders ADD COLUMN reference text, ADD COLUMN metadata json`,
  // Apart: a default in ADD COLUMN would be worked out for the rows there are.
  `ALTER TABLE orders ALTER COLUMN reference SET DEFAULT nullif(current_setting('energy.reference', true), ''),
     ALTER COLUMN metadata SET DEFAULT nullif(current_setting('energy.metadata', true), '')::json`,
  // A project's orders from the newest down, all or those between two times: ids alone are not in the order of time, and a
  // page deep in the past must cost no more than the first. orders_project and orders_project_status stay for the version
  // before, which lists by them.
  `CREATE INDEX orders_time ON orders (project_id, created_at, id)`,
  // The same of one status: most orders of a project are delivered, and those that are not may lie far apart.
  `CREATE INDEX orders_status_time ON orders (project_id, status, created_at, id)`,
  // The same of one receiver, who may be one of hundreds of thousands.
  `CREATE INDEX orders_receiver ON orders (project_id, receive_address, created_at, id)`,
  // The same of one reference; orders without one are not in it.
  `CREATE INDEX orders_reference ON orders (project_id, reference, created_at, id) WHERE reference IS NOT NULL`,
  `CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  p_reference text, p_metadata text,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
BEGIN
  -- The ledger entry of the charge is made under the first, the order's row under the others.
  PERFORM set_config('energy.api_key', p_api_key::text, true), set_config('energy.reference', p_reference, true),
          set_config('energy.metadata', p_metadata, true);
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    refusal := order_refusal(p_project, p_api_key, p_key, p_credits, p_refusal);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
    PERFORM set_config('lock_timeout', v_key_wait, true);
  END IF;
  SELECT a.created, a.order_id, a.order_created_at, a.same_request
    INTO created, order_id, order_created_at, same_request
    FROM accept_order(p_project, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                      p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max,
                      p_lock_ms) a;
END $$`,
  `CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.refusal, t.created, t.order_id, t.order_created_at, t.same_request
    INTO refusal, created, order_id, order_created_at, same_request
    FROM take_order(p_project, p_api_key, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                    p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max, p_lock_ms,
                    NULL, NULL) t;
END $$`,
  `REVOKE EXECUTE ON FUNCTION take_order(
     uuid, uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint,
     bigint, bigint, bigint, text, text, integer, integer, text, text
   ) FROM PUBLIC`,
];

const DOWN = [
  `CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
BEGIN
  -- The ledger entry of the charge is made under it.
  PERFORM set_config('energy.api_key', p_api_key::text, true);
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    refusal := order_refusal(p_project, p_api_key, p_key, p_credits, p_refusal);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
    PERFORM set_config('lock_timeout', v_key_wait, true);
  END IF;
  SELECT a.created, a.order_id, a.order_created_at, a.same_request
    INTO created, order_id, order_created_at, same_request
    FROM accept_order(p_project, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                      p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max,
                      p_lock_ms) a;
END $$`,
  `DROP FUNCTION take_order(
     uuid, uuid, text, bytea, text, uuid, timestamptz, text, bigint, integer, bigint, bigint,
     bigint, bigint, bigint, text, text, integer, integer, text, text
   )`,
  `DROP INDEX orders_time, orders_status_time, orders_receiver, orders_reference`,
  `ALTER TABLE orders DROP COLUMN reference, DROP COLUMN metadata`,
];

export class OrderFields1760000000045 implements MigrationInterface {
  readonly name = 'OrderFields1760000000045';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
