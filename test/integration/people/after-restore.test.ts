import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConsole, PASSWORD } from '../../support/console/console-fixture.js';
import { cliWith, settings } from '../../support/cli.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 180_000;
let restored: TestDatabase;
let lostName: string;
let lostUrl: string;
let folder: string;

beforeAll(async () => {
  restored = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'after-restore-'));
}, LIMIT_MS);

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await restored.drop();
  await asAdmin(fromSetup('TEST_DATABASE_URL'), (client) =>
    client.query(`DROP DATABASE IF EXISTS ${lostName} WITH (FORCE)`),
  );
}, LIMIT_MS);

/** Tables with numbers that an API, an event, a webhook or a console tells. */
const TOLD = ['orders', 'credit_entry', 'deposit', 'auto_delegation', 'webhook_delivery'];

/** Draws the next number of each told sequence, as inserting a row would. */
const drawNumbers = async (url: string): Promise<bigint[]> =>
  asAdmin(url, async (client) => {
    const drawn: bigint[] = [];
    for (const table of TOLD) {
      const { rows } = await client.query<{ id: string }>(`SELECT nextval(pg_get_serial_sequence($1, 'id')) AS id`, [
        table,
      ]);
      drawn.push(BigInt(rows[0]!.id));
    }
    return drawn;
  });

it(
  'ends all sessions, and lists everything revoked, removed or used up since the dump',
  async () => {
    const cli = cliWith(settings(restored.url));
    const created = await cli('project', 'create', '--name', 'Acme', '--json');
    const project = (created.json() as { merchant: string }).merchant;
    const made = await cli('keys', 'create', project, '--name', 'payouts', '--scope', 'read', '--json');
    expect(made.code).toBe(0);
    const merchants = await openConsole(restored.url, 'merchant');
    const [owner, member] = [await merchants.signedIn('owner', project), await merchants.signedIn('member', project)];
    const kept = await merchants.signedIn('member', project);
    expect((await kept.browser.get('/api/session')).status).toBe(200);
    await merchants.close();

    // A copy of the same rows, as the dump held them. Only this copy receives the later changes.
    lostName = `${new URL(restored.url).pathname.slice(1)}_lost`;
    const admin = fromSetup('TEST_DATABASE_URL');
    lostUrl = databaseUrl(admin, lostName);
    await asAdmin(admin, (client) =>
      client.query(`CREATE DATABASE ${lostName} TEMPLATE ${new URL(restored.url).pathname.slice(1)}`),
    );
    await asAdmin(lostUrl, async (client) => {
      await client.query(`UPDATE api_key SET revoked_at = now() WHERE name = 'payouts'`);
      await client.query(`DELETE FROM membership WHERE person_id = $1`, [member.id]);
      await client.query(
        `DELETE FROM recovery_code WHERE code_hash = (SELECT min(code_hash) FROM recovery_code WHERE person_id = $1)`,
        [owner.id],
      );
      await client.query(`UPDATE person SET credentials = credentials + 1 WHERE id = $1`, [owner.id]);
    });

    // Rows after the dump: their numbers were told to merchants.
    for (let row = 0; row < 3; row += 1) await drawNumbers(lostUrl);
    const told = await drawNumbers(lostUrl);

    const file = join(folder, 'lost-url');
    writeFileSync(file, `${lostUrl}\n`, { mode: 0o600 });
    const refused = await cli('console', 'after-restore', '--lost', file);
    expect(refused.code).toBe(2);
    const answer = await cli('console', 'after-restore', '--lost', file, '--yes', '--json');
    const { ended, raised_by, access } = answer.json() as {
      ended: number;
      raised_by: number;
      access: Record<string, string>[];
    };
    expect([ended, raised_by]).toEqual([3, 1_000_000]);
    const next = await drawNumbers(restored.url);
    expect(next.map((number, table) => number > told[table]! + 900_000n)).toEqual(TOLD.map(() => true));
    expect(access.map(({ kind, name, state, before }) => [kind, name, state, before])).toEqual([
      ['API key', 'Acme, payouts', expect.stringMatching(/^works/), 'revoked'],
      ['password and second factor', `merchant ${owner.email}`, expect.any(String), expect.any(String)],
      ['password and second factor', `merchant ${member.email}`, expect.any(String), 'not there'],
      ['person', `${member.email}, Acme`, 'member', 'not there'],
      ['recovery codes', `merchant ${owner.email}`, '10 left', '9 left'],
    ]);
    const again = await openConsole(restored.url, 'merchant');
    try {
      expect((await again.browser().post('/api/sign-in', { email: kept.email, password: PASSWORD })).status).toBe(200);
      const sessions = await again.database.query(`SELECT FROM console_session`);
      expect(sessions).toHaveLength(1);
      const acts = await again.database.query(`SELECT FROM audit_log WHERE action = 'console.after-restore'`);
      expect(acts).toHaveLength(1);
    } finally {
      await again.close();
    }
    const all = await cli('console', 'after-restore', '--yes');
    expect(all.out).toMatch(/1 sessions ended/);
    expect(all.out).toMatch(/Numbers of new orders, .*: 1 000 000 higher/);
    for (const words of ['Acme, payouts', owner.email, member.email, kept.email]) expect(all.out).toContain(words);
  },
  LIMIT_MS,
);
