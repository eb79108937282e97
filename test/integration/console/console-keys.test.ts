// API keys in the browser: created, shown once, rotated with an overlap, narrowed and revoked under the merchant
// console's role. An API then opens secrets that the console could only seal.
import { isBox } from '../../../src/platform/support/sealed-box.js';
import { until } from '../../../packages/local/src/wait.js';
import { HmacCustomer } from '../../support/api/client.js';
import { openConsole, type Answer, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { seedTestCanaries } from '../../support/cli.js';
import { openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

let store: TestDatabase;
let redis: TestRedis;
let api: PipelineApp;
let merchants: TestConsole;
let operators: TestConsole;
let mine: HmacCustomer;
let theirs: HmacCustomer;
let owner: Account;
let member: Account;
let admin: Account;

beforeAll(async () => {
  [store, redis] = [await createTestDatabase(), await createTestRedis()];
  await seedTestCanaries(store.url);
  api = await openPipeline(store.url, { REDIS_URL: redis.url, BAD_SIGNATURES_PER_MINUTE: '1000000' });
  merchants = await openConsole(store.url, 'merchant');
  operators = await openConsole(store.url, 'operator');
  [mine, theirs] = [await project(), await project()];
  owner = await merchants.signedIn('owner', mine.merchant);
  member = await merchants.signedIn('member', mine.merchant);
  admin = await operators.signedIn('admin');
});

afterAll(async () => {
  await operators.close();
  await merchants.close();
  await api.close();
  await redis.close();
  await store.drop();
});

async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await api.customer('keys');
  return new HmacCustomer(api.baseUrl, merchant, apiKey);
}

const path = (rest = '', of = mine): string => `/api/projects/${of.merchant}/keys${rest}`;
const works = async (secret: string): Promise<boolean> =>
  (await new HmacCustomer(api.baseUrl, mine.merchant, secret).get('/v1/things')).status === 200;
/** Waits until the announcement has reached the API. */
const becomes = (secret: string, wanted: boolean): Promise<true> =>
  until(async () => ((await works(secret)) === wanted ? true : undefined), 10_000, 'the API to know the key');

async function make(name = 'till', more: object = {}): Promise<{ id: string; secret: string; answer: Answer }> {
  const answer = await owner.browser.post(path(), { name, scopes: ['read', 'quote'], ...more });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return { id: answer.body.key.id as string, secret: answer.body.secret as string, answer };
}

it('creates a key that the API opens, and shows its secret once', async () => {
  const { id, secret, answer } = await make('till 1', {
    daily_cap_credits: 5_000_000,
    allowed_sources: ['127.0.0.0/8'],
  });
  expect(answer.body).toMatchObject({
    merchant_id: mine.merchant,
    made: { webhooks: [], auto_delegations: [], auto_delegations_count: 0 },
    key: {
      name: 'till 1',
      is_primary: false,
      scopes: ['read', 'quote'],
      daily_cap: { credits: 5_000_000, usd: '0.500000' },
    },
  });
  expect(secret).toMatch(/^[0-9a-f]{48}$/);
  await becomes(secret, true);
  const list = await owner.browser.get(path());
  expect(list.text).not.toContain(secret);
  expect(list.body.items.map((key: { name: string }) => key.name)).toEqual(['primary', 'till 1']);
  const [row] = await merchants.database.query<{ sealed: Buffer }>('SELECT sealed FROM api_key WHERE id = $1', [id]);
  expect(isBox(row!.sealed)).toBe(true);
});

it('keeps the previous secret for the requested time, and ends it immediately without one', async () => {
  const { id, secret } = await make();
  const kept = await owner.browser.post(path(`/${id}/rotate`), { overlap_sec: 600 });
  expect(kept.status).toBe(200);
  await becomes(kept.body.secret as string, true);
  expect(await works(secret)).toBe(true);
  expect(kept.body.key.previous_until).toEqual(expect.any(String));
  const ended = await owner.browser.post(path(`/${id}/rotate`), { overlap_sec: 0 });
  await becomes(kept.body.secret as string, false);
  expect(await works(ended.body.secret as string)).toBe(true);
  expect(await works(secret)).toBe(false);
  const tooLong = await owner.browser.post(path(`/${id}/rotate`), { overlap_sec: 604_801 });
  expect([tooLong.status, tooLong.body.error]).toEqual([400, 'INVALID_REQUEST']);
});

it('also rotates the primary key, whose secret is in its project’s row', async () => {
  const rotated = await owner.browser.post(path(`/${mine.merchant}/rotate`), { overlap_sec: 3600 });
  expect([rotated.status, rotated.body.key?.is_primary]).toEqual([200, true]);
  await becomes(rotated.body.secret as string, true);
  expect((await mine.get('/v1/things')).status).toBe(200);
});

it('lists what a key created before its secret changes hands, without the paths of URLs', async () => {
  const { id } = await make('maker');
  await merchants.database.query(
    `INSERT INTO webhook_endpoint (id, project_id, made_by_key, url, secret_sealed) VALUES (gen_random_uuid(), $1, $2, 'https://a.example/h?token=secret', 'x')`,
    [mine.merchant, id],
  );
  await merchants.database.query(
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
     VALUES ($1, 'TMade', $2, 1, 1, 1, 1, 1)`,
    [mine.merchant, id],
  );
  const made = {
    webhooks: [{ id: expect.any(String), url: 'https://a.example/…' }],
    auto_delegations: ['TMade'],
    auto_delegations_count: 1,
  };
  expect((await owner.browser.get(path(`/${id}/made`))).body).toEqual(made);
  const support = await operators.signedIn('support');
  expect((await support.browser.get(path(`/${id}/made`))).body).toEqual(made);
  expect((await owner.browser.post(path(`/${id}/rotate`), { overlap_sec: 0 })).body.made).toEqual(made);
});

it('revokes immediately and permanently, with the person in the audit log', async () => {
  const { id, secret } = await make('gone');
  await becomes(secret, true);
  const revoked = await owner.browser.post(path(`/${id}/revoke`), {});
  expect([revoked.status, revoked.body.key.revoked_at]).toEqual([200, expect.any(String)]);
  await becomes(secret, false);
  const again = await owner.browser.post(path(`/${id}/rotate`), { overlap_sec: 0 });
  expect(again.status).toBe(409);
  const acts = await merchants.database.query<{ action: string; actor: string }>(
    `SELECT action, actor FROM audit_log WHERE detail ->> 'key' = $1 ORDER BY id`,
    [id],
  );
  expect(acts).toEqual([
    { action: 'key.create', actor: owner.email },
    { action: 'key.revoke', actor: owner.email },
  ]);
  const shown = await owner.browser.get(path('?all=true'));
  expect(shown.body.items.map((key: { name: string }) => key.name)).toContain('gone');
});

it('narrows and widens a key, but never the scopes of the primary one', async () => {
  const { id } = await make('wide', { daily_cap_credits: 1 });
  const changed = await owner.browser.post(path(`/${id}`), { name: ' narrow ', scopes: ['read'], no_daily_cap: true });
  expect(changed.body).toMatchObject({ name: 'narrow', scopes: ['read'] });
  expect(changed.body).not.toHaveProperty('daily_cap');
  for (const request of [{ scopes: [] }, { name: ' ' }, { allowed_sources: ['not an address'] }, { unknown: 1 }]) {
    expect([request, (await owner.browser.post(path(`/${id}`), request)).status]).toEqual([request, 400]);
  }
  expect((await owner.browser.post(path(`/${mine.merchant}`), { scopes: ['read'] })).status).toBe(400);
});

it('lets an admin change a key’s rights, but not its allowed addresses, which are the owners’', async () => {
  const { id } = await make('moved', { allowed_sources: ['127.0.0.0/8'] });
  expect((await admin.browser.post(path(`/${id}`), { name: 'renamed' })).status).toBe(200);
  const moved = await admin.browser.post(path(`/${id}`), { allowed_sources: ['198.51.100.0/24'] });
  expect([moved.status, moved.body.error]).toEqual([403, 'FORBIDDEN']);
  expect((await owner.browser.post(path(`/${id}`), { allowed_sources: [] })).status).toBe(200);
});

it('rejects an eleventh key', async () => {
  const { merchant } = await project();
  const other = await merchants.signedIn('owner', merchant);
  const made = [];
  for (let count = 1; count <= 10; count += 1) {
    made.push((await other.browser.post(`/api/projects/${merchant}/keys`, { name: 'k', scopes: ['read'] })).status);
  }
  expect(made).toEqual([...Array<number>(9).fill(201), 409]);
});

it('lets a member read and not write, and answers for another project as for none', async () => {
  const { id } = await make('mine alone');
  expect((await member.browser.get(path())).status).toBe(200);
  for (const request of [path(), path(`/${id}/rotate`), path(`/${id}/revoke`)]) {
    expect((await member.browser.post(request, {})).status).toBe(403);
  }
  const other = await merchants.signedIn('owner', theirs.merchant);
  expect((await other.browser.get(path())).status).toBe(404);
  // Through a path of another project the key does not exist.
  for (const act of ['rotate', 'revoke']) {
    const answer = await other.browser.post(path(`/${id}/${act}`, theirs), act === 'rotate' ? { overlap_sec: 0 } : {});
    expect(answer.status).toBe(404);
  }
  expect((await other.browser.get(path(`/${id}/made`, theirs))).status).toBe(404);
});

it('does the same for an operator admin, and shows support everything except acts', async () => {
  const made = await admin.browser.post(path(), { name: 'by an operator', scopes: ['read'] });
  expect(made.status).toBe(201);
  await becomes(made.body.secret as string, true);
  const support = await operators.signedIn('support');
  expect((await support.browser.get(path())).status).toBe(200);
  expect((await support.browser.post(path(), { name: 'x', scopes: ['read'] })).status).toBe(403);
  const foreign = await admin.browser.post(path(`/${made.body.key.id as string}/revoke`, theirs), {});
  expect(foreign.status).toBe(404);
});
