// A single SDK call: retries and their limits, deadlines, and thrown errors.
import {
  ApiError,
  NetworkError,
  NotDeliveredError,
  UnknownOutcomeError,
  type Order,
} from '../../../packages/sdk/src/index.js';
import { refusal, ScriptedService, type Reply } from '../../support/api/scripted-service.js';

const REQUEST = { receive_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF', energy: 65_000 };
const QUOTE: Reply = { body: { ref: 'aq' } };
const WEBHOOK: Reply = { status: 201, body: { id: 'w', secret: 'whsec_AA==' } };

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.open();
});

afterAll(() => service.close());

/** Answers with an order for the requested key. */
const order =
  (more: Partial<Order> = {}, status = 202): Extract<Reply, (...args: never[]) => void> =>
  (response, { headers, target }) => {
    const key = headers['idempotency-key'] ?? decodeURIComponent(target.split('/').at(-1)!);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ id: 7, key, status: 'reserved', settled: false, ...more }));
  };

const thrownBy = async (call: Promise<unknown>): Promise<unknown> => {
  const outcome = await call.then(
    (answer) => ({ answer }),
    (thrown: unknown) => ({ thrown }),
  );
  if ('answer' in outcome) throw new Error(`it answered ${JSON.stringify(outcome.answer)}`);
  return outcome.thrown;
};

const headersOf = (name: string): string[] => service.asked.map(({ headers }) => headers[name]!);

