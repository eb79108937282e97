// The SDK's wait for an existing order: a failure to read the order is no outcome of the order.
import { ApiError, UnknownOutcomeError, type Order } from '../../../packages/sdk/src/index.js';
import { refusal, ScriptedService, type Reply } from '../../support/api/scripted-service.js';

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.open();
});

afterAll(() => service.close());

const order = (more: Partial<Order>): Reply => ({
  body: { id: 7, key: 'mine', status: 'reserved', settled: false, ...more },
});

const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => new Error('it answered'),
    (thrown: unknown) => thrown,
  );

it.each<[string, Reply]>([
  ['the connection is lost', 'lost'],
  ['the service is away', refusal(503, 'SERVICE_UNAVAILABLE')],
  ['the service had a fault', refusal(500, 'INTERNAL_ERROR')],
  ['there are too many requests', refusal(429, 'RATE_LIMITED')],
  ['a proxy answers', { status: 502, text: 'Bad Gateway' }],
])('continues after its first reads fail: %s', async (_what, reply) => {
  service.answer(reply, reply, reply, order({}), reply, order({ status: 'delivered' }));
  const delivered = await service.client({ retries: 0 }).orders.wait('mine', { timeoutMs: 60_000 });
  expect(delivered.status).toBe('delivered');
  expect(service.asked).toHaveLength(6);
});

it.each<[string, Reply]>([
  ['nothing answers', 'lost'],
  ['the service is away', refusal(503, 'SERVICE_UNAVAILABLE')],
  ['the key may not read', refusal(403, 'KEY_SCOPE')],
  ['the signature is wrong', refusal(401, 'INVALID_SIGNATURE')],
  ['a proxy knows no such page', { status: 404, text: 'Not Found' }],
])('never calls an order that it could not read refused: %s', async (_what, reply) => {
  service.answer(reply);
  const thrown = await thrownBy(service.client({ retries: 0 }).orders.wait('mine', { timeoutMs: 1500 }));
  expect(thrown).toBeInstanceOf(UnknownOutcomeError);
  expect(thrown).not.toBeInstanceOf(ApiError);
  expect(thrown).toMatchObject({ key: 'mine' });
});

it('reports a missing order at the first answer', async () => {
  service.answer(refusal(404, 'NOT_FOUND'));
  const thrown = await thrownBy(service.client().orders.wait('mine'));
  expect(thrown).toMatchObject({ name: 'ApiError', code: 'NOT_FOUND' });
  expect(service.asked).toHaveLength(1);
});

it('ends with the reason of the caller’s signal, even while nothing can be read', async () => {
  service.answer('lost');
  const ends = new AbortController();
  const waiting = thrownBy(service.client({ retries: 0 }).orders.wait('mine', { signal: ends.signal }));
  ends.abort(new Error('stopped'));
  expect(await waiting).toMatchObject({ message: 'stopped' });
});
