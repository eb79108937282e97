/**
 * A return has a transaction of its own: of two equal ones made in one block both were booked, and the chain took one.
 * And a project is told how the returns of its deposits stand.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Of twins the chain took one at most: the others are unpaid, and get an id that no transaction has.
  `UPDATE deposit_return r SET txid = sha256(r.txid || int8send(r.deposit_id))
     WHERE EXISTS (SELECT FROM deposit_return e WHERE e.txid = r.txid AND e.deposit_id < r.deposit_id)`,
  `ALTER TABLE deposit_return ADD CONSTRAINT deposit_return_txid_key UNIQUE (txid)`,
  `CREATE FUNCTION project_deposit_returns(p_deposits bigint[]) RETURNS TABLE (deposit_id bigint, is_paid boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT r.deposit_id, EXISTS (SELECT FROM deposit_movement m WHERE m.txid = r.txid AND m.address = d.address
    AND m.asset = d.asset AND m.amount < 0 AND m.kind <> 'fee' AND m.counterparty = r.to_address)
    FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id
   WHERE r.deposit_id = ANY (p_deposits) AND d.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`,
  `REVOKE EXECUTE ON FUNCTION project_deposit_returns FROM PUBLIC`,
];

const DOWN = [
  `DROP FUNCTION project_deposit_returns(bigint[])`,
  `ALTER TABLE deposit_return DROP CONSTRAINT deposit_return_txid_key`,
];

export class OwnReturns1760000000062 implements MigrationInterface {
  readonly name = 'OwnReturns1760000000062';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
