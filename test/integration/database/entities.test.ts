// Each entity and its migrated table must agree, column by column.
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

interface ColumnShape {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly isIdentity: boolean;
  readonly isPrimary: boolean;
}

let database: TestDatabase;
let source: DataSource;

beforeAll(async () => {
  database = await createTestDatabase();
  source = createDataSource({ url: database.url, poolMax: 2, applicationName: 'energy-test' });
  await source.initialize();
});

afterAll(async () => {
  await source.destroy();
  await database.drop();
});

const byName = (a: ColumnShape, b: ColumnShape): number =>
  `${a.table}.${a.column}` < `${b.table}.${b.column}` ? -1 : 1;

function shapesOfEntities(): ColumnShape[] {
  const names: Record<string, string> = { timestamptz: 'timestamp with time zone' };
  return source.entityMetadatas
    .flatMap((entity) =>
      entity.columns.map((column) => ({
        table: entity.tableName,
        column: column.databaseName,
        type: `${names[String(column.type)] ?? String(column.type)}${column.isArray ? '[]' : ''}`,
        isNullable: column.isNullable,
        isIdentity: String(column.generationStrategy) === 'identity',
        isPrimary: column.isPrimary,
      })),
    )
    .sort(byName);
}

async function shapesOfDatabase(): Promise<ColumnShape[]> {
  const rows: (Omit<ColumnShape, 'isNullable' | 'isIdentity'> & { nullable: string; identity: string })[] =
    await source.query(`
      SELECT c.table_name AS "table", c.column_name AS "column", c.is_nullable AS nullable, c.is_identity AS identity,
             format_type(a.atttypid, NULL) AS type,
             -- Of orders and what belongs to them, rows that are open alone have a key of their own.
             EXISTS (SELECT FROM pg_index i JOIN pg_attribute k ON k.attrelid = i.indrelid AND k.attnum = ANY (i.indkey)
                      WHERE i.indrelid IN (a.attrelid, to_regclass('open_' || c.table_name)) AND i.indisprimary
                        AND k.attname = c.column_name) AS "isPrimary"
        FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        JOIN pg_class r ON r.oid = format('%I.%I', c.table_schema, c.table_name)::regclass AND NOT r.relispartition
        JOIN pg_attribute a ON a.attrelid = format('%I.%I', c.table_schema, c.table_name)::regclass AND a.attname = c.column_name
       WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.table_name <> 'migrations'`);
  return rows
    .map(({ nullable, identity, ...row }) => ({
      ...row,
      isNullable: nullable === 'YES',
      isIdentity: identity === 'YES',
    }))
    .sort(byName);
}

it('every entity has the columns, types, nullability, identities and keys of its table', async () => {
  const tables = new Set(source.entityMetadatas.map((entity) => entity.tableName));
  expect(tables.size).toBeGreaterThan(20);
  const inDatabase = (await shapesOfDatabase()).filter(({ table }) => tables.has(table));
  expect(shapesOfEntities()).toEqual(inDatabase);
});

it('no entity has a relation, so that no other row is read or written along with it', () => {
  expect(source.entityMetadatas.flatMap((entity) => entity.relations.map((relation) => relation.propertyPath))).toEqual(
    [],
  );
});

it('reads amounts as bigint and times as dates', async () => {
  await source.query(
    `INSERT INTO pool_wallet (address, role, permission_id, key_address, staked_sun) VALUES ('T1', 'pool', 2, 'T2', 9007199254740993)`,
  );
  const [wallet] = await source.getRepository('PoolWallet').find();
  expect(wallet).toMatchObject({ stakedSun: 9_007_199_254_740_993n, createdAt: expect.any(Date), syncedAt: null });
});
