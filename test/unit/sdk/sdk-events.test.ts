// The SDK's event stream: one stream over any number of connections, each event once and in order.
import { setTimeout as sleep } from 'node:timers/promises';
import { EventSourceReader } from '../../../packages/sdk/src/event-source.js';
import { ApiError, NetworkError, type EnergyEvent, type EventStream } from '../../../packages/sdk/src/index.js';
import { refusal, ScriptedService, type Reply } from '../../support/api/scripted-service.js';

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.open();
});

afterAll(() => service.close());

const block = (position: number): string =>
  `id: ${position.toString()}\ndata: ${JSON.stringify({ id: `evt_${position.toString()}`, type: 'order.settled', position, data: {} })}\n\n`;

/** A stream that sends this text and then ends, breaks, or stays open. */
const streamed =
  (text: string, end: 'ends' | 'breaks' | 'stands' = 'ends'): Reply =>
  (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(text === '' ? ':\n\n' : text, () => {
      if (end === 'ends') response.end();
      if (end === 'breaks') response.destroy();
    });
  };

const afters = (): (string | null)[] =>
  service.asked.map(({ target }) => new URL(target, service.baseUrl).searchParams.get('after'));

async function take(stream: EventStream, count: number): Promise<number[]> {
  const positions: number[] = [];
  for await (const event of stream) {
    positions.push(event.position);
    if (positions.length === count) break;
  }
  return positions;
}

it('a stream continues after the last consumed event, wherever it was cut', async () => {
  const half = block(4).slice(0, 20);
  service.answer(
    streamed(`${block(2)}${block(3)}${half}`, 'breaks'),
    'lost',
    { status: 502, text: 'Bad Gateway' },
    streamed(''),
    // Repeats earlier events by mistake.
    streamed(`${block(3)}${block(4)}`),
    // No event of these types up to here.
    streamed(':\nid: 9\n\n'),
    streamed(block(12), 'stands'),
  );
  const cuts: Error[] = [];
  const stream = service
    .client()
    .events.stream({ after: 1, types: ['order.settled'] }, { onCut: (error) => cuts.push(error) });
  expect(await take(stream, 4)).toEqual([2, 3, 4, 12]);
  expect(afters()).toEqual(['1', '3', '3', '3', '3', '4', '9']);
  expect(service.asked[0]!.target).toContain('types=order.settled');
  expect(cuts).toHaveLength(6);
});

it('an event is consumed when the next one is requested, so a reader that leaves reads it again', async () => {
  service.answer(streamed(`${block(1)}${block(2)}`, 'stands'));
  const stream = service.client().events.stream();
  expect(await take(stream, 2)).toEqual([1, 2]);
  expect(stream.position).toBe(1);
  service.answer(streamed(`${block(2)}${block(3)}`, 'stands'));
  expect(await take(stream, 2)).toEqual([2, 3]);
  expect(afters()).toEqual(['1']);
});

it('a stream throws errors that do not pass by waiting', async () => {
  const expired = refusal(410, 'EVENTS_EXPIRED', { oldest_position: 40 });
  for (const reply of [expired, refusal(403, 'KEY_SCOPE'), refusal(401, 'INVALID_SIGNATURE')]) {
    service.answer(streamed(block(1)), reply);
    const thrown = await take(service.client().events.stream(), 2).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ApiError);
    expect(service.asked).toHaveLength(2);
  }
  service.answer(expired);
  await expect(take(service.client().events.stream({ after: 3 }), 1)).rejects.toMatchObject({ oldestPosition: 40 });
});

