// The event log over HTTP: in order, held open until an event comes, and ended when the caller loses its rights.
import { until } from '../../../packages/local/src/wait.js';
import { HeldReads } from '../../../src/modules/events/held-reads.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { pruneEvents } from '../../../src/modules/events/retention.js';
import type { Scope } from '../../../src/domain/scopes.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import type { ApiKeys } from '../../../src/modules/projects/api-keys.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { expectError } from '../../support/api/answers.js';
import { Customer, HmacCustomer, hmacHeaders, type Answer } from '../../support/api/client.js';
import { request as httpRequest } from 'node:http';
import { EventStream, StreamRefused } from '../../support/api/event-stream.js';
import { AUTHOR, makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { apiKeysOn } from '../../support/api/services.js';

const LIMIT_MS = 30_000;
let store: TestDatabase;
let redis: TestRedis;
let env: Record<string, string>;
let api: TestApi;
let keys: ApiKeys;
let numberer: Numberer;

beforeAll(async () => {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  env = settings(store.url, {
    REDIS_URL: redis.url,
    LOG_LEVEL: 'silent',
    DATABASE_POOL_MAX: '8',
    STREAM_SLOW_SEC: '1',
  });
  api = await openApi(env);
  keys = apiKeysOn(api.database, api.app);
  numberer = new Numberer(api.database, new Metrics(), openLog('silent'));
  // A new Redis refuses signatures from its first second.
  const first = await newReader();
  await until(async () => ((await first.get('/v1/balance')).status === 200 ? true : undefined), LIMIT_MS, 'nonces');
});

afterAll(async () => {
  await api.close();
  await redis.close();
  await store.drop();
});

async function newReader(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(api);
  return new HmacCustomer(api.baseUrl, merchant, apiKey);
}

const INSERT = `INSERT INTO event (project_id, type, snapshot)
  SELECT $1::uuid, $2, json_build_object('project', json_build_object('id', $1::uuid, 'name', $3::text, 'frozen', true))
    FROM generate_series(1, $4)`;

const numberAll = async (): Promise<void> => {
  while ((await numberer.numberBatch()) > 0);
};

/** Adds `count` numbered events to the reader's project. */
async function happen({ merchant }: Customer, count: number, type = 'project.frozen', name = 'x'): Promise<void> {
  await api.database.query(INSERT, [merchant, type, name, count]);
  await numberAll();
}

const positionsIn = ({ body }: Answer): number[] => (body.items as { position: number }[]).map((item) => item.position);
const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

/** Waits until the process holds `count` reads open. */
async function held(kind: 'poll' | 'stream', count: number, on = api): Promise<void> {
  const gauge = async (): Promise<true | undefined> => {
    const text = await on.app.get(Metrics).registry.metrics();
    return text.includes(`event_reads_held{kind="${kind}"} ${count.toString()}\n`) ? true : undefined;
  };
  await until(gauge, LIMIT_MS, `${count.toString()} of ${kind} being held`);
}

describe('a page of events', () => {
  test('is read after a position, and its last position starts the next page', async () => {
    const reader = await newReader();
    expect((await reader.get('/v1/events')).body).toEqual({ items: [], last_position: 0 });
    await happen(reader, 45);
    const first = await reader.get('/v1/events');
    expect(first.status).toBe(200);
    expect(first.headers['content-type']).toBe('application/json; charset=utf-8');
    expect([positionsIn(first), first.body.last_position]).toEqual([upTo(20), 20]);
    const second = await reader.get('/v1/events?after=20&limit=100');
    expect([positionsIn(second), second.body.last_position]).toEqual([upTo(45, 21), 45]);
    expect((await reader.get('/v1/events?after=45')).body).toEqual({ items: [], last_position: 45 });
    expect((await reader.get('/v1/events?after=latest')).body).toEqual({ items: [], last_position: 45 });
    expect(second.body.items[0]).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
      type: 'project.frozen',
      position: 21,
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      data: { project: { id: reader.merchant, name: 'x', frozen: true } },
    });
  });

  test('has only the wanted types, and skips the others', async () => {
    const reader = await newReader();
    await happen(reader, 3);
    await happen(reader, 2, 'project.unfrozen');
    await happen(reader, 4);
    const both = await reader.get('/v1/events?types=project.unfrozen,order.created');
    expect([positionsIn(both), both.body.last_position]).toEqual([[4, 5], 9]);
    const one = await reader.get('/v1/events?types=project.unfrozen&limit=1&after=1');
    expect([positionsIn(one), one.body.last_position]).toEqual([[4], 4]);
  });

  test('has only events of the project of the reader', async () => {
    const [one, other] = [await newReader(), await newReader()];
    await happen(one, 3);
    expect((await other.get('/v1/events')).body).toEqual({ items: [], last_position: 0 });
  });

  test.each([
    ['after=', 'after'],
    ['after=-1', 'after'],
    ['after=01', 'after'],
    ['after=1.0', 'after'],
    ['after=9007199254740993', 'after'],
    ['after=newest', 'after'],
    ['after=1&after=2', 'after'],
    ['types=', 'types'],
    ['types=order.created,', 'types'],
    ['types=order.bought', 'types'],
    ['types=order.created&types=order.settled', 'types'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['wait=31', 'wait'],
    ['wait=-1', 'wait'],
    ['wait=1.5', 'wait'],
    ['cursor=x', 'cursor'],
    ['position=1', 'position'],
  ])('refuses ?%s and names %s', async (query, field) => {
    const answer = await (await newReader()).get(`/v1/events?${query}`);
    expectError(answer, 'INVALID_REQUEST');
    expect((answer.body.details as { field: string }[]).map((each) => each.field)).toEqual([field]);
  });

  test('requires HMAC and the scope read alone', async () => {
    const reader = await newReader();
    const byMd5 = new Customer(api.baseUrl, reader.merchant, reader.apiKey);
    expectError(await byMd5.get('/v1/events'), 'HMAC_REQUIRED');
    const others: Scope[] = ['quote', 'order', 'manage'];
    const { apiKey } = await keys.create(reader.merchant, { name: 'no reader', scopes: others }, AUTHOR);
    expectError(await reader.withKey(apiKey).get('/v1/events'), 'KEY_SCOPE');
    await expect(EventStream.open(reader.withKey(apiKey))).rejects.toMatchObject({ body: { error: 'KEY_SCOPE' } });
  });

  test('that begins before the oldest stored event is 410 and names that event; without a position it begins there', async () => {
    const reader = await newReader();
    await happen(reader, 4);
    await api.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query(
        `UPDATE event SET at = at - interval '31 days' WHERE id <= (SELECT id FROM event WHERE project_id = $1 AND position = 2)`,
        [reader.merchant],
      );
    });
    while ((await pruneEvents(api.database, 30, 1000)) > 0);
    const answer = await reader.get('/v1/events?after=1');
    expectError(answer, 'EVENTS_EXPIRED');
    expect(answer.body.oldest_position).toBe(3);
    expect(answer.body.msg).toContain('before position 3');
    expect(positionsIn(await reader.get('/v1/events'))).toEqual([3, 4]);
    expect(positionsIn(await reader.get('/v1/events?after=2'))).toEqual([3, 4]);
    await expect(EventStream.open(reader, { lastId: '1' })).rejects.toMatchObject({
      status: 410,
      body: { error: 'EVENTS_EXPIRED', oldest_position: 3 },
    });
  });

  test('counts against a budget that quotes do not share', async () => {
    const counted = await openApi({ ...env, REDIS_PREFIX: 'counted', GENERAL_RATE_LIMIT_PER_MINUTE: '2' });
    try {
      const reader = (await newReader()).at(counted.baseUrl);
      const first = await until(
        async () => {
          const answer = await reader.get('/v1/events');
          return answer.status === 401 ? undefined : answer;
        },
        LIMIT_MS,
        'nonces',
      );
      expect([first.status, first.headers['ratelimit-limit'], first.headers['ratelimit-remaining']]).toEqual([
        200,
        '2',
        '1',
      ]);
      expect((await reader.get('/v1/events')).status).toBe(200);
      expectError(await reader.get('/v1/events'), 'RATE_LIMITED');
      await expect(EventStream.open(reader)).rejects.toMatchObject({ status: 429 });
      const quote = await reader.post('/v1/quotes', {});
      expect([quote.status, quote.headers['ratelimit-remaining']]).toEqual([400, '119']);
    } finally {
      await counted.close();
    }
  });
});

