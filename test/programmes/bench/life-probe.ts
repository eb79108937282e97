// Reads what a Postgres server did in a period: statements, transactions, row versions, and the records of its
// write-ahead log. Except for server times, none of it depends on the machine's load.
import pg from 'pg';
import { stepOf, type Step } from './life-steps.js';

/** Settings that the probe needs. One checkpoint at the start: images of whole pages depend on checkpoints. */
export const PROBE_SETTINGS: Readonly<Record<string, string>> = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
  'pg_stat_statements.max': '10000',
  checkpoint_timeout: '1h',
  max_wal_size: '16GB',
};
const LIMIT_MS = 120_000;
const SCHEMA = 'bench_probe';
/** Backends report their row counts within a second. */
const STATS_REST_MS = 1500;

const PREPARE = `CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
  CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA ${SCHEMA};
  CREATE EXTENSION IF NOT EXISTS pg_walinspect SCHEMA ${SCHEMA}`;

const STATEMENTS = `SELECT s.query, s.calls::float8, s.rows::float8, s.wal_bytes::float8, s.plans::float8,
    s.total_exec_time AS exec_ms, s.total_plan_time AS plan_ms
  FROM ${SCHEMA}.pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database()`;

const TABLES = `SELECT relname AS table, n_tup_ins::float8 AS inserted, n_tup_upd::float8 AS updated,
    n_tup_hot_upd::float8 AS hot, n_tup_del::float8 AS deleted FROM pg_stat_user_tables`;

/** Records of the log by table. An update of two pages counts once. */
const RECORDS = `WITH blocks AS MATERIALIZED (
    SELECT start_lsn, relfilenode FROM ${SCHEMA}.pg_get_wal_block_info($1::pg_lsn, $2::pg_lsn, false) WHERE block_id = 0),
  relations AS MATERIALIZED (
    SELECT pg_relation_filenode(c.oid) AS filenode, c.relkind, coalesce(t.relname, o.relname, c.relname) AS name
      FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
      LEFT JOIN pg_class o ON o.reltoastrelid = c.oid WHERE pg_relation_filenode(c.oid) IS NOT NULL)
  SELECT coalesce(n.name, '') AS table, count(*)::float8 AS records, sum(r.record_length - r.fpi_length)::float8 AS bytes,
      sum(r.fpi_length)::float8 AS images,
      (count(*) FILTER (WHERE n.relkind = 'i' AND r.record_type LIKE 'INSERT%'))::float8 AS entries,
      (count(*) FILTER (WHERE r.resource_manager = 'Transaction' AND r.record_type LIKE 'COMMIT%'))::float8 AS commits
    FROM ${SCHEMA}.pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn) r LEFT JOIN blocks b USING (start_lsn)
    LEFT JOIN relations n ON n.filenode = b.relfilenode GROUP BY 1`;

interface StatementRow {
  readonly query: string;
  readonly calls: number;
  readonly rows: number;
  readonly wal_bytes: number;
  readonly plans: number;
  readonly exec_ms: number;
  readonly plan_ms: number;
}

interface TableRow {
  readonly table: string;
  readonly inserted: number;
  readonly updated: number;
  readonly hot: number;
  readonly deleted: number;
}

interface RecordRow {
  readonly table: string;
  readonly records: number;
  readonly bytes: number;
  readonly images: number;
  readonly entries: number;
  readonly commits: number;
}

export interface StepFigures {
  readonly step: Step;
  readonly statements: number;
  readonly transactions: number;
  readonly rows: number;
  readonly walBytes: number;
  /** Planning and execution, as the server's clock measures them. */
  readonly serverMs: number;
}

export interface TableFigures extends Omit<TableRow, 'deleted'> {
  readonly entries: number;
  readonly walBytes: number;
}

export interface Probed {
  readonly steps: readonly StepFigures[];
  readonly tables: readonly TableFigures[];
  /** Of the whole server. Bytes of the log do not count images of whole pages. */
  readonly total: {
    readonly statements: number;
    readonly commits: number;
    readonly walBytes: number;
    readonly imageBytes: number;
  };
  /** The statements that took the server longest, with their time. */
  readonly slowest: readonly {
    readonly query: string;
    readonly calls: number;
    readonly plans: number;
    readonly ms: number;
  }[];
}

