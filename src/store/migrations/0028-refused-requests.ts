/** The requests of a project that were refused with 400 or 401 in the last days, each with its reason. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Ids grow with time, so the oldest rows, which go first, are found by them.
  `CREATE TABLE refused_request (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     project_id uuid NOT NULL,
     at timestamptz NOT NULL,
     request_id text NOT NULL CHECK (length(request_id) <= 128),
     method text NOT NULL CHECK (length(method) <= 16),
     path text NOT NULL CHECK (length(path) <= 300),
     status smallint NOT NULL CHECK (status IN (400, 401)),
     error text NOT NULL CHECK (length(error) <= 64),
     reason text NOT NULL CHECK (length(reason) <= 500),
     source_address text NOT NULL CHECK (length(source_address) <= 64),
     key_id uuid,
     omitted integer NOT NULL DEFAULT 0 CHECK (omitted >= 0)
   )`,
  // Read page by page, and cut to the newest, for one project.
  `CREATE INDEX refused_request_project ON refused_request (project_id, id)`,
];

const DOWN = [`DROP TABLE refused_request`];

export class RefusedRequests1760000000028 implements MigrationInterface {
  readonly name = 'RefusedRequests1760000000028';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