describe('a long poll', () => {
  test('is answered with what is there, or with the first events that come', async () => {
    const reader = await newReader();
    const waiting = reader.get('/v1/events?wait=30');
    const other = (await newReader()).get('/v1/events?wait=15');
    await held('poll', 2);
    await happen(reader, 1);
    // Long before its own time limit.
    const answer = await Promise.race([waiting, other]);
    expect([positionsIn(answer), answer.body.last_position]).toEqual([[1], 1]);
    expect(positionsIn(await reader.get('/v1/events?wait=30'))).toEqual([1]);
    expect((await other).body.items).toEqual([]);
    await held('poll', 0);
  });

  test('goes on waiting for the wanted types, and in the end returns the position that it has passed', async () => {
    const reader = await newReader();
    const [never, soon] = [
      reader.get('/v1/events?after=latest&types=order.settled&wait=2'),
      reader.get('/v1/events?after=latest&types=project.unfrozen&wait=30'),
    ];
    await held('poll', 2);
    await happen(reader, 3);
    await happen(reader, 1, 'project.unfrozen');
    expect(positionsIn(await soon)).toEqual([4]);
    expect((await never).body).toEqual({ items: [], last_position: 4 });
  });

  test('is cheap while nothing comes: one statement for all of them, and one read each', async () => {
    const readers = await Promise.all(Array.from({ length: 5 }, newReader));
    const database = api.app.get(Database);
    const query = database.query.bind(database);
    let [shared, reads] = [0, 0];
    aroundStatements(database, ['events_moved'], { before: () => (shared += 1) });
    aroundStatements(database, ['read_events'], { before: () => (reads += 1) });
    try {
      const waiting = readers.flatMap((reader) => Array.from({ length: 20 }, () => reader.get('/v1/events?wait=30')));
      await held('poll', 100);
      await until(() => (reads === 100 ? true : undefined), LIMIT_MS, 'the first reads');
      const before = shared;
      await until(() => (shared >= before + 5 ? true : undefined), LIMIT_MS, 'five shared reads');
      expect(reads).toBe(100);
      for (const reader of readers) await happen(reader, 1);
      for (const answer of await Promise.all(waiting)) expect(positionsIn(answer)).toEqual([1]);
      expect(reads).toBe(200);
    } finally {
      database.query = query;
    }
  });

  test('is refused beyond twenty of a project, until one of them is over', async () => {
    const reader = await newReader();
    const waiting = Array.from({ length: 20 }, () => reader.get('/v1/events?wait=30'));
    await held('poll', 20);
    expectError(await reader.get('/v1/events?wait=1'), 'RATE_LIMITED');
    expect((await reader.get('/v1/events')).status).toBe(200);
    const other = (await newReader()).get('/v1/events?wait=1');
    expect((await other).status).toBe(200);
    await happen(reader, 1);
    await Promise.all(waiting);
    expect((await reader.get('/v1/events?after=1&wait=1')).status).toBe(200);
  });

  test('whose caller has gone away holds nothing', async () => {
    const reader = await newReader();
    const path = '/v1/events?wait=30';
    const { hostname, port } = new URL(api.baseUrl);
    const headers = hmacHeaders(reader.merchant, reader.apiKey, { method: 'GET', path });
    const request = httpRequest({ agent: false, hostname, port, path, headers });
    request.on('error', () => undefined);
    request.end();
    await held('poll', 1);
    request.destroy();
    await held('poll', 0);
  });

  test('is refused beyond the limit of the process', async () => {
    const small = await openApi({ ...env, LONG_POLLS_MAX: '1', STREAMS_MAX: '1' });
    try {
      const [one, other] = [(await newReader()).at(small.baseUrl), (await newReader()).at(small.baseUrl)];
      const waiting = one.get('/v1/events?wait=30');
      await held('poll', 1, small);
      expectError(await other.get('/v1/events?wait=1'), 'SERVICE_UNAVAILABLE');
      const stream = await EventStream.open(one);
      await expect(EventStream.open(other)).rejects.toMatchObject({ status: 503 });
      small.app.get(HeldReads).releaseAll();
      expect((await waiting).body).toEqual({ items: [], last_position: 0 });
      expect(await stream.ended).toBe('ended');
      // New polls are answered immediately, new streams are sent to another process.
      expect((await other.get('/v1/events?wait=30')).body).toEqual({ items: [], last_position: 0 });
      await expect(EventStream.open(other)).rejects.toMatchObject({ status: 503 });
    } finally {
      await small.close();
    }
  });
});

