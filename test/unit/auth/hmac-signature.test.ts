// The HMAC rules, one case each. The cases are derived from the rules here and cover the family's own list. A few
// signatures are fixed values, so that a common error of both sides is found.
import { createHash, createHmac, createSecretKey } from 'node:crypto';
import {
  claimsHmac,
  hmacOf,
  readHmacHeaders,
  requireJsonType,
  stringToSign,
} from '../../../src/modules/auth/hmac-signature.js';

const KEY = 'test_api_key_123';
const MERCHANT = '3f2a1b4c-5d6e-7f80-9a1b-2c3d4e5f6071';
const NONCE = '0123456789abcdef0123456789abcdef';
const TIMESTAMP = '1789430400';

interface Case {
  readonly method?: string;
  /** As in the request line. */
  readonly target?: string;
  readonly body?: string;
  readonly merchant?: string;
  readonly nonce?: string;
  readonly idempotencyKey?: string;
}

/** Returns the text to sign by the rules. Each case gives its decoded `path` and raw `query`. */
function ruleString(path: string, query: string, each: Case): string {
  const sha = createHash('sha256')
    .update(each.body ?? '', 'utf8')
    .digest('hex');
  return `CC-HMAC-SHA256-REQ-V1\n${TIMESTAMP}\n${each.nonce ?? NONCE}\n${each.method ?? 'POST'}\n${path}\n${query}\n${each.merchant ?? MERCHANT}\n${each.idempotencyKey ?? ''}\n${sha}`;
}

const parts = (each: Case) => ({
  method: each.method ?? 'POST',
  target: each.target ?? '/v1/orders',
  body: Buffer.from(each.body ?? ''),
});
const headers = (each: Case) => ({
  merchant: each.merchant ?? MERCHANT,
  timestamp: TIMESTAMP,
  nonce: each.nonce ?? NONCE,
  idempotencyKey: each.idempotencyKey ?? '',
});

const SIGNED: readonly (readonly [what: string, each: Case, path: string, query: string, signature?: string])[] = [
  [
    'an empty body',
    { target: '/v1/credits/balance' },
    '/v1/credits/balance',
    '',
    '0a6214495239c990ff84bfe52e8a0ca514c8cedc22b081bd8e73321a5e8e1456',
  ],
  [
    'a body with null, HTML, non-ASCII, U+2028 and numbers as it was sent',
    { body: '{"a":null,"b":"<&> é \u2028","c":1.0}' },
    '/v1/orders',
    '',
  ],
  ['an Idempotency-Key', { idempotencyKey: 'payout 17', body: '{}' }, '/v1/orders', ''],
  ['a query on a POST', { target: '/v1/quotes?a=1&b=2' }, '/v1/quotes', 'a=1&b=2'],
  ['the same body on another path', { target: '/v1/activate', body: '{"address":"T"}' }, '/v1/activate', ''],
  ['white space and line breaks in the body', { body: '{\n "a" :\t1\r\n}' }, '/v1/orders', ''],
  ['a GET with a query', { method: 'GET', target: '/v1/orders?limit=5' }, '/v1/orders', 'limit=5'],
  [
    'a path percent-decoded as UTF-8',
    {
      method: 'GET',
      target: '/v1/payments/order/info/%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7%20%E2%84%961/ord%2F1',
      nonce: '1a2b3c4d5e6f708192a3b4c5d6e7f809',
    },
    '/v1/payments/order/info/заказ №1/ord/1',
    '',
    'bf098fcfaf6f9c1314bc916ae5f1044127a78b88440d2ee52bebb340d1ee1d25',
  ],
  [
    'a query as the request line has it',
    {
      method: 'GET',
      target: '/v1/payments/history?id=ord%2F1&name=%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7%20%E2%84%961&note=a+b',
      nonce: '2b3c4d5e6f708192a3b4c5d6e7f8091a',
    },
    '/v1/payments/history',
    'id=ord%2F1&name=%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7%20%E2%84%961&note=a+b',
    '4e03cd46e3f8287b8f0ec9cb9cdad4bb1b72aea195c247b3b3e86c43844f2d08',
  ],
  ['a plus in a path, which stays one', { method: 'GET', target: '/v1/orders/a+b' }, '/v1/orders/a+b', ''],
  ['a second question mark, which is of the query', { method: 'GET', target: '/v1/orders?a=?b' }, '/v1/orders', 'a=?b'],
  ['a nonce of 16 characters', { nonce: '0123456789abcdef' }, '/v1/orders', ''],
  ['a nonce of 64 characters', { nonce: NONCE + NONCE }, '/v1/orders', ''],
];

