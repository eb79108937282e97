// The console search ("/") in a project and in the whole service, and the allowed sources of a project's keys.
import { createHash, randomUUID } from 'node:crypto';
import { KeyUse } from '../../../src/modules/auth/key-use.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { openLog } from '../../support/log.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 120_000;
const RECEIVER = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const IDS = { mine: 7001, theirs: 7002 };

let test: TestDatabase;
let consoles: { merchant: TestConsole; operator: TestConsole };
let projects: { mine: string; theirs: string };
let owner: Account;
let member: Account;
let admin: Account;

const txidOf = (whose: string): string => createHash('sha256').update(`raw-${whose}`).digest('hex');

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  consoles = { merchant: await openConsole(test.url, 'merchant'), operator: await openConsole(test.url, 'operator') };
  const cli = cliWith(settings(test.url));
  const made = async (name: string): Promise<string> =>
    ((await cli('project', 'create', '--name', name, '--json')).json() as { merchant: string }).merchant;
  projects = { mine: await made('Mine'), theirs: await made('Theirs') };
  owner = await consoles.merchant.signedIn('owner', projects.mine);
  member = await consoles.merchant.signedIn('member', projects.mine);
  admin = await consoles.operator.signedIn('admin');
  for (const whose of ['mine', 'theirs'] as const) await record(whose);
}, LIMIT_MS);

afterAll(async () => {
  await consoles.merchant.close();
  await consoles.operator.close();
  await test.drop();
});

/** Inserts one of each searchable row. Both projects get the same data except for unique values. */
async function record(whose: 'mine' | 'theirs'): Promise<void> {
  const project = projects[whose];
  const id = IDS[whose].toString();
  await consoles.merchant.database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    for (const statement of [
      `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits, trx_usd_e8, request_id, created_at)
       OVERRIDING SYSTEM VALUE VALUES (${id}, '${project}', 'payout-7', sha256(''), 'rental', 'delivered', '${RECEIVER}', 65000, 3600, 1, 1, 1, 'req-${whose}~Zm9vYmFyYmF6', now())`,
      `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
       OVERRIDING SYSTEM VALUE VALUES (${id}, ${id}, 1, 'rental', 1, '${RECEIVER}', 1, 'active')`,
      `INSERT INTO chain_tx (leg_id, order_id, purpose, attempt, wallet_id, raw_data, txid, ref_block_number, expires_at, status)
       VALUES (${id}, ${id}, 'delegate', 1, 1, 'raw-${whose}', sha256('raw-${whose}'), 1, now(), 'solid')`,
      `INSERT INTO deposit (id, project_id, txid, kind, place, address, from_address, asset, amount, status, block_number, block_id, block_at)
       OVERRIDING SYSTEM VALUE VALUES (${id}, '${project}', sha256('paid-${whose}'), 'native', 0, 'T', 'T', 'TRX', 1, 'pending', 1, sha256(''), now())`,
      `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
       VALUES ('${project}', now(), 'refused-${whose}', 'GET', '/v1/orders', 401, 'INVALID_SIGNATURE', 'x', '192.0.2.9')`,
      `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
       VALUES ('${project}', '${RECEIVER}', '${project}', 1, 1, 1, 1, 1)`,
    ]) {
      await tx.query(statement);
    }
  });
}

const search = async (account: Account, sought: string, project = projects.mine) =>
  account.browser.get(`/api/projects/${project}/search?q=${encodeURIComponent(sought)}`);
const found = async (account: Account, sought: string): Promise<string[]> =>
  ((await search(account, sought)).body.items as { kind: string; by: string; name: string }[]).map(
    ({ kind, by, name }) => [kind, by, name].join(' '),
  );
const everywhere = async (sought: string) =>
  (await admin.browser.get(`/api/operator/search?q=${encodeURIComponent(sought)}`)).body.items as {
    kind: string;
    name: string;
    project?: { id: string; name: string };
  }[];