describe('a purchase', () => {
  it('keeps the key from before its first attempt, and signs each attempt again', async () => {
    service.answer('lost', refusal(503, 'SERVICE_UNAVAILABLE', { key: 'x' }), { status: 502, text: '<html>' }, order());
    const bought = await service.client().orders.create(REQUEST);
    expect(service.asked).toHaveLength(4);
    expect(new Set(headersOf('idempotency-key'))).toEqual(new Set([bought.key]));
    expect(bought.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(headersOf('x-cc-nonce')).size).toBe(4);
    expect(new Set(headersOf('x-request-id')).size).toBe(4);
    expect(new Set(service.asked.map(({ text }) => text)).size).toBe(1);
  });

  it('has an unknown outcome if its answers are lost, and the error has the key', async () => {
    service.answer('lost');
    const thrown = await thrownBy(service.client({ retries: 2 }).orders.create(REQUEST, { idempotencyKey: 'mine' }));
    expect(thrown).toBeInstanceOf(UnknownOutcomeError);
    expect(thrown).toMatchObject({ name: 'UnknownOutcomeError', key: 'mine' });
    expect((thrown as Error).cause).toBeInstanceOf(NetworkError);
    expect(headersOf('x-request-id').at(-1)).toBe((thrown as UnknownOutcomeError).requestId);
    expect(headersOf('idempotency-key')).toEqual(['mine', 'mine', 'mine']);
  });

  const OPEN: readonly (readonly [string, Reply])[] = [
    ['the service could not say', refusal(503, 'SERVICE_UNAVAILABLE', { key: 'mine' })],
    ['the service had a fault', refusal(500, 'INTERNAL_ERROR', { key: 'mine' })],
    ['a copy of it came before', refusal(401, 'SIGNATURE_REPLAYED')],
    ['a proxy answered', { status: 504, text: 'Gateway Timeout' }],
    ['the answer was no JSON', { status: 202, text: '{"id": 7, "key": "mi' }],
    ['the answer was empty', { status: 204, text: '' }],
    ['the answer was of another order', { status: 202, body: { id: 8, key: 'theirs', status: 'reserved' } }],
    ['there was no answer', 'silent'],
  ];
  it.each(OPEN)('is repeated, with an unknown outcome in the end, if %s', async (_, reply) => {
    service.answer(reply);
    const client = service.client({ retries: 1, attemptTimeoutMs: 200 });
    const thrown = await thrownBy(client.orders.create(REQUEST, { idempotencyKey: 'mine' }));
    expect(thrown).toMatchObject({ name: 'UnknownOutcomeError', key: 'mine' });
    expect(service.asked).toHaveLength(2);
  });

  it('that is refused bought nothing', async () => {
    service.answer(refusal(402, 'INSUFFICIENT_CREDITS'));
    const thrown = await thrownBy(service.client().orders.create(REQUEST));
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ status: 402, code: 'INSUFFICIENT_CREDITS', requestId: 'req-1' });
    expect(service.asked).toHaveLength(1);
  });

  it.each([
    ['relative', '/docs/errors#KEY_SCOPE', '{base}/docs/errors#KEY_SCOPE'],
    ['absolute', 'https://docs.example.com/errors#KEY_SCOPE', 'https://docs.example.com/errors#KEY_SCOPE'],
    ['missing', undefined, undefined],
    ['no URL', 'https://:', undefined],
  ])('that is refused has an absolute docUrl if doc_url is %s', async (_, sent, expected) => {
    service.answer(refusal(403, 'KEY_SCOPE', { doc_url: sent }));
    const thrown = await thrownBy(service.client().orders.create(REQUEST));
    expect(thrown).toHaveProperty('docUrl', expected?.replace('{base}', service.baseUrl));
  });

  it('that is refused after a lost answer may have been bought by the earlier attempt', async () => {
    service.answer('lost', refusal(409, 'QUOTE_EXPIRED'));
    const thrown = await thrownBy(service.client().orders.create({ quote_ref: 'aq' }, { idempotencyKey: 'mine' }));
    expect(thrown).toMatchObject({ name: 'UnknownOutcomeError', key: 'mine', cause: { code: 'QUOTE_EXPIRED' } });
  });

  it('has a known outcome if no attempt reached the service, or each was refused', async () => {
    service.answer(refusal(503, 'CAPACITY_UNAVAILABLE'));
    const refused = await thrownBy(service.client({ retries: 1 }).orders.create(REQUEST));
    expect(refused).toMatchObject({ name: 'ApiError', code: 'CAPACITY_UNAVAILABLE' });
    const nowhere = await ScriptedService.open();
    nowhere.close();
    const unsent = await thrownBy(nowhere.client({ retries: 1 }).orders.create(REQUEST));
    expect(unsent).toBeInstanceOf(NetworkError);
  });

  it.each([
    ['connect', 'NetworkError'],
    ['read', 'UnknownOutcomeError'],
    ['write', 'UnknownOutcomeError'],
  ])('has an unknown outcome only if it may have left before its route was lost: %s', async (syscall, name) => {
    const cause = Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: 'EHOSTUNREACH', syscall });
    const client = service.client({
      retries: 0,
      fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
    });
    expect(await thrownBy(client.orders.create(REQUEST, { idempotencyKey: 'mine' }))).toMatchObject({ name });
  });

  it('requires a valid key, and rejects a forgotten one', async () => {
    service.answer(order());
    const { orders } = service.client();
    const wrong = ['', ' a', 'a ', 'a\nb', 'é', 'x'.repeat(256), 'auto_1', 'ext_1', 'nonce_1', '.', '..', undefined];
    for (const key of wrong) {
      const options = { idempotencyKey: key } as { idempotencyKey: string };
      expect([key, await thrownBy(orders.create(REQUEST, options))]).toEqual([key, expect.any(TypeError)]);
    }
    expect(service.asked).toHaveLength(0);
    for (const key of ['a', 'x'.repeat(255), `it's 100% (a/b)?#&+ "c"`]) {
      expect((await orders.create(REQUEST, { idempotencyKey: key })).key).toBe(key);
      expect((await orders.get(key)).key).toBe(key);
    }
  });

  it('may also be an extension or an activation', async () => {
    service.answer('lost', order({ key: 'rental' }));
    await service.client().orders.extend('rental', { duration_sec: 600 }, { idempotencyKey: 'longer' });
    expect(service.asked.map(({ target }) => target)).toEqual(Array(2).fill('/v1/orders/rental/extensions'));
    expect(headersOf('idempotency-key')).toEqual(['longer', 'longer']);
    service.answer('lost', order({ kind: 'activation' }));
    await service.client().orders.activate({ address: 'T' }, { idempotencyKey: 'on chain', waitSec: 5 });
    expect(headersOf('idempotency-key')).toEqual(['on chain', 'on chain']);
    expect(headersOf('prefer')).toEqual(['wait=5', 'wait=5']);
  });
});