it.each(SIGNED.map(([what, each, path, query, signature]) => ({ what, each, path, query, signature })))(
  'signs $what',
  ({ each, path, query, signature }) => {
    const message = stringToSign(headers(each), parts(each));
    expect(message).toBe(ruleString(path, query, each));
    const signed = hmacOf(message, createSecretKey(KEY, 'utf8')).toString('hex');
    expect(signed).toBe(createHmac('sha256', KEY).update(message).digest('hex'));
    if (signature !== undefined) expect(signed).toBe(signature);
  },
);

it.each(['PoSt', 'post'])('signs the method %s in upper case', (method) => {
  const each = { target: '/v1/credits/balance', nonce: '4d5e6f708192a3b4c5d6e7f8091a2b3c' };
  const message = stringToSign(headers(each), parts({ ...each, method }));
  expect(message).toBe(ruleString('/v1/credits/balance', '', each));
  expect(hmacOf(message, createSecretKey(KEY, 'utf8')).toString('hex')).toBe(
    '66e5a8fd8000629eeb74aed4cdf6bf8454c5c22c87ecb10781ff314156133182',
  );
});

it('the signature covers every part: changing any of them changes it', () => {
  const base = stringToSign(headers({}), parts({ body: '{}' }));
  const others = [
    stringToSign({ ...headers({}), timestamp: '1789430401' }, parts({ body: '{}' })),
    stringToSign(headers({ nonce: `${NONCE}0` }), parts({ body: '{}' })),
    stringToSign(headers({}), parts({ body: '{}', method: 'DELETE' })),
    stringToSign(headers({}), parts({ body: '{}', target: '/v1/activate' })),
    stringToSign(headers({}), parts({ body: '{}', target: '/v1/orders?a' })),
    stringToSign(headers({ merchant: MERCHANT.toUpperCase() }), parts({ body: '{}' })),
    stringToSign(headers({ idempotencyKey: 'a' }), parts({ body: '{}' })),
    stringToSign(headers({}), parts({ body: '{ }' })),
  ];
  expect(new Set([base, ...others]).size).toBe(others.length + 1);
});

const SIGNATURE = `v1=${'ab'.repeat(32)}`;
const GOOD: readonly (readonly [string, string])[] = [
  ['Merchant', MERCHANT],
  ['X-CC-Timestamp', TIMESTAMP],
  ['X-CC-Nonce', NONCE],
  ['X-CC-Signature', SIGNATURE],
];
const raw = (pairs: readonly (readonly [string, string])[]): string[] => pairs.flat();
const withHeader = (name: string, value: string): string[] =>
  raw([...GOOD.filter(([each]) => each !== name), [name, value]]);

it('reads the headers, with hex of either case and with spaces and tabs around them', () => {
  const spaced = raw(GOOD.map(([name, value]) => [name.toUpperCase(), ` \t${value}\t `]));
  expect(readHmacHeaders(spaced)).toEqual({
    merchant: MERCHANT,
    timestamp: TIMESTAMP,
    nonce: NONCE,
    signature: Buffer.alloc(32, 0xab),
    idempotencyKey: '',
  });
  expect(readHmacHeaders(withHeader('X-CC-Signature', `v1=${'AB'.repeat(32)}`)).signature).toEqual(
    Buffer.alloc(32, 0xab),
  );
  expect(readHmacHeaders([...raw(GOOD), 'Idempotency-Key', ' a b ']).idempotencyKey).toBe('a b');
  expect(readHmacHeaders([...raw(GOOD), 'Signature', 'whatever']).merchant).toBe(MERCHANT);
});

