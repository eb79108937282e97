// The operator's commands on API keys: what is shown once, and what is refused.
import { randomUUID } from 'node:crypto';
import { asAdmin } from '../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';
import { cliWith, settings, type Cli } from '../operator.js';

let database: TestDatabase;
let cli: Cli;

beforeAll(async () => {
  database = await createTestDatabase();
  cli = cliWith(settings(database.url));
});

afterAll(async () => {
  await database.drop();
});

async function rows(text: string, params: unknown[]): Promise<Record<string, unknown>[]> {
  return asAdmin(database.url, async (client) => (await client.query(text, params)).rows);
}

async function newProject(): Promise<{ merchant: string; api_key: string }> {
  return (await cli('--json', 'project', 'create', '--name', 'Shop')).json();
}

describe('keys', () => {
  it('makes, shows, narrows, rotates and revokes the API keys of a project, and shows each secret once', async () => {
    const { merchant, api_key: primary } = await newProject();
    const made = (
      await cli('keys', 'create', merchant, '--name', 'shop', '--scope', 'read', 'order', '--daily-cap', '5', '--json')
    ).json();
    expect(made).toMatchObject({ merchant, name: 'shop', scopes: ['read', 'order'], daily_cap_credits: 5 });
    expect(made.api_key).toMatch(/^[0-9a-f]{48}$/);
    const changed = await cli(
      'keys',
      'options',
      made.key,
      '--scope',
      'read',
      '--daily-cap-off',
      '--allow-source',
      '10.0.0.0/8',
      '--json',
    );
    expect(changed.json()).toMatchObject({
      scopes: ['read'],
      daily_cap_credits: null,
      allowed_sources: ['10.0.0.0/8'],
    });
    expect((await cli('keys', 'rotate', made.key)).code).toBe(2);
    const rotated = (await cli('keys', 'rotate', made.key, '--overlap', '3600', '--yes', '--json')).json();
    expect(rotated.api_key).toMatch(/^[0-9a-f]{48}$/);
    expect(rotated.api_key).not.toBe(made.api_key);
    expect(new Date(rotated.previous_until as string).getTime()).toBeGreaterThan(Date.now());
    const listed = await cli('keys', 'list', merchant);
    for (const secret of [primary, made.api_key, rotated.api_key]) expect(listed.out).not.toContain(secret);
    expect((await cli('keys', 'revoke', made.key, '--json')).json().revoked_at).not.toBeNull();
    expect((await cli('keys', 'list', merchant, '--json')).json().keys).toHaveLength(1);
    expect((await cli('keys', 'list', merchant, '--all', '--json')).json().keys).toHaveLength(2);
    const acts = await rows(`SELECT action FROM audit_log WHERE subject = $1 AND action LIKE 'key.%' ORDER BY id`, [
      merchant,
    ]);
    expect(acts.map(({ action }) => action)).toEqual(['key.create', 'key.options', 'key.rotate', 'key.revoke']);
  });

  it('refuses what would take rights from the primary, a revoked key, and an eleventh', async () => {
    const { merchant } = await newProject();
    expect((await cli('keys', 'create', merchant, '--name', 'shop')).code).toBe(2);
    expect((await cli('keys', 'create', merchant, '--name', 'shop', '--scope', 'all')).code).toBe(2);
    expect((await cli('keys', 'create', randomUUID(), '--name', 'shop', '--scope', 'read')).code).toBe(1);
    expect((await cli('keys', 'options', merchant, '--scope', 'read')).code).toBe(2);
    expect((await cli('keys', 'rotate', merchant, '--yes')).code).toBe(2);
    const create = ['keys', 'create', merchant, '--name', 'shop', '--scope', 'read', '--json'];
    const first = (await cli(...create)).json();
    expect((await cli('keys', 'revoke', first.key)).code).toBe(0);
    expect((await cli('keys', 'rotate', first.key, '--yes')).code).toBe(1);
    for (let count = 1; count < 10; count += 1) expect((await cli(...create)).code).toBe(0);
    const eleventh = await cli(...create);
    expect([eleventh.code, eleventh.err.includes('at most 10')]).toEqual([1, true]);
  });
});

test('a project takes the signatures it is told to', async () => {
  const { merchant } = await newProject();
  expect((await cli('project', 'show', merchant, '--json')).json().signatures).toBe('either');
  expect((await cli('project', 'options', merchant, '--signatures', 'hmac', '--json')).json().signatures).toBe('hmac');
  expect((await cli('project', 'options', merchant, '--signatures', 'sha1')).code).toBe(2);
});