interface Held {
  readonly reader: HmacCustomer;
  readonly keyId: string;
}

const ENDINGS: readonly (readonly [string, (held: Held) => Promise<unknown>, string])[] = [
  ['revoking the key', ({ keyId }) => keys.revoke(keyId, AUTHOR), 'INVALID_SIGNATURE'],
  ['another secret for the key', ({ keyId }) => keys.rotate(keyId, 0, AUTHOR), 'INVALID_SIGNATURE'],
  ['taking the scope', ({ keyId }) => keys.setOptions(keyId, { scopes: ['order'] }, AUTHOR), 'KEY_SCOPE'],
  [
    'other sources for the key',
    ({ keyId }) => keys.setOptions(keyId, { allowedSources: ['10.0.0.0/8'] }, AUTHOR),
    'SOURCE_NOT_ALLOWED',
  ],
  [
    'other sources for the project',
    ({ reader }) => api.projects.change(reader.merchant, { allowedSources: ['10.0.0.0/8'] }, AUTHOR),
    'SOURCE_NOT_ALLOWED',
  ],
  ['freezing', ({ reader }) => api.ledger.setFrozen(reader.merchant, true, AUTHOR), 'PROJECT_FROZEN'],
];

/** Opens a poll and a stream with a new key. */
async function hold(count = 1): Promise<Held & { poll: Promise<Answer>; stream: EventStream }> {
  const primary = await newReader();
  const { id: keyId, apiKey } = await keys.create(primary.merchant, { name: 'reader', scopes: ['read'] }, AUTHOR);
  // Numbers the events of the key's creation.
  await numberAll();
  const reader = primary.withKey(apiKey);
  const poll = reader.get('/v1/events?after=latest&types=order.created&wait=30');
  const stream = await EventStream.open(reader, { query: '?after=latest&types=order.created' });
  await held('poll', count);
  return { reader, keyId, poll, stream };
}