describe('a change without a key', () => {
  const OPEN: readonly (readonly [string, Reply])[] = [
    ['its answer was lost', 'lost'],
    ['the service could not say', refusal(503, 'SERVICE_UNAVAILABLE')],
    ['a copy of it came before', refusal(401, 'SIGNATURE_REPLAYED')],
    ['a proxy answered', { status: 502, text: '' }],
    ['a proxy waited for the request in vain', { status: 408, text: '' }],
  ];
  it.each(OPEN)('is made once, with an unknown outcome, if %s', async (_, reply) => {
    service.answer(reply, WEBHOOK);
    const { autoDelegations, webhooks } = service.client();
    const changes = [
      () => webhooks.create({ url: 'https://a.example.com' }),
      () => webhooks.rotate('w'),
      () => webhooks.test('w'),
      () => webhooks.delete('w'),
      () => webhooks.resend('w', 1),
      () => webhooks.replay('w', { after: 0 }),
      () => autoDelegations.delete('T'),
    ];
    for (const change of changes) {
      service.answer(reply, WEBHOOK);
      expect(await thrownBy(change())).toMatchObject({ name: 'UnknownOutcomeError', key: undefined });
      expect(service.asked).toHaveLength(1);
    }
  });

  it('is repeated if it certainly was not executed', async () => {
    const busy = refusal(429, 'RATE_LIMITED', {}, { 'Retry-After': '0' });
    service.answer(busy, refusal(503, 'AUTH_UNAVAILABLE'), WEBHOOK);
    expect((await service.client().webhooks.create({ url: 'https://a.example.com' })).secret).toBe('whsec_AA==');
    expect(service.asked).toHaveLength(3);
  });

  it('is repeated if a repetition makes no difference', async () => {
    service.answer('lost', WEBHOOK);
    const { autoDelegations, webhooks } = service.client();
    await webhooks.update('w', { enabled: true });
    expect(service.asked).toHaveLength(2);
    service.answer('lost', { body: { id: 'auto_1' } });
    await autoDelegations.set('T', { keep_energy: 65_000, daily_cap_credits: 0 });
    await autoDelegations.wake('T');
    expect(service.asked.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'POST']);
  });
});

