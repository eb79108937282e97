/**
 * What else moves at deposit addresses: what leaves them, what they burn, what our own addresses send there. With it the
 * deposits of an address add up to what it holds. And where sweeps go to, and what was given back.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TABLE deposit_movement (
     txid bytea NOT NULL CHECK (length(txid) = 32),
     kind text NOT NULL CHECK (kind IN ('native', 'log', 'internal', 'fee')),
     place integer NOT NULL CHECK (place >= 0),
     address text NOT NULL REFERENCES deposit_address (address),
     asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
     -- Negative when it left the address.
     amount numeric(78) NOT NULL CHECK (amount <> 0),
     counterparty text,
     block_number bigint NOT NULL,
     block_at timestamptz NOT NULL,
     -- Between two addresses of ours one transfer moves both.
     PRIMARY KEY (txid, kind, place, address)
   )`,
  // Added up by address.
  `CREATE INDEX deposit_movement_address ON deposit_movement (address, asset)`,
  `CREATE INDEX deposit_address_of ON deposit (address, asset)`,
  // An entry of the ledger holds one deposit, or many small ones.
  `CREATE INDEX deposit_entry ON deposit (entry_key) WHERE entry_key IS NOT NULL`,
  `CREATE TABLE deposit_sweep_address (
     address text PRIMARY KEY,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  `CREATE TABLE deposit_return (
     deposit_id bigint PRIMARY KEY REFERENCES deposit (id),
     to_address text NOT NULL,
     -- Taken off the ledger; nothing when it was never credited.
     entry_key text UNIQUE,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     -- Of the newest unsigned transaction; another one is made only when this one can no longer come.
     txid bytea NOT NULL CHECK (length(txid) = 32),
     expires_at timestamptz NOT NULL
   )`,
  `CREATE TRIGGER deposit_movement_kept BEFORE DELETE OR UPDATE ON deposit_movement FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_movement_no_truncate BEFORE TRUNCATE ON deposit_movement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_return_kept BEFORE DELETE ON deposit_return FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_return_no_truncate BEFORE TRUNCATE ON deposit_return FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_sweep_address_kept BEFORE DELETE OR UPDATE ON deposit_sweep_address FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_sweep_address_no_truncate BEFORE TRUNCATE ON deposit_sweep_address FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const DOWN = [
  `DROP TABLE deposit_return, deposit_sweep_address, deposit_movement`,
  `DROP INDEX deposit_address_of, deposit_entry`,
];

export class DepositMovements1760000000037 implements MigrationInterface {
  readonly name = 'DepositMovements1760000000037';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