describe('a right that a caller loses', () => {
  test.each(ENDINGS)('%s ends polls and streams', async (_, change, code) => {
    const { poll, stream, ...made } = await hold();
    await change(made);
    expect((await poll).body).toMatchObject({ ok: false, error: code });
    expect(await stream.ended).toBe('ended');
    await expect(EventStream.open(made.reader)).rejects.toThrow(StreamRefused);
    await held('stream', 0);
  });

  test('its announcement ends them at once, and without it they end all the same', async () => {
    const [unheard, heard] = [await hold(1), await hold(2)];
    await api.database.query('ALTER TABLE api_key DISABLE TRIGGER api_key_announced');
    try {
      await keys.revoke(unheard.keyId, AUTHOR);
    } finally {
      await api.database.query('ALTER TABLE api_key ENABLE TRIGGER api_key_announced');
    }
    // Before the change would be noticed without an announcement.
    const clock = (await newReader()).get('/v1/events?wait=4').then(() => 'time');
    await keys.revoke(heard.keyId, AUTHOR);
    expect(await Promise.race([heard.stream.ended, clock])).toBe('ended');
    expect((await heard.poll).body).toMatchObject({ ok: false, error: 'INVALID_SIGNATURE' });
    expect((await unheard.poll).body).toMatchObject({ ok: false, error: 'INVALID_SIGNATURE' });
    expect(await unheard.stream.ended).toBe('ended');
  });

  test('no other change ends them: neither one of another key, nor one that removes no right', async () => {
    const { poll, stream, reader, keyId } = await hold();
    await keys.create(reader.merchant, { name: 'another', scopes: ['read'] }, AUTHOR);
    await keys.setOptions(keyId, { scopes: ['read', 'order'] }, AUTHOR);
    await keys.rotate(keyId, 3600, AUTHOR);
    await numberAll();
    await happen(reader, 1, 'order.created');
    expect((await poll).body.items).toHaveLength(1);
    await until(() => (stream.events.length === 1 ? true : undefined), LIMIT_MS, 'the event');
    stream.cut();
  });
});
