/**
 * What is asked of webhooks is found without reading all that waits, all that was ever sent, or every endpoint there is; and a
 * project is frozen after what is being asked to be sent again, never beside it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FUNCTION = `CREATE OR REPLACE FUNCTION webhook_project_frozen() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$`;

const UP = [
  // What goes out next, beside any number of refused ones that wait in front of it for days.
  `CREATE INDEX webhook_delivery_first ON webhook_delivery (endpoint_id, (cause = 'replay'), position, id)
     WHERE status = 'pending' AND attempts = 0`,
  // What comes again, and when: those that are due are at the front.
  `CREATE INDEX webhook_delivery_again ON webhook_delivery (endpoint_id, (cause = 'replay'), next_at)
     WHERE status = 'pending' AND attempts > 0`,
  // The lists of those that ended badly: few, among all that was delivered.
  `CREATE INDEX webhook_delivery_ended ON webhook_delivery (endpoint_id, status, id) WHERE status IN ('failed', 'dropped')`,
  // Tests of the last minute, which are counted; rows that are written once a minute or never.
  `CREATE INDEX webhook_delivery_test ON webhook_delivery (endpoint_id, created_at) WHERE cause = 'test'`,
  // Whom it was said of that they fail; few. Asked every five seconds.
  `CREATE INDEX webhook_endpoint_told ON webhook_endpoint (id) WHERE failing_told_at IS NOT NULL AND deleted_at IS NULL`,
  `CREATE FUNCTION webhook_pending(p_endpoint uuid, p_most integer) RETURNS integer
  LANGUAGE sql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT count(*)::int FROM
    (SELECT FROM webhook_delivery d WHERE d.endpoint_id = p_endpoint AND d.status = 'pending' LIMIT p_most) d
$$`,
  `REVOKE EXECUTE ON FUNCTION webhook_pending FROM PUBLIC`,
  `${FUNCTION}
   BEGIN
     PERFORM FROM webhook_endpoint WHERE project_id = NEW.project_id AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE;
     UPDATE webhook_delivery d SET status = 'dropped', fault = 'PROJECT_FROZEN', next_at = NULL, is_fresh = false,
            ended_at = clock_timestamp()
       FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND e.deleted_at IS NULL AND d.endpoint_id = e.id AND d.status = 'pending'
        AND d.cause <> 'event';
     RETURN NULL;
   END $$`,
];

const DOWN = [
  `${FUNCTION}
   BEGIN
     UPDATE webhook_delivery d SET status = 'dropped', fault = 'PROJECT_FROZEN', next_at = NULL, is_fresh = false,
            ended_at = clock_timestamp()
       FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND d.endpoint_id = e.id AND d.status = 'pending' AND d.cause <> 'event';
     RETURN NULL;
   END $$`,
  `DROP FUNCTION webhook_pending(uuid, integer)`,
  `DROP INDEX webhook_endpoint_told`,
  `DROP INDEX webhook_delivery_test`,
  `DROP INDEX webhook_delivery_ended`,
  `DROP INDEX webhook_delivery_again`,
  `DROP INDEX webhook_delivery_first`,
];

export class WaitingDeliveries1760000000064 implements MigrationInterface {
  readonly name = 'WaitingDeliveries1760000000064';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