describe('any call', () => {
  it('waits at least as long as it is asked to', async () => {
    service.answer(refusal(429, 'RATE_LIMITED', {}, { 'Retry-After': '1' }), QUOTE);
    await service.client().quotes.create(REQUEST);
    const [first, second] = service.asked;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(990);
  });

  it('does not wait if the deadline would come first', async () => {
    service.answer(refusal(503, 'CHAIN_UNAVAILABLE', {}, { 'Retry-After': '60' }));
    const thrown = await thrownBy(service.client({ timeoutMs: 30_000 }).quotes.create(REQUEST));
    expect(thrown).toMatchObject({ code: 'CHAIN_UNAVAILABLE', retryAfterSec: 60 });
    expect(service.asked).toHaveLength(1);
  });

  it('knows the seconds that a proxy asks for with a date', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    service.answer({ status: 503, text: '', headers: { 'Retry-After': inAnHour } });
    const thrown = (await thrownBy(service.client().quotes.create(REQUEST))) as ApiError;
    expect(thrown.retryAfterSec).toBeGreaterThan(3500);
    expect(thrown.retryAfterSec).toBeLessThanOrEqual(3600);
  });

  it('has one deadline over all attempts and waits', async () => {
    service.answer('silent');
    const client = service.client({ timeoutMs: 300, attemptTimeoutMs: 100, retries: 1000 });
    expect(await thrownBy(client.quotes.create(REQUEST))).toBeInstanceOf(NetworkError);
    expect(service.asked.length).toBeLessThanOrEqual(3);
    service.answer('silent');
    // A single attempt does not last longer either.
    const patient = service.client({ attemptTimeoutMs: 600_000 });
    const thrown = await thrownBy(patient.orders.create(REQUEST, { timeoutMs: 50 }));
    expect(thrown).toBeInstanceOf(UnknownOutcomeError);
  });

  it('ends by its signal: with its reason if nothing was sent, otherwise with an unknown outcome', async () => {
    service.answer('silent');
    const reason = new Error('enough');
    const { orders } = service.client();
    expect(await thrownBy(orders.create(REQUEST, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(service.asked).toHaveLength(0);
    const controller = new AbortController();
    service.answer(() => controller.abort(reason));
    const thrown = await thrownBy(orders.create(REQUEST, { signal: controller.signal, idempotencyKey: 'mine' }));
    expect(thrown).toMatchObject({ name: 'UnknownOutcomeError', key: 'mine', cause: reason });
    const other = new AbortController();
    service.answer(() => other.abort(reason));
    expect(await thrownBy(service.client().account.balance({ signal: other.signal }))).toBe(reason);
    expect(service.asked).toHaveLength(1);
  });

  it('is signed by the service’s clock once that is known, immediately and from then on', async () => {
    const serverTime = Math.floor(Date.now() / 1000) + 4000;
    const early = refusal(401, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE', { server_time: serverTime });
    service.answer(early, WEBHOOK, WEBHOOK);
    const client = service.client({ retries: 0 });
    await client.webhooks.create({ url: 'https://a.example.com' });
    await client.webhooks.create({ url: 'https://b.example.com' });
    const behind = headersOf('x-cc-timestamp').map((timestamp) => serverTime - Number(timestamp) > 2000);
    expect(behind).toEqual([true, false, false]);
    service.answer(early);
    expect(await thrownBy(client.account.balance())).toMatchObject({ code: 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' });
    expect(service.asked).toHaveLength(2);
  });

  it('is signed again as often as it may be repeated while processes of the service forget their nonces', async () => {
    const now = Math.floor(Date.now() / 1000);
    const forgets = (sec: number): Reply =>
      refusal(401, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE', { server_time: now + sec });
    service.answer(forgets(1), forgets(2), forgets(3), order());
    const bought = await service.client({ retries: 2 }).orders.create(REQUEST);
    expect(new Set(headersOf('idempotency-key'))).toEqual(new Set([bought.key]));
    expect(service.asked).toHaveLength(4);
  });

  it('that cannot be made is the caller’s error, and nothing is sent', async () => {
    service.answer(QUOTE);
    const client = service.client();
    const purchase = { method: 'POST', path: '/v1/orders', body: { energy: 65_000n }, idempotencyKey: 'a' } as const;
    expect(await thrownBy(client.request(purchase))).toBeInstanceOf(TypeError);
    expect(await thrownBy(client.request({ method: 'GET', path: '/v1/orders/%E0' }))).toBeInstanceOf(URIError);
    const keyed = { method: 'POST', path: '/v1/orders', body: REQUEST, idempotencyKey: 'Rechnung 5 €' } as const;
    expect(await thrownBy(client.request(keyed))).toBeInstanceOf(TypeError);
    const twice = { method: 'GET', path: '/v1/orders?status=delivered&status=refunded' } as const;
    expect(await thrownBy(client.request(twice))).toBeInstanceOf(TypeError);
    expect(await thrownBy(client.account.balance({ timeoutMs: 0 }))).toBeInstanceOf(TypeError);
    expect(service.asked).toHaveLength(0);
    const wrong = [
      { baseUrl: 'energy.example.com' },
      { baseUrl: 'ftp://a.example.com' },
      { baseUrl: 'https://name:password@a.example.com' },
      { baseUrl: 'https://a.example.com?key=1' },
      { merchant: ' ' },
      { apiKey: '' },
    ];
    for (const settings of wrong) expect(() => service.client(settings)).toThrow(/URL|baseUrl|Merchant ID|apiKey/);
  });

  it('names every invalid member, and follows no redirect', async () => {
    const details = [{ field: 'energy', msg: 'must be an integer' }];
    service.answer(refusal(400, 'INVALID_REQUEST', { details }));
    expect(await thrownBy(service.client().quotes.create(REQUEST))).toMatchObject({ details, status: 400 });
    service.answer({ status: 307, headers: { Location: `${service.baseUrl}/elsewhere` }, text: '' });
    expect(await thrownBy(service.client().quotes.create(REQUEST))).toMatchObject({ code: 'HTTP_307' });
    expect(service.asked).toHaveLength(1);
  });

  it('sends nothing undefined, and its query as it was signed', async () => {
    service.answer(QUOTE, { body: { items: [], last_position: 0 } });
    await service.client().quotes.create({ receive_address: 'T', energy: undefined });
    expect(service.asked[0]!.text).toBe('{"receive_address":"T"}');
    service.answer({ body: { items: [] } });
    await service.client().account.ledger({ from: `2026-11-01'~ ä&`, limit: 5 }).page('a/b+c');
    expect(new URL(service.asked[0]!.target, service.baseUrl).searchParams.get('from')).toBe(`2026-11-01'~ ä&`);
  });

  it('reaches routes without a method, as a read, a purchase or a change', async () => {
    const client = service.client();
    service.answer('lost', { body: { credits_balance: 1 }, headers: { 'X-Request-Id': 'r' } });
    const answer = await client.request<{ credits_balance: number }>({ method: 'GET', path: '/v1/balance?a=b%20c' });
    expect([answer.status, answer.body, answer.headers.get('x-request-id')]).toEqual([
      200,
      { credits_balance: 1 },
      'r',
    ]);
    service.answer({ status: 204, text: '' });
    expect(await client.request({ method: 'DELETE', path: '/v1/auto-delegations/T' })).toMatchObject({ body: {} });
    service.answer('lost', order());
    await client.request({ method: 'POST', path: '/v1/orders', body: REQUEST, idempotencyKey: 'raw' });
    expect(headersOf('idempotency-key')).toEqual(['raw', 'raw']);
    service.answer('lost', WEBHOOK);
    expect(await thrownBy(client.request({ method: 'DELETE', path: '/v1/webhooks/w' }))).toBeInstanceOf(
      UnknownOutcomeError,
    );
  });
});

describe('createAndWait', () => {
  it('returns the order once it is delivered, or settled if requested', async () => {
    const steps = [
      order(),
      'lost' as const,
      order({ status: 'delivered' }),
      order({ status: 'delivered', settled: true }),
    ];
    service.answer(...steps);
    const { orders } = service.client();
    expect(await orders.createAndWait(REQUEST, { idempotencyKey: 'a' })).toMatchObject({ key: 'a', settled: false });
    expect(service.asked.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
    service.answer(...steps);
    const settled = await orders.createAndWait(REQUEST, { idempotencyKey: 'a', until: 'settled' });
    expect(settled.settled).toBe(true);
  });

  it('reports a refund, and an order still open at the time limit: both were bought', async () => {
    service.answer(order({ status: 'refunded', settled: true, error: 'In words.' }, 200));
    const refunded = await thrownBy(service.client().orders.createAndWait(REQUEST));
    expect(refunded).toMatchObject({ name: 'NotDeliveredError', order: { status: 'refunded' } });
    service.answer(order({ status: 'unresolved' }));
    const open = await thrownBy(
      service.client().orders.createAndWait(REQUEST, { timeoutMs: 900, idempotencyKey: 'b' }),
    );
    expect(open).toMatchObject({ name: 'NotDeliveredError', order: { key: 'b', status: 'unresolved' } });
    // The purchase succeeds, but the order can never be read.
    service.answer((response, asked) => (asked.method === 'POST' ? order()(response, asked) : undefined));
    const unread = await thrownBy(service.client().orders.createAndWait(REQUEST, { timeoutMs: 1500 }));
    expect(unread).toBeInstanceOf(NotDeliveredError);
  });

  it('has an unknown outcome if the purchase has one', async () => {
    service.answer('lost');
    const thrown = await thrownBy(service.client({ retries: 1 }).orders.createAndWait(REQUEST));
    expect(thrown).toBeInstanceOf(UnknownOutcomeError);
  });
});