describe('the search of a project', () => {
  it.each([
    ['a transaction', () => txidOf('mine'), () => ['order txid payout-7']],
    ['a transaction with its prefix', () => `0x${txidOf('mine').toUpperCase()}`, () => ['order txid payout-7']],
    [
      'a paid-in transaction',
      () => createHash('sha256').update('paid-mine').digest('hex'),
      () => ['deposit txid dep_7001'],
    ],
    ['an address', () => RECEIVER, () => [`auto_delegation address ${RECEIVER}`, `receiver address ${RECEIVER}`]],
    ['an order’s key', () => ' payout-7 ', () => ['order key payout-7']],
    ['an order’s number', () => '7001', () => ['order number payout-7']],
    ['a deposit’s number', () => 'dep_7001', () => ['deposit number dep_7001']],
    ['an order’s request id', () => 'req-mine', () => ['order request_id payout-7']],
    ['a refused request', () => 'refused-mine', () => ['refused_request request_id refused-mine']],
    ['a key’s id', () => projects.mine, () => [`api_key id ${projects.mine}`]],
  ])('finds %s', async (_what, sought, expected) => {
    expect(await found(owner, sought())).toEqual(expected());
    expect(await found(member, sought())).toEqual(expected());
  });

  it.each([
    ['a transaction id', 'ab'.repeat(32)],
    ['an address', 'TSSMHYeV2uE9qYH95DqyoCuNCzEL1NvU3S'],
    ['nothing else, of 255 characters', 'k'.repeat(255)],
  ])('finds an order whose key looks like %s', async (_what, key) => {
    await consoles.merchant.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query(
        `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits, trx_usd_e8, created_at)
           VALUES ($1, $2, sha256(''), 'rental', 'delivered', 'T', 65000, 3600, 1, 1, 1, now())`,
        [projects.mine, key],
      );
    });
    expect(await found(owner, key)).toContain(`order key ${key}`);
    expect(await everywhere(key)).toContainEqual(expect.objectContaining({ kind: 'order', name: key }));
  });

  it('finds a webhook by its id and a key by its name', async () => {
    const id = randomUUID();
    await consoles.merchant.database.query(
      `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, 'https://a.example/?token=1', 'x')`,
      [id, projects.mine],
    );
    const { body } = await search(owner, id.toUpperCase());
    expect(body.items).toMatchObject([{ kind: 'webhook', name: id, says: 'https://a.example/…' }]);
    const key = await owner.browser.post(`/api/projects/${projects.mine}/keys`, { name: 'Payouts', scopes: ['read'] });
    expect(await found(owner, 'payouts')).toEqual([`api_key name ${key.body.key.id as string}`]);
  });

  it('never shows the token in the path of a webhook’s URL', async () => {
    const id = randomUUID();
    await consoles.merchant.database.query(
      `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, 'https://a.example/T0K3N', 'x')`,
      [id, projects.mine],
    );
    const support = await consoles.operator.signedIn('support');
    const inProject = await support.browser.get(`/api/projects/${projects.mine}/search?q=${id}`);
    const inService = await support.browser.get(`/api/operator/search?q=${id}`);
    for (const { body } of [inProject, inService]) {
      expect(body.items).toMatchObject([{ kind: 'webhook', name: id, says: 'https://a.example/…' }]);
    }
  });

  it.each([
    ['transaction', () => txidOf('theirs')],
    ['deposit', () => createHash('sha256').update('paid-theirs').digest('hex')],
    ['order’s number', () => '7002'],
    ['deposit’s number', () => 'dep_7002'],
    ['request id', () => 'req-theirs'],
    ['refused request', () => 'refused-theirs'],
    ['key', () => projects.theirs],
  ])('finds no %s of another project', async (_what, sought) => {
    expect(await found(owner, sought())).toEqual([]);
    const within = await admin.browser.get(`/api/projects/${projects.mine}/search?q=${sought()}`);
    expect(within.body.items).toEqual([]);
  });

  it('rejects an empty text, and one that no name can contain', async () => {
    expect((await search(owner, ' ')).status).toBe(400);
    expect((await search(owner, 'x'.repeat(256))).status).toBe(400);
    expect(await found(owner, "' OR 1=1 --")).toEqual([]);
    expect(await found(owner, '9'.repeat(18))).toEqual([]);
  });
});

describe('the search of operators', () => {
  it('finds an object in any project, with the project’s name', async () => {
    expect(await everywhere(txidOf('theirs'))).toMatchObject([
      { kind: 'order', name: 'payout-7', project: { id: projects.theirs, name: 'Theirs' } },
    ]);
    const both = await everywhere('payout-7');
    expect(both.map(({ project }) => project?.name).sort()).toEqual(['Mine', 'Theirs']);
    expect((await everywhere(RECEIVER)).map(({ kind }) => kind).sort()).toEqual([
      'auto_delegation',
      'auto_delegation',
      'receiver',
      'receiver',
    ]);
    expect(await everywhere('req-mine')).toMatchObject([{ kind: 'order', project: { name: 'Mine' } }]);
    expect(await everywhere('refused-theirs')).toMatchObject([
      { kind: 'refused_request', project: { name: 'Theirs' } },
    ]);
    expect(await everywhere('the')).toMatchObject([{ kind: 'project', name: projects.theirs }]);
    expect((await everywhere(projects.mine)).map(({ kind }) => kind)).toEqual(['api_key', 'project']);
  });

  it('is not available to anyone else', async () => {
    expect((await owner.browser.get('/api/operator/search?q=payout-7')).status).toBe(404);
  });
});

