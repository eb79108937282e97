// The SDK's verification of webhooks. The public library of Standard Webhooks makes the signatures.
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError } from '../../../packages/sdk/src/index.js';

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const [SECRET, NEXT, OTHER] = [secretOf(1), secretOf(2), secretOf(3)];
const BODY = JSON.stringify({
  id: 'evt_1',
  type: 'order.delivered',
  position: 3,
  timestamp: '',
  data: { order: { key: 'ü' } },
});

const headersOf = (secret: string, { body = BODY, atMs = Date.now(), id = 'evt_1' } = {}): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': Math.floor(atMs / 1000).toString(),
  'webhook-signature': new Webhook(secret).sign(id, new Date(atMs), body),
});

const reasonOf = (verify: () => unknown): string => {
  try {
    verify();
    return 'verified';
  } catch (thrown) {
    return thrown instanceof WebhookVerificationError ? thrown.reason : String(thrown);
  }
};

it('accepts text or bytes signed by its secret, with headers in any form', () => {
  const headers = headersOf(SECRET);
  const event = JSON.parse(BODY) as unknown;
  expect(verifyWebhook(BODY, headers, SECRET)).toEqual(event);
  expect(verifyWebhook(Buffer.from(BODY), new Headers(headers), SECRET)).toEqual(event);
  const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
  expect(verifyWebhook(new TextEncoder().encode(BODY), shouted, [SECRET])).toEqual(event);
});

it('accepts either secret during a rotation, on either side', () => {
  expect(reasonOf(() => verifyWebhook(BODY, headersOf(SECRET), [NEXT, SECRET]))).toBe('verified');
  expect(reasonOf(() => verifyWebhook(BODY, headersOf(NEXT), [NEXT, SECRET]))).toBe('verified');
  const [first, second] = [headersOf(SECRET), headersOf(NEXT)];
  const both = {
    ...first,
    'webhook-signature': `v1a,AAAA ${second['webhook-signature']!} ${first['webhook-signature']!}`,
  };
  for (const secret of [SECRET, NEXT]) expect(reasonOf(() => verifyWebhook(BODY, both, secret))).toBe('verified');
  expect(reasonOf(() => verifyWebhook(BODY, both, OTHER))).toBe('signature');
});

it('rejects other bytes, or another id, time, version or secret', () => {
  const headers = headersOf(SECRET);
  const with_ = (more: Record<string, string | string[] | undefined>) => ({ ...headers, ...more });
  const later = Math.floor(Date.now() / 1000 + 5).toString();
  const signature = headers['webhook-signature']!;
  const cases: Record<string, () => unknown> = {
    signature: () => verifyWebhook(`${BODY} `, headers, SECRET),
    'signature, other id': () => verifyWebhook(BODY, with_({ 'webhook-id': 'evt_2' }), SECRET),
    'signature, other time': () => verifyWebhook(BODY, with_({ 'webhook-timestamp': later }), SECRET),
    'signature, other version': () =>
      verifyWebhook(BODY, with_({ 'webhook-signature': signature.replace('v1,', 'v2,') }), SECRET),
    'signature, cut': () => verifyWebhook(BODY, with_({ 'webhook-signature': signature.slice(0, -8) }), SECRET),
    'signature, other secret': () => verifyWebhook(BODY, headers, OTHER),
    headers: () => verifyWebhook(BODY, {}, SECRET),
    'headers, none': () => verifyWebhook(BODY, with_({ 'webhook-signature': '' }), SECRET),
    'headers, twice': () => verifyWebhook(BODY, with_({ 'webhook-id': ['evt_1', 'evt_1'] }), SECRET),
    'headers, in two cases': () => verifyWebhook(BODY, with_({ 'Webhook-Id': 'evt_1' }), SECRET),
    'headers, no time': () => verifyWebhook(BODY, with_({ 'webhook-timestamp': '1e9' }), SECRET),
    'headers, a path': () => verifyWebhook(BODY, with_({ 'webhook-id': '../evt' }), SECRET),
    body: () => verifyWebhook('no JSON', headersOf(SECRET, { body: 'no JSON' }), SECRET),
    'body, of another id': () => verifyWebhook(BODY, headersOf(SECRET, { id: 'evt_2' }), SECRET),
  };
  for (const [what, verify] of Object.entries(cases))
    expect([what, reasonOf(verify)]).toEqual([what, what.split(',')[0]]);
});

it('rejects times outside the tolerance', () => {
  const at = (sec: number) => headersOf(SECRET, { atMs: Date.now() + sec * 1000 });
  const ofTolerance = (sec: number, toleranceSec?: number) =>
    reasonOf(() => verifyWebhook(BODY, at(sec), SECRET, { toleranceSec }));
  expect([-290, 290].map((sec) => ofTolerance(sec))).toEqual(['verified', 'verified']);
  expect([-310, 310].map((sec) => ofTolerance(sec))).toEqual(['timestamp', 'timestamp']);
  expect([ofTolerance(-50, 60), ofTolerance(-70, 60), ofTolerance(-310, 400), ofTolerance(0, Number.NaN)]).toEqual([
    'verified',
    'timestamp',
    'verified',
    'timestamp',
  ]);
});

it('requires a valid secret', () => {
  for (const secret of ['', 'whsec_', 'AAAA', []]) {
    expect(reasonOf(() => verifyWebhook(BODY, headersOf(SECRET), secret))).toContain('TypeError');
  }
});