it.each<readonly [string, readonly string[]]>([
  ...GOOD.map(([name]) => [`${name} is missing`, raw(GOOD.filter(([each]) => each !== name))] as const),
  ...GOOD.map(([name, value]) => [`${name} is repeated`, [...raw(GOOD), name.toLowerCase(), value]] as const),
  ['Idempotency-Key is repeated', [...raw(GOOD), 'Idempotency-Key', 'a', 'idempotency-key', 'a']],
  ['the Merchant is empty', withHeader('Merchant', ' ')],
  ...['01789430400', '-1', '+1', '1.0', 'now', '', '1234567890123456789', '1789430400\u00a0', '1789430400\r'].map(
    (value) => [`the timestamp is ${JSON.stringify(value)}`, withHeader('X-CC-Timestamp', value)] as const,
  ),
  ...['0123456789abcde', `${NONCE}${NONCE}0`, '0123456789abcde.', `${NONCE}\n`].map(
    (value) => [`the nonce is ${JSON.stringify(value)}`, withHeader('X-CC-Nonce', value)] as const,
  ),
  ...[
    `V1=${'ab'.repeat(32)}`,
    'ab'.repeat(32),
    `v1=${'ab'.repeat(32).slice(1)}`,
    `v1=${'zz'.repeat(32)}`,
    `v1= ${'ab'.repeat(32)}`,
  ].map(
    (value) =>
      [
        `the signature is ${value.slice(0, 8)}… of ${value.length.toString()}`,
        withHeader('X-CC-Signature', value),
      ] as const,
  ),
  ['the Idempotency-Key has a line break', [...raw(GOOD), 'Idempotency-Key', 'a\nb']],
  ['the Merchant has a line break', withHeader('Merchant', 'a\nb')],
])('refuses the headers when %s', (_what, rawHeaders) => {
  expect(() => readHmacHeaders(rawHeaders)).toThrow(expect.objectContaining({ code: 'BAD_AUTH_HEADERS' }));
});

it('one header of the HMAC scheme makes a request use it, whatever else the request has', () => {
  expect(claimsHmac(['Merchant', MERCHANT, 'Signature', 'a'])).toBe(false);
  for (const name of ['X-CC-Timestamp', 'x-cc-nonce', 'X-Cc-Signature']) {
    expect(claimsHmac(['Merchant', MERCHANT, 'Signature', 'a', name, ''])).toBe(true);
  }
});

it.each(['application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json;a="b c";'])(
  'accepts a body of the type %s',
  (type) => {
    expect(() => requireJsonType(['Content-Type', type])).not.toThrow();
  },
);

it.each([
  [[]],
  [['Content-Type', 'text/plain']],
  [['Content-Type', 'application/json; charset=']],
  [['Content-Type', 'application/json; charset']],
  [['Content-Type', 'application/json;; a=b']],
  [['Content-Type', '; charset=']],
  [['Content-Type', 'application/json', 'content-type', 'application/json']],
])('refuses a body of the type %j', (rawHeaders) => {
  expect(() => requireJsonType(rawHeaders)).toThrow(expect.objectContaining({ code: 'BAD_AUTH_HEADERS' }));
});

it.each(['/v1/orders/a%0Ab', '/v1/orders/a%0Db', '/v1/orders/%FF'])(
  'refuses the path %s, which is no line of text',
  (target) => {
    expect(() => stringToSign(headers({}), parts({ target }))).toThrow(
      expect.objectContaining({ code: 'BAD_AUTH_HEADERS' }),
    );
  },
);

it('removes the spaces around a header, and keeps those within it', () => {
  const named = (merchant: string, type: string): string[] => [
    ...[
      'Merchant',
      merchant,
      'X-CC-Timestamp',
      TIMESTAMP,
      'X-CC-Nonce',
      NONCE,
      'X-CC-Signature',
      `v1=${'0'.repeat(64)}`,
    ],
    ...['Content-Type', type],
  ];
  const within = `a${' \t'.repeat(200_000)}b`;
  expect(readHmacHeaders(named(` \t${within}\t `, 'x')).merchant).toBe(within);
  expect(() => requireJsonType(named('a', `application/json;a=${within}`))).toThrow();
});