export class LifeProbe {
  private from = '';
  private tables: ReadonlyMap<string, TableRow> = new Map();

  private constructor(private readonly client: pg.Client) {}

  /** Connects as the server's owner. The server must run with PROBE_SETTINGS. */
  static async open(databaseUrl: string): Promise<LifeProbe> {
    const client = new pg.Client({
      connectionString: databaseUrl,
      query_timeout: LIMIT_MS,
      connectionTimeoutMillis: 10_000,
    });
    await client.connect();
    await client.query(PREPARE);
    return new LifeProbe(client);
  }

  async start(): Promise<void> {
    this.tables = await this.readTables();
    await this.client.query(`SELECT ${SCHEMA}.pg_stat_statements_reset()`);
    this.from = await this.position();
  }

  /** Returns what the server did since `start`, divided by `lives`. */
  async end(lives: number): Promise<Probed> {
    const to = await this.position();
    const { rows: statements } = await this.client.query<StatementRow>(STATEMENTS);
    const tables = await this.readTables();
    const { rows: records } = await this.client.query<RecordRow>(RECORDS, [this.from, to]);
    const sum = (of: (row: RecordRow) => number): number => records.reduce((all, row) => all + of(row), 0) / lives;
    return {
      steps: stepsOf(statements, lives),
      tables: this.tablesOf(tables, records, lives),
      total: {
        statements: statements.reduce((all, { calls }) => all + calls, 0) / lives,
        commits: sum(({ commits }) => commits),
        walBytes: sum(({ bytes }) => bytes),
        imageBytes: sum(({ images }) => images),
      },
      slowest: statements
        .map(({ query, calls, plans, exec_ms: exec, plan_ms: plan }) => ({
          query: query.replaceAll(/\s+/g, ' '),
          calls: calls / lives,
          plans: plans / lives,
          ms: (exec + plan) / lives,
        }))
        .sort((a, b) => b.ms - a.ms),
    };
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async position(): Promise<string> {
    const { rows } = await this.client.query<{ at: string }>('SELECT pg_current_wal_flush_lsn()::text AS at');
    return rows[0]?.at ?? '';
  }

  private async readTables(): Promise<ReadonlyMap<string, TableRow>> {
    await new Promise((resolve) => setTimeout(resolve, STATS_REST_MS));
    const { rows } = await this.client.query<TableRow>(TABLES);
    return new Map(rows.map((row) => [row.table, row]));
  }

  private tablesOf(after: ReadonlyMap<string, TableRow>, records: readonly RecordRow[], lives: number): TableFigures[] {
    return records
      .flatMap(({ table, entries, bytes }) => {
        const [from, to] = [this.tables.get(table), after.get(table)];
        if (to === undefined) return [];
        const grown = (of: (row: TableRow) => number): number => (of(to) - (from === undefined ? 0 : of(from))) / lives;
        return {
          table,
          inserted: grown((row) => row.inserted),
          updated: grown((row) => row.updated),
          hot: grown((row) => row.hot),
          entries: entries / lives,
          walBytes: bytes / lives,
        };
      })
      .sort((a, b) => b.walBytes - a.walBytes);
  }
}

function stepsOf(statements: readonly StatementRow[], lives: number): StepFigures[] {
  const steps = new Map<Step, StepFigures>();
  for (const { query, calls, rows, wal_bytes: walBytes, exec_ms: exec, plan_ms: plan } of statements) {
    const { step, beginsTransaction } = stepOf(query);
    const before = steps.get(step);
    steps.set(step, {
      step,
      statements: (before?.statements ?? 0) + calls / lives,
      transactions: (before?.transactions ?? 0) + (beginsTransaction ? calls / lives : 0),
      rows: (before?.rows ?? 0) + rows / lives,
      walBytes: (before?.walBytes ?? 0) + walBytes / lives,
      serverMs: (before?.serverMs ?? 0) + (exec + plan) / lives,
    });
  }
  return [...steps.values()];
}