it('a stream waits as asked, and is signed by the service’s clock', async () => {
  const server_time = Math.floor(Date.now() / 1000) - 4000;
  const busy = refusal(429, 'RATE_LIMITED', {}, { 'Retry-After': '1' });
  service.answer(busy, refusal(401, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE', { server_time }), streamed(block(1)));
  expect(await take(service.client().events.stream(), 1)).toEqual([1]);
  expect(service.asked[1]!.atMs - service.asked[0]!.atMs).toBeGreaterThanOrEqual(990);
  expect(Number(service.asked[2]!.headers['x-cc-timestamp']) - server_time).toBeLessThan(2000);
});

it('a stream gives up after an outage, with its last error', async () => {
  service.answer({ status: 503, text: '' });
  const stream = service.client().events.stream({}, { outageLimitMs: 300 });
  await expect(take(stream, 1)).rejects.toMatchObject({ code: 'HTTP_503' });
});

it.each<[string, Reply]>([
  ['a page of a proxy', { headers: { 'Content-Type': 'text/html' }, text: '<html>\nLogin\n</html>\n' }],
  ['a body of another server', { body: { status: 'ok' } }],
  ['a page without end', (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).write('<html>')],
  ['an empty answer', { status: 204, headers: { 'Content-Type': 'text/event-stream' }, text: '' }],
  ['an event that is no JSON', streamed('id: 1\ndata: {oops\n\n')],
  ['an event without a valid position', streamed('id: abc\ndata: {}\n\n')],
])('a stream backs off and gives up on %s', async (_, reply) => {
  service.answer(reply);
  const stream = service.client().events.stream({}, { outageLimitMs: 1500 });
  const thrown = await take(stream, 1).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(NetworkError);
  expect(service.asked.length).toBeLessThan(12);
});

it.each(['3600', '99999999', 'Wed, 21 Oct 2099 07:28:00 GMT'])(
  'a stream throws immediately if the requested wait (%s) exceeds its limit',
  async (wait) => {
    service.answer(refusal(503, 'SERVICE_UNAVAILABLE', {}, { 'Retry-After': wait }));
    const thrown = await take(service.client().events.stream(), 1).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect((thrown as ApiError).retryAfterSec).toBeGreaterThan(3500);
    expect(service.asked).toHaveLength(1);
  },
);

it('a stream or call without a limit waits for as long as a timer can', async () => {
  service.answer(refusal(503, 'SERVICE_UNAVAILABLE', {}, { 'Retry-After': '99999999' }));
  const client = service.client({ timeoutMs: Infinity });
  const stream = client.events.stream({}, { outageLimitMs: Infinity, signal: AbortSignal.timeout(400) });
  expect(await take(stream, 1)).toEqual([]);
  await client.account.balance({ signal: AbortSignal.timeout(400) }).catch(() => undefined);
  expect(service.asked).toHaveLength(2);
});

it('a stream ends with its signal, without an error, and its loop closes the connection', async () => {
  let closed = 0;
  const standing: Reply = (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(block(1));
    response.on('close', () => (closed += 1));
  };
  service.answer(standing);
  const controller = new AbortController();
  const events: EnergyEvent[] = [];
  for await (const event of service.client().events.stream({}, { signal: controller.signal })) {
    events.push(event);
    setImmediate(() => controller.abort());
  }
  expect(events).toHaveLength(1);
  expect(await take(service.client().events.stream(), 1)).toEqual([1]);
  for (let look = 0; look < 200 && closed < 2; look += 1) await sleep(10);
  expect(closed).toBe(2);
  const aborted = service.client().events.stream({}, { signal: AbortSignal.abort() });
  expect(await take(aborted, 1)).toEqual([]);
});

it('a poll is held for the requested time, and a page has the position to continue after', async () => {
  service.answer({ body: { items: [], last_position: 7 } });
  expect(await service.client().events.poll({ after: 'latest', limit: 5 })).toEqual({ items: [], last_position: 7 });
  expect(service.asked[0]!.target).toBe('/v1/events?after=latest&limit=5&wait=30');
  await service.client().events.list({ after: 7 });
  expect(service.asked[1]!.target).toBe('/v1/events?after=7');
  expect(service.asked.map(({ headers }) => headers['prefer'])).toEqual([undefined, undefined]);
});

it('reads an event from any pieces of its bytes, and rejects a line without end', () => {
  const bytes = Buffer.from(`: alive\r\n\r\nid: 5\ndata: {"a":\ndata:"ü€𝄞"}\n\n:\nid: 6\n\n`);
  for (const size of [1, 2, 3, 7, 1000]) {
    const reader = new EventSourceReader();
    const said = [];
    for (let at = 0; at < bytes.length; at += size) said.push(...reader.take(bytes.subarray(at, at + size)));
    expect(said.filter(({ position }) => position !== undefined)).toEqual([
      { position: 5, data: '{"a":\n"ü€𝄞"}' },
      { position: 6, data: undefined },
    ]);
  }
  const reader = new EventSourceReader();
  expect(() => {
    for (let size = 0; size < 2_000_000; size += 100_000) reader.take(Buffer.alloc(100_000, 'x'));
  }).toThrow(RangeError);
});