describe('the source addresses of keys', () => {
  const path = (rest = ''): string => `/api/projects/${projects.mine}/sources${rest}`;

  it('show the newest twenty of a key, for thirty days', async () => {
    const { database } = consoles.merchant;
    await database.query(
      `UPDATE api_key SET recent_sources = jsonb_build_object('192.0.2.50', clock_timestamp() - interval '31 days') WHERE id = $1`,
      [projects.mine],
    );
    const use = new KeyUse(database, openLog('silent'));
    for (const source of ['192.0.2.1', '192.0.2.1', '198.51.100.7']) {
      use.note(projects.mine);
      use.noteSource(projects.mine, source);
    }
    await use.beforeApplicationShutdown();
    await database.query(
      `UPDATE api_key SET recent_sources = jsonb_set(recent_sources, '{192.0.2.1}', '"2026-11-01T00:00:00Z"') WHERE id = $1`,
      [projects.mine],
    );
    for (let host = 1; host <= 30; host += 1) {
      use.note(projects.theirs);
      use.noteSource(projects.theirs, `203.0.113.${host.toString()}`);
    }
    await use.beforeApplicationShutdown();
    const { body } = await owner.browser.get(path());
    expect(body).toMatchObject({
      allowed_sources: [],
      callers: [
        { address: '198.51.100.7', key: { id: projects.mine }, allowed: true },
        { address: '192.0.2.1', at: '2026-11-01T00:00:00Z', allowed: true },
      ],
    });
    const [other] = await database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM api_key k, jsonb_object_keys(k.recent_sources) WHERE k.id = $1`,
      [projects.theirs],
    );
    expect(other?.count).toBe(20);
  });

  it('an owner changes the allowed ones, and first sees the addresses that this locks out', async () => {
    const check = await owner.browser.post(path('/check'), { allowed_sources: ['198.51.100.0/24'] });
    expect(check.body).toMatchObject({ locked_out: [{ address: '192.0.2.1' }], still_allowed: 1 });
    expect((await owner.browser.get(path())).body.allowed_sources).toEqual([]);

    const set = await owner.browser.post(path(), { allowed_sources: ['198.51.100.0/24', '198.51.100.0/24'] });
    expect(set.body).toMatchObject({
      allowed_sources: ['198.51.100.0/24'],
      callers: [
        { address: '198.51.100.7', allowed: true },
        { address: '192.0.2.1', allowed: false },
      ],
    });
    // A source that is already refused is not reported as locked out.
    const narrower = await owner.browser.post(path('/check'), { allowed_sources: ['198.51.100.9'] });
    expect(narrower.body).toMatchObject({ locked_out: [{ address: '198.51.100.7' }], still_allowed: 0 });
    const ofKey = await owner.browser.post(path('/check'), { allowed_sources: ['192.0.2.1'], key_id: projects.mine });
    expect(ofKey.body.locked_out).toMatchObject([{ address: '198.51.100.7' }]);

    const key = await owner.browser.post(path(), { allowed_sources: ['198.51.100.7'], key_id: projects.mine });
    expect(key.body.keys).toContainEqual(expect.objectContaining({ allowed_sources: ['198.51.100.7'] }));
    const acts = await consoles.merchant.database.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE actor = $1 AND action LIKE '%.options' ORDER BY id`,
      [owner.email],
    );
    expect(acts.map(({ action }) => action)).toEqual(['project.options', expect.stringMatching(/^key/)]);
  });

  it('accept only addresses, and no key of another project', async () => {
    const refused = async (body: object) => (await owner.browser.post(path('/check'), body)).status;
    expect(await refused({ allowed_sources: ['example.com'] })).toBe(400);
    expect(await refused({ allowed_sources: ['10.0.0.1/99'] })).toBe(400);
    expect(await refused({})).toBe(400);
    expect(await refused({ allowed_sources: [], key_id: projects.theirs })).toBe(404);
    expect((await owner.browser.post(path(), { allowed_sources: [], key_id: projects.theirs })).status).toBe(404);
    expect((await member.browser.get(path())).status).toBe(200);
    expect((await member.browser.post(path(), { allowed_sources: [] })).status).toBe(403);
  });
});
