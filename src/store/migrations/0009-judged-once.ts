/**
 * What is final is judged once: an order's row says whether it was judged as it stands, entries of the ledger are
 * judged in ranges of a thousand and added up per project. Activations end. What is final is never changed.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Open legs are read every few seconds: an activation that is final is none. The version before reads such a row as
  // one that ended by a person's word, and lets it be.
  `UPDATE leg l SET status = 'reclaimed', closed_at = l.active_at, closed_reason = 'activated: nothing is to be reclaimed'
     FROM orders o WHERE o.id = l.order_id AND l.kind = 'activation' AND l.status = 'active' AND o.settled`,
  // What the version before has judged at every pass need not be judged at once; what is on its way must.
  `ALTER TABLE orders ADD COLUMN judged boolean NOT NULL DEFAULT true`,
  `ALTER TABLE orders ALTER COLUMN judged SET DEFAULT false`,
  `UPDATE orders SET judged = false WHERE NOT settled OR next_run_at IS NOT NULL`,
  // What a pass of the reconciler has to judge.
  `CREATE INDEX orders_unjudged ON orders (id) WHERE NOT judged`,
  // The newest dead ones are asked after again at every pass; there are few of them among all.
  `CREATE INDEX chain_tx_dead ON chain_tx (id) WHERE status = 'dead'`,
  // How far back a starting follower must read, and what may stand in a block that cannot be read.
  `CREATE INDEX chain_tx_sending ON chain_tx (ref_block_number) WHERE status = 'sending'`,
  // Up to which entry of the ledger ranges were judged and added up; after which entry, and which order, the next
  // turn through what was judged before goes on.
  `ALTER TABLE reconcile_state ADD COLUMN entries_to bigint NOT NULL DEFAULT 0,
     ADD COLUMN entries_after bigint NOT NULL DEFAULT 0, ADD COLUMN orders_after bigint NOT NULL DEFAULT 0`,
  // The entries up to reconcile_state.entries_to of each project, added up.
  `CREATE TABLE judged_credits (project_id uuid PRIMARY KEY, credits bigint NOT NULL)`,
  // What the thousand entries up to to_id said when they were judged.
  `CREATE TABLE judged_entries (to_id bigint PRIMARY KEY, digest text NOT NULL)`,
  `CREATE OR REPLACE FUNCTION orders_judged() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       NEW.judged := false;
     ELSE
       OLD.judged := true;
       NEW.judged := OLD IS NOT DISTINCT FROM NEW;
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER orders_judged BEFORE INSERT OR UPDATE ON orders FOR EACH ROW WHEN (NEW.judged) EXECUTE FUNCTION orders_judged()`,
  `CREATE OR REPLACE FUNCTION leg_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'leg %: ended, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER leg_final BEFORE UPDATE ON leg FOR EACH ROW WHEN (OLD.status = ANY (ARRAY['reclaimed'::text, 'released'::text])) EXECUTE FUNCTION leg_final()`,
  `CREATE OR REPLACE FUNCTION chain_tx_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- What was given up and stands in a solid block all the same may become another leg's.
     IF OLD.status <> 'solid' AND NEW.status = 'solid' THEN
       RETURN NEW;
     END IF;
     OLD.sends := NEW.sends;
     OLD.sent_at := NEW.sent_at;
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'chain transaction %: final, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER chain_tx_final BEFORE UPDATE ON chain_tx FOR EACH ROW WHEN (OLD.status = ANY (ARRAY['solid'::text, 'dead'::text, 'dropped'::text])) EXECUTE FUNCTION chain_tx_final()`,
];

const DOWN = [
  `DROP TRIGGER orders_judged ON orders`,
  `DROP TRIGGER leg_final ON leg`,
  `DROP TRIGGER chain_tx_final ON chain_tx`,
  `DROP FUNCTION orders_judged, leg_final, chain_tx_final`,
  `DROP TABLE judged_entries, judged_credits`,
  `ALTER TABLE reconcile_state DROP COLUMN entries_to, DROP COLUMN entries_after, DROP COLUMN orders_after`,
  `DROP INDEX chain_tx_sending`,
  `DROP INDEX chain_tx_dead`,
  `DROP INDEX orders_unjudged`,
  `ALTER TABLE orders DROP COLUMN judged`,
];

export class JudgedOnce1760000000009 implements MigrationInterface {
  readonly name = 'JudgedOnce1760000000009';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
