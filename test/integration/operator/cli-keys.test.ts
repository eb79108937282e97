// The operator's API key commands: secrets shown once, and refusals.
import { randomBytes, randomUUID } from 'node:crypto';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';
import { checkSignatures } from '../../../src/modules/diagnostics/doctor-service.js';
import { openAsOwner } from '../../support/api/factory.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';

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

describe('project rename', () => {
  it('gives a project another name under the same Merchant ID, and rejects an invalid one', async () => {
    const { merchant } = await newProject();
    const renamed = await cli('project', 'rename', merchant, 'Corner shop', '--json');
    expect(renamed.json()).toMatchObject({ merchant, name: 'Corner shop' });
    expect(
      await rows(`SELECT detail FROM audit_log WHERE subject = $1 AND action = 'project.rename'`, [merchant]),
    ).toEqual([{ detail: { name: 'Corner shop', before: 'Shop' } }]);
    const refused = await cli('project', 'rename', merchant, ' ');
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('must have 1 to 200 characters')]);
    expect((await cli('project', 'rename', randomUUID(), 'Nobody')).code).toBe(1);
  });
});

describe('keys', () => {
  it('creates, shows, narrows, rotates and revokes a project’s API keys, and shows each secret once', async () => {
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

  it('rejects narrowing the primary key, a revoked key, and an eleventh key', async () => {
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

test('secrets derive prints exactly what each process opens, and only second factors for a console', async () => {
  const derive = (role: string, ...more: string[]) => cli('secrets', 'derive', '--for', role, ...more);
  const names = async (role: string): Promise<string[]> =>
    (await derive(role)).out.split('\n').map((line) => line.split('=')[0]!);
  expect(await names('worker')).toEqual(['SEAL_KEY_POOL_KEYS', '']);
  expect(await names('sender')).toEqual(['SEAL_KEY_WEBHOOKS', '']);
  expect(await names('console')).toEqual(['SEAL_KEY_SECOND_FACTORS', '']);
  const unknown = await derive('signer');
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringMatching(/api, worker, cli, sender, console/)]);
});

test('a project accepts the configured signatures', async () => {
  const { merchant } = await newProject();
  expect((await cli('project', 'show', merchant, '--json')).json().signatures).toBe('either');
  expect((await cli('project', 'options', merchant, '--signatures', 'hmac', '--json')).json().signatures).toBe('hmac');
  expect((await cli('project', 'options', merchant, '--signatures', 'sha1')).code).toBe(2);
});

test('keys rewrap reseals every secret of every key: further, previous and revoked ones', async () => {
  const own = await createTestDatabase();
  try {
    const [before, after] = [settings(own.url), randomBytes(32).toString('base64')];
    const old = cliWith(before);
    const { merchant } = (await old('--json', 'project', 'create', '--name', 'Shop')).json();
    const make = async (name: string): Promise<string> =>
      (await old('keys', 'create', merchant, '--name', name, '--scope', 'read', '--json')).json().key as string;
    const [further, revoked] = [await make('further'), await make('revoked')];
    await old('keys', 'rotate', further, '--overlap', '3600', '--yes');
    await old('project', 'rotate-key', merchant, '--overlap', '3600', '--yes');
    await old('keys', 'revoke', revoked);
    const keys = { MASTER_KEY: after, MASTER_KEY_PREVIOUS: before['MASTER_KEY']! };
    const { rewrap } = (await cliWith({ ...before, ...keys })('keys', 'rewrap', '--yes', '--json')).json();
    expect(rewrap).toContainEqual({ what: 'api keys', rewrapped: 5, current: 0, failed: [] });
    const sealer = new Sealer({ current: sealKey(Buffer.from(after, 'base64'), 'api-key') });
    const sealed = await asAdmin(own.url, async (client) => {
      const { rows: found } = await client.query<{ id: string; what: string; sealed: Buffer }>(
        `SELECT id, 'project' AS what, api_key_sealed AS sealed FROM project
         UNION ALL SELECT id, name, sealed FROM api_key
         UNION ALL SELECT id, name || ' before', previous_sealed FROM api_key WHERE previous_sealed IS NOT NULL`,
      );
      return found;
    });
    expect(sealed.map(({ what }) => what).sort()).toEqual(
      ['project', 'primary', 'primary before', 'further', 'further before', 'revoked'].sort(),
    );
    for (const { id, what, sealed: bytes } of sealed) {
      expect([what, sealer.open(bytes, id)?.toString('utf8')]).toEqual([what, expect.stringMatching(/^[0-9a-f]{48}$/)]);
    }
  } finally {
    await own.drop();
  }
});

test('doctor warns of projects that accept MD5 without all limits on it, and of no others', async () => {
  const own = await createTestDatabase();
  const connection = await openAsOwner(own.url);
  try {
    const run = cliWith(settings(own.url));
    const finding = async (): Promise<unknown> => (await checkSignatures(connection))[0];
    expect(await finding()).toMatchObject({ says: 'Every project accepts only HMAC.' });
    const { merchant } = (await run('--json', 'project', 'create', '--name', 'Shop')).json();
    const warned = { says: expect.stringMatching(/^1 project accepts MD5 and lacks a limit/) };
    expect(await finding()).toMatchObject(warned);
    await run('project', 'options', merchant, '--require-quote', 'on', '--allow-source', '10.0.0.1');
    expect(await finding()).toMatchObject(warned);
    await run('project', 'options', merchant, '--daily-cap', '5');
    expect(await finding()).toMatchObject({ says: 'Every project that accepts MD5 is limited.' });
    await run('project', 'options', merchant, '--any-source');
    expect(await finding()).toMatchObject(warned);
    await run('project', 'options', merchant, '--signatures', 'hmac');
    expect(await finding()).toMatchObject({ says: 'Every project accepts only HMAC.' });
  } finally {
    await connection.source.destroy();
    await own.drop();
  }
});

test('lists the refused requests of a project by reason', async () => {
  const { merchant } = await newProject();
  expect((await cli('project', 'requests', merchant)).out).toContain('No request was refused');
  await rows(
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address, key_id, omitted)
     SELECT $1, clock_timestamp() - age, id, 'GET', '/v1/orders', 401, 'INVALID_SIGNATURE', 'The key is another.', '203.0.113.7', $1, 3
       FROM (VALUES (interval '1 day', 'lately'), (interval '8 days', 'long ago')) v(age, id)`,
    [merchant],
  );
  const listed = await cli('project', 'requests', merchant);
  expect(listed.out).toContain('The key is another. (after 3 more of the same)');
  expect(listed.out).not.toContain('long ago');
  const { requests } = (await cli('project', 'requests', merchant, '--json')).json();
  expect(requests).toEqual([
    expect.objectContaining({ request_id: 'lately', key: 'primary', source_address: '203.0.113.7', omitted: 3 }),
  ]);
  expect((await cli('project', 'requests', randomUUID())).code).toBe(1);
});
