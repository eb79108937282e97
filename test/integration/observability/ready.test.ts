// /ready of a running process whose database has changed: it names cause and remedy, and recovers by itself.
import { randomBytes } from 'node:crypto';
import { until } from '../../../packages/local/src/wait.js';
import { Sealer } from '../../../src/platform/support/seal.js';
import { sealCanary } from '../../../src/platform/database/key-canaries.js';
import { startProcess, type ServiceProcess } from '../../support/api/processes.js';
import { cliWith, settings } from '../../support/cli.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

interface Readiness {
  readonly status: number;
  readonly body: { readonly ready: boolean; readonly failed: string[]; readonly reasons: Record<string, string> };
}

let database: TestDatabase;
let members: ServiceProcess[];

beforeAll(async () => {
  database = await createTestDatabase();
  const env = settings(database.url);
  expect((await cliWith(env)('migrate')).code).toBe(0);
  members = await Promise.all([startProcess('api', env), startProcess('worker', env)]);
});

afterAll(async () => {
  await Promise.all(members.map(({ process }) => process.stop()));
  await database.drop();
});

const byHand = (text: string, values: unknown[] = []): Promise<unknown> =>
  asAdmin(database.url, (client) => client.query(text, values));

async function readiness({ adminUrl }: ServiceProcess): Promise<Readiness> {
  const answer = await fetch(`${adminUrl}/ready`, { signal: AbortSignal.timeout(5000) });
  return { status: answer.status, body: (await answer.json()) as Readiness['body'] };
}

/** Waits until every process reports this reason; undefined waits for ready. */
async function allSay(reason: RegExp | undefined): Promise<void> {
  for (const member of members) {
    let last: Readiness | undefined;
    const says = async (): Promise<true | undefined> => {
      last = await readiness(member);
      const said = last.body.reasons['database'];
      return (reason === undefined ? last.status === 200 : said !== undefined && reason.test(said)) ? true : undefined;
    };
    await until(says, 30_000, 'the reason').catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(last)}`, { cause: error });
    });
    if (reason === undefined) expect(last!.body).toEqual({ ready: true, failed: [], reasons: {}, nodes: NO_NODE });
    // A worker whose sweep fails for long reports that too.
    else
      expect(last).toMatchObject({ status: 503, body: { ready: false, failed: expect.arrayContaining(['database']) } });
  }
}

/** No node runs here, which keeps no process from being ready. */
const NO_NODE = { '127.0.0.1:1': expect.objectContaining({ full: expect.stringContaining('ECONNREFUSED') }) };

const CASES: readonly (readonly [string, () => Promise<unknown>, RegExp, () => Promise<unknown>])[] = [
  [
    'was sealed under other keys',
    async () => {
      const other = new Sealer({ current: randomBytes(32) });
      await byHand('CREATE TABLE kept AS SELECT * FROM key_canary');
      await byHand(`UPDATE key_canary SET sealed = $1 WHERE purpose = 'api-key'`, [sealCanary('api-key', other)]);
    },
    /^MASTER_KEY is not the key .*api-key/,
    async () => {
      await byHand('UPDATE key_canary c SET sealed = k.sealed FROM kept k WHERE k.purpose = c.purpose');
      await byHand('DROP TABLE kept');
    },
  ],
  [
    'is older than this version',
    async () => byHand(`UPDATE migrations SET name = 'gone' WHERE name LIKE 'Baseline%'`),
    /^The database schema is older than this version \(it lacks Baseline.*migrate/,
    async () => byHand(`UPDATE migrations SET name = 'Baseline1760000000001' WHERE name = 'gone'`),
  ],
  [
    'takes no writes',
    async () => asReadOnly('SET default_transaction_read_only = on'),
    /^the server accepts no writes.*point DATABASE_URL/,
    async () => asReadOnly('RESET default_transaction_read_only'),
  ],
];

/** Applies to every new session. Open sessions are ended, as when a server becomes a standby. */
async function asReadOnly(change: string): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  await asAdmin(database.url, async (client) => {
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER DATABASE ${name} ${change}`);
    if (change.startsWith('RESET')) return;
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
      [name],
    );
  });
}

it.each(CASES)('is not ready on a database that %s', async (_what, change, reason, back) => {
  await allSay(undefined);
  await change();
  try {
    await allSay(reason);
  } finally {
    await back();
  }
  await allSay(undefined);
});

test('a worker that sweeps rarely stays ready between two sweeps', async () => {
  const rare = await startProcess('worker', settings(database.url, { WORKER_SWEEP_MS: '60000' }));
  try {
    const age = async (): Promise<true | undefined> => {
      const metrics = await (await fetch(`${rare.adminUrl}/metrics`)).text();
      return Number(/^sweep_age_seconds (\S+)/m.exec(metrics)?.[1]) > 10.5 ? true : undefined;
    };
    await until(age, 60_000, 'an old sweep');
    expect((await readiness(rare)).body.failed).toEqual([]);
  } finally {
    await rare.process.stop();
  }
});
