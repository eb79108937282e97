// Event streams: no event missed or repeated despite any number of cuts; bounded in number, time and memory.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { randomInt } from 'node:crypto';
import { limited, until } from '../../../packages/local/src/wait.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { HmacCustomer, type Customer } from '../../support/api/client.js';
import { EventStream, StreamRefused } from '../../support/api/event-stream.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { scrape, startProcess, type ServiceProcess } from '../../support/api/processes.js';
import { openLog } from '../../support/log.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const LIMIT_MS = 60_000;
let store: TestDatabase;
let redis: TestRedis;
let env: Record<string, string>;
let api: TestApi;
let numberer: Numberer;

beforeAll(async () => {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  env = settings(store.url, {
    REDIS_URL: redis.url,
    LOG_LEVEL: 'silent',
    DATABASE_POOL_MAX: '8',
    STREAM_SLOW_SEC: '1',
    GENERAL_RATE_LIMIT_PER_MINUTE: '1000000',
    MAX_CONNECTIONS_PER_ADDRESS: '10000',
  });
  api = await openApi(env);
  numberer = new Numberer(api.database, new Metrics(), openLog('silent'));
});

afterAll(async () => {
  await api.close();
  await redis.close();
  await store.drop();
});

async function newReader(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(api, 0n);
  return new HmacCustomer(api.baseUrl, merchant, apiKey);
}

const INSERT = `INSERT INTO event (project_id, type, snapshot)
  SELECT p, $2, json_build_object('project', json_build_object('id', p, 'name', $3::text, 'frozen', true))
    FROM unnest($1::uuid[]) AS p, generate_series(1, $4)`;

const numberAll = async (): Promise<void> => {
  while ((await numberer.numberBatch()) > 0);
};

/** Adds `count` numbered events to each project. */
async function happen(readers: readonly Customer[], count: number, type = 'project.frozen', name = 'x'): Promise<void> {
  await api.database.query(INSERT, [readers.map(({ merchant }) => merchant), type, name, count]);
  await numberAll();
}

const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

/** Waits until the stream has received `count` events. */
async function has(stream: EventStream, count: number): Promise<void> {
  await until(() => (stream.events.length >= count ? true : undefined), LIMIT_MS, `${count.toString()} events`, 10);
}

test('a stream has the existing events and then the new ones, each with its position as id', async () => {
  const reader = await newReader();
  await happen([reader], 50);
  const stream = await EventStream.open(reader);
  expect(stream.contentType).toBe('text/event-stream');
  await has(stream, 50);
  await happen([reader], 3, 'project.unfrozen');
  await has(stream, 53);
  expect(stream.positions).toEqual(upTo(53));
  expect(stream.lastId).toBe('53');
  expect(stream.events.at(-1)).toMatchObject({ type: 'project.unfrozen', data: { project: { id: reader.merchant } } });
  const page = await reader.get('/v1/events?limit=100');
  expect(page.body.items).toEqual(stream.events);
  stream.cut();
});

test('a stream goes on after the last id, whatever its query says, and without one begins where the query says', async () => {
  const reader = await newReader();
  await happen([reader], 30);
  const resumed = await EventStream.open(reader, { query: '?after=3', lastId: '27' });
  const begun = await EventStream.open(reader, { query: '?after=28' });
  const latest = await EventStream.open(reader, { query: '?after=latest' });
  // The client knows where to resume before the first event.
  await until(() => (latest.lastId === '30' ? true : undefined), LIMIT_MS, 'the first id');
  await happen([reader], 1);
  await Promise.all([has(resumed, 4), has(begun, 3), has(latest, 1)]);
  expect([resumed.positions, begun.positions, latest.positions]).toEqual([upTo(31, 28), upTo(31, 29), [31]]);
  for (const lastId of ['', 'x', '-1', '1.5']) {
    await expect(EventStream.open(reader, { lastId })).rejects.toMatchObject({
      status: 400,
      body: { error: 'INVALID_REQUEST', details: [{ field: 'Last-Event-ID' }] },
    });
  }
  for (const stream of [resumed, begun, latest]) stream.cut();
});

