/**
 * What the consoles need of the data: secrets are rotated without being read, and sealed to public keys by those who open
 * none; an order's delegations are shown to its project alone.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // The public half of a purpose's key, for a process that seals and does not open.
  `ALTER TABLE key_canary ADD COLUMN public_key bytea CHECK (length(public_key) = 32)`,
  `CREATE OR REPLACE FUNCTION keep_previous_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.sealed END;
     RETURN NEW;
   END $$`,
  `CREATE OR REPLACE FUNCTION keep_previous_secret() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_secret_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.secret_sealed END;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER api_key_keeps_previous BEFORE UPDATE ON api_key FOR EACH ROW
     WHEN (OLD.previous_until IS DISTINCT FROM NEW.previous_until) EXECUTE FUNCTION keep_previous_key()`,
  `CREATE TRIGGER webhook_endpoint_keeps_previous BEFORE UPDATE ON webhook_endpoint FOR EACH ROW
     WHEN (OLD.previous_until IS DISTINCT FROM NEW.previous_until) EXECUTE FUNCTION keep_previous_secret()`,
  `CREATE OR REPLACE FUNCTION project_order_legs(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`,
  `CREATE OR REPLACE FUNCTION project_order_compensations(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`,
  `CREATE OR REPLACE FUNCTION project_acts(p_before bigint, p_limit integer)
  RETURNS TABLE (id bigint, at timestamptz, actor text, action text, reason text, detail jsonb)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.id, l.at, l.actor, l.action, l.reason, l.detail FROM audit_log l
   WHERE l.subject = nullif(current_setting('energy.project', true), '') AND l.id < p_before
   ORDER BY l.id DESC LIMIT least(p_limit, 101)
$$`,
  // What became of one event, for the story of its order.
  `CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id) WHERE event_id IS NOT NULL`,
  // What was done to one project, newest first.
  `CREATE INDEX audit_log_subject ON audit_log (subject, id DESC)`,
  `REVOKE EXECUTE ON FUNCTION keep_previous_key, keep_previous_secret, project_acts, project_order_compensations, project_order_legs FROM PUBLIC`,
];

export class ConsoleRows1760000000047 implements MigrationInterface {
  readonly name = 'ConsoleRows1760000000047';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX audit_log_subject, webhook_delivery_event`);
    await runner.query(`DROP FUNCTION project_acts, project_order_compensations, project_order_legs`);
    await runner.query(`DROP TRIGGER webhook_endpoint_keeps_previous ON webhook_endpoint`);
    await runner.query(`DROP TRIGGER api_key_keeps_previous ON api_key`);
    await runner.query(`DROP FUNCTION keep_previous_secret, keep_previous_key`);
    await runner.query(`ALTER TABLE key_canary DROP COLUMN public_key`);
  }
}
