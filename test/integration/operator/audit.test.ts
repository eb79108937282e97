// The audit log: recorded actors, which callers cannot forge, and how it is read.
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { asRole } from '../../setup/roles.js';

let database: TestDatabase;
let cli: Cli;

beforeAll(async () => {
  database = await createTestDatabase();
  cli = cliWith(settings(database.url));
});

afterAll(async () => {
  await database.drop();
});

async function query(text: string, params: unknown[] = []): Promise<Record<string, unknown>[]> {
  return asAdmin(database.url, async (client) => (await client.query(text, params)).rows);
}

interface Entry {
  readonly id: number;
  readonly at: string;
  readonly actor: string;
  readonly subject: string;
}
interface Page {
  readonly entries: readonly Entry[];
  readonly next_before?: number;
}

async function audit(...args: string[]): Promise<Page> {
  const listed = await cli('audit', 'list', '--json', ...args);
  expect(listed.err).toBe('');
  return listed.json() as Page;
}

describe('an act is kept', () => {
  it('with the database role and the machine’s user, beside the named actor', async () => {
    const made = await cli('--json', '--actor', 'alice', 'project', 'create', '--name', 'Audited');
    const { merchant } = made.json() as { merchant: string };
    const login = new URL(asRole(database.url, 'cli')).username;
    const { entries } = await audit('--subject', merchant, '--action', 'project.create');
    expect(entries).toMatchObject([
      { actor: 'alice', login_role: login, acting_role: login, os_user: userInfo().username },
    ]);
  });

  it('with the true role and time, whatever the statement claims', async () => {
    const role = `auditor_${randomUUID().slice(0, 8)}`;
    const subject = randomUUID();
    const [login] = await query('SELECT session_user AS role');
    await asAdmin(database.url, async (client) => {
      await client.query(`CREATE ROLE ${role}`);
      try {
        await client.query(`GRANT INSERT ON audit_log TO ${role}`);
        await client.query(`SET ROLE ${role}`);
        await client.query(
          `INSERT INTO audit_log (actor, action, subject, at, login_role, acting_role)
             VALUES ('a', 'a', $1, '2001-01-01', 'postgres', 'postgres')`,
          [subject],
        );
      } finally {
        await client.query('RESET ROLE');
        await client.query(`DROP OWNED BY ${role}`);
        await client.query(`DROP ROLE ${role}`);
      }
    });
    const [entry] = (await audit('--subject', subject)).entries;
    expect(entry).toMatchObject({ login_role: login!['role'], acting_role: role });
    expect(Date.parse(entry!.at)).toBeGreaterThan(Date.parse('2020-01-01'));
  });
});

describe('the audit log is read', () => {
  const subject = randomUUID();

  beforeAll(async () => {
    for (const [actor, minute] of [
      ['ada', 1],
      ['bob', 2],
      ['ada', 3],
      ['ada', 4],
    ] as const) {
      await query(
        `INSERT INTO audit_log (actor, action, subject, reason, detail) VALUES ($1, 'price.set', $2, 'as agreed', $3)`,
        [actor, subject, { minute }],
      );
    }
  });

  it('newest first and page by page, and each page names the start of the next', async () => {
    const seen: number[] = [];
    let before: number | undefined;
    do {
      const page = await audit(
        '--subject',
        subject,
        '--limit',
        '2',
        ...(before === undefined ? [] : ['--before', before.toString()]),
      );
      seen.push(...page.entries.map(({ id }) => id));
      before = page.next_before;
    } while (before !== undefined && seen.length < 10);
    expect(seen).toHaveLength(4);
    expect(seen).toEqual([...seen].sort((a, b) => b - a));
    const listed = await cli('audit', '--subject', subject, '--limit', '2');
    expect(listed.out).toContain(`--before ${seen[1]!.toString()}`);
    expect((await cli('audit', '--subject', subject, '--limit', '4')).out).not.toContain('--before');
  });

  it('by actor, by role, by time, and by all of them together', async () => {
    const actors = async (...args: string[]) =>
      (await audit('--subject', subject, ...args)).entries.map(({ actor }) => actor);
    expect(await actors('--by', 'ada')).toEqual(['ada', 'ada', 'ada']);
    expect(await actors('--role', 'nobody')).toEqual([]);
    const [login] = await query('SELECT session_user AS role');
    expect(await actors('--role', String(login!['role']))).toHaveLength(4);
    const times = (await audit('--subject', subject)).entries.map(({ at }) => at);
    for (const time of ['2026-02-30', '2026-02-30T12:00', '2026-11-20T24:30', '20.11.2026', '']) {
      expect(await cli('audit', 'list', '--since', time)).toMatchObject({
        code: 2,
        err: expect.stringContaining('It must be a UTC day or time'),
      });
    }
    expect(await actors('--since', '2026-02-28', '--until', '2026-02-28T12:30')).toEqual([]);
    expect(await actors('--since', times[2]!)).toEqual(['ada', 'ada', 'bob']);
    expect(await actors('--since', times[2]!, '--until', times[1]!)).toEqual(['bob']);
    expect(await actors('--since', times[2]!, '--by', 'ada')).toEqual(['ada', 'ada']);
  });

  it('in lines of 80 columns that no entry can break, without loss', async () => {
    const long = randomUUID();
    const reason = `because ${'the customer asked for it and paid '.repeat(5)}twice`;
    await query(
      `INSERT INTO audit_log (actor, action, subject, reason, detail, os_user) VALUES ($1, $2, $3, $4, $5, 'deploy')`,
      [
        `mallory\n99  forged\u001b[2J ${'m'.repeat(150)}`,
        'verify.explain',
        long,
        reason,
        { fingerprint: 'f'.repeat(64), txid: 'e'.repeat(64), list: Array.from({ length: 30 }, (_, index) => index) },
      ],
    );
    const { out } = await cli('audit', '--subject', long);
    const lines = out.trimEnd().split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines.filter((line) => /^\d/.test(line))).toHaveLength(1);
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    const joined = lines.map((line) => line.trim()).join(' ');
    for (const said of [long, reason, 'verify.explain', '99 forged', 'system user deploy', 'database role '])
      expect(joined).toContain(said);
    expect(joined.replaceAll(' ', '')).toContain('f'.repeat(64));
    expect(joined.replaceAll(' ', '')).toContain('m'.repeat(150));
  });
});
