/** Which signatures a project takes, and the nonces of signed requests that Postgres keeps. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Either: the callers there are sign by MD5.
  `ALTER TABLE project ADD COLUMN signature_schemes text NOT NULL DEFAULT 'either'
     CHECK (signature_schemes IN ('md5', 'hmac', 'either'))`,
  // Logged: a nonce that a crash of the server forgot could be used again.
  `CREATE TABLE request_nonce (
     project_id uuid NOT NULL,
     nonce text NOT NULL,
     expires_at timestamptz NOT NULL,
     PRIMARY KEY (project_id, nonce)
   )`,
  // Pruned by what has expired.
  `CREATE INDEX request_nonce_expires_at ON request_nonce (expires_at)`,
];

const DOWN = [`DROP TABLE request_nonce`, `ALTER TABLE project DROP COLUMN signature_schemes`];

export class Signatures1760000000013 implements MigrationInterface {
  readonly name = 'Signatures1760000000013';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