test('a quiet stream has a comment within its 15 s, with the position that it has passed', async () => {
  const reader = await newReader();
  const stream = await EventStream.open(reader, { query: '?types=order.settled' });
  const before = stream.comments;
  await happen([reader], 5);
  await until(() => (stream.lastId === '5' ? true : undefined), LIMIT_MS, 'the position');
  await until(() => (stream.comments > before + 1 ? true : undefined), LIMIT_MS, 'a comment');
  expect(stream.events).toEqual([]);
  stream.cut();
});

test('an eleventh stream of a project is refused until one of them is over', async () => {
  const [reader, other] = [await newReader(), await newReader()];
  const streams = await Promise.all(Array.from({ length: 10 }, () => EventStream.open(reader)));
  await expect(EventStream.open(reader)).rejects.toMatchObject({ status: 429, body: { error: 'RATE_LIMITED' } });
  streams.push(await EventStream.open(other));
  streams[0]!.cut();
  const again = async (): Promise<EventStream | undefined> =>
    EventStream.open(reader).catch((error: unknown) => {
      if (error instanceof StreamRefused && error.status === 429) return undefined;
      throw error;
    });
  streams.push(await until(again, LIMIT_MS, 'room for another'));
  for (const stream of streams) stream.cut();
});

/** Forwards bytes and breaks each connection after `next()` bytes, wherever that is. */
async function openCutter(
  target: string,
  next: () => number,
): Promise<{ url: string; server: Server; cuts: () => number }> {
  let cuts = 0;
  const server = createServer((near: Socket) => {
    const far = connect(Number(new URL(target).port), '127.0.0.1');
    let left = next();
    near.pipe(far);
    far.on('data', (chunk: Buffer) => {
      near.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      cuts += 1;
      near.end();
      far.destroy();
    });
    for (const socket of [near, far]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port.toString()}`, server, cuts: () => cuts };
}

test('a reader that is cut off anywhere goes on without a gap and without a repetition, while others write', async () => {
  const [reader, total] = [await newReader(), 1500];
  // A connection ends after 1 to 9 000 bytes of its answer: in headers, events or ids.
  const cutter = await openCutter(api.baseUrl, () => randomInt(1, 9000));
  let written = 0;
  const write = async (): Promise<void> => {
    while (written < total) {
      const count = Math.min(randomInt(1, 12), total - written);
      written += count;
      await api.database.query(INSERT, [[reader.merchant], 'project.frozen', 'x'.repeat(randomInt(1, 400)), count]);
      await sleep(randomInt(0, 10));
    }
  };
  const state = { isWritten: false };
  const writing = Promise.all([write(), write()]).finally(() => (state.isWritten = true));
  const numbering = (async (): Promise<void> => {
    while (!state.isWritten) await numberer.numberBatch();
    await numberAll();
  })();
  const positions: number[] = [];
  let lastId: string | undefined;
  try {
    const readOn = async (): Promise<true | undefined> => {
      const stream = await EventStream.open(reader.at(cutter.url), { lastId }).catch(() => undefined);
      if (stream === undefined) return undefined;
      const isAll = (): true | undefined => (positions.length + stream.events.length >= written ? true : undefined);
      await until(() => (stream.isOver || (state.isWritten && isAll()) ? true : undefined), LIMIT_MS, 'the end', 2);
      positions.push(...stream.positions);
      lastId = stream.lastId ?? lastId;
      stream.cut();
      return state.isWritten && positions.length >= written ? true : undefined;
    };
    await until(readOn, LIMIT_MS, 'every event', 1);
  } finally {
    await Promise.all([writing, numbering]);
    cutter.server.close();
  }
  expect(positions).toEqual(upTo(written));
  expect(cutter.cuts()).toBeGreaterThan(20);
});

/** Returns the number of streams that ended in this process for this reason. */
async function endedBy(by: string): Promise<number> {
  const text = await api.app.get(Metrics).registry.metrics();
  return Number(new RegExp(`event_streams_ended_total{by="${by}"} (\\d+)`).exec(text)?.[1]);
}

test('a reader that accepts nothing is cut off with little of the log in memory, others read on, and it resumes with every event', async () => {
  const reader = await newReader();
  // More than the socket buffers in between can hold.
  await happen([reader], 400, 'project.frozen', 'x'.repeat(50_000));
  const slow = await endedBy('slow');
  const lazy = await EventStream.open(reader, { query: '?after=0' });
  lazy.pause();
  const eager = await EventStream.open(reader);
  await has(eager, 400);
  await until(async () => ((await endedBy('slow')) === slow + 1 ? true : undefined), LIMIT_MS, 'being cut off');
  lazy.resume();
  expect(await limited(lazy.ended, LIMIT_MS, 'the break')).toBe('broken');
  expect(lazy.events.length).toBeLessThan(400);
  const resumed = await EventStream.open(reader, { lastId: lazy.lastId ?? '0' });
  await has(resumed, 400 - lazy.events.length);
  expect([...lazy.positions, ...resumed.positions]).toEqual(upTo(400));
  for (const stream of [eager, resumed]) stream.cut();
});

describe('a process of its own', () => {
  /** Returns the bytes of its heap and buffers after garbage collection. */
  async function memoryOf(member: ServiceProcess): Promise<number> {
    member.process.signal('SIGUSR2');
    // Twice, for objects that the first collection released.
    await sleep(1500);
    member.process.signal('SIGUSR2');
    await sleep(1500);
    const metrics = await scrape(member);
    return metrics.sum('nodejs_heap_size_used_bytes') + metrics.sum('nodejs_external_memory_bytes');
  }

  test('holds 2 000 streams in bounded memory, sends to all of them, and on SIGTERM ends each one without losing an event', async () => {
    const member = await startProcess('api', {
      ...env,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require ${process.cwd()}/test/programmes/bench/collect-garbage.cjs`,
      MAX_CONNECTIONS: '4000',
      DRAIN_DELAY_SEC: '0',
    });
    try {
      const readers: HmacCustomer[] = [];
      while (readers.length < 200) readers.push(await newReader());
      const here = readers.map((reader) => reader.at(member.baseUrl));
      // Once per project, so that cached project data does not count.
      for (const reader of here) (await EventStream.open(reader)).cut();
      const empty = await memoryOf(member);
      const streams: EventStream[] = [];
      for (let n = 0; n < 10; n += 1)
        streams.push(...(await Promise.all(here.map((reader) => EventStream.open(reader)))));
      const idle = await memoryOf(member);
      await happen(readers, 30, 'project.frozen', 'x'.repeat(1000));
      await Promise.all(streams.map((stream) => has(stream, 30)));
      const used = await memoryOf(member);
      const perStream = [idle, used].map((bytes) => Math.round((bytes - empty) / streams.length));
      console.log(`heap per stream: ${perStream.join(' B idle, ')} B after 30 events each of 1 KB`);
      for (const bytes of perStream) expect(bytes).toBeLessThan(32 * 1024);
      for (const stream of streams) expect(stream.positions).toEqual(upTo(30));
      const poll = here[0]!.get('/v1/events?after=30&wait=30');
      await until(
        async () => ((await scrape(member)).sum('event_reads_held', 'poll') === 1 ? true : undefined),
        LIMIT_MS,
        'the poll',
      );
      member.process.signal('SIGTERM');
      expect((await poll).body).toEqual({ items: [], last_position: 30 });
      expect(new Set(await Promise.all(streams.map(({ ended }) => ended)))).toEqual(new Set(['ended']));
      expect(await limited(member.process.exited, LIMIT_MS, 'the end')).toBe(0);
    } finally {
      await member.process.stop();
    }
  });
});
