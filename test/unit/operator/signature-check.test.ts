// `signature check` and the mistakes it names, each produced by code independent of the service.
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mistakeOfHmac } from '../../../src/modules/auth/signature-mistakes.js';
import { runCli } from '../../../src/modules/operator/cli.js';
import { canonical, hmacHeaders } from '../../support/api/client.js';

const API_KEY = 'test_api_key_123';
const MERCHANT = '3f2a1b4c-5d6e-7f80-9a1b-2c3d4e5f6071';
const NONCE = '0123456789abcdef0123456789abcdef';
const NOW = Math.floor(Date.now() / 1000).toString();

async function check(args: readonly string[], env: Record<string, string> = { API_KEY }) {
  const said = { out: '', err: '' };
  const terminal = {
    env,
    user: '',
    out: (text: string) => void (said.out += text),
    err: (text: string) => void (said.err += text),
    ask: undefined,
  };
  const code = await runCli(['signature', 'check', ...args], terminal);
  return { code, ...said };
}

const ofRequest = (path: string, more: readonly string[] = []): string[] => [
  ...['--merchant', MERCHANT, '--timestamp', NOW, '--nonce', NONCE, '--path', path],
  ...more,
];

/** Returns the nine lines of a POST of `body`, in which a test makes a mistake. */
const lines = (path: string, body: string): string[] => [
  'CC-HMAC-SHA256-REQ-V1',
  NOW,
  NONCE,
  'POST',
  path,
  '',
  MERCHANT,
  '',
  createHash('sha256').update(body).digest('hex'),
];
const hmac = (text: string, key: string | Buffer = API_KEY): string =>
  `v1=${createHmac('sha256', key).update(text).digest('hex')}`;
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

const BODY = '{"receive_address": "T", "energy": 65000}';
const POST = ['--method', 'POST', '--body', BODY];

test('shows each step of the example that every signer should get', async () => {
  const args = ['--merchant', MERCHANT, '--timestamp', '1789430400', '--nonce', NONCE, '--method', 'POST'];
  const { code, out } = await check([...args, '--path', '/v1/credits/balance']);
  expect(code).toBe(0);
  expect(out).toContain('v1=0a6214495239c990ff84bfe52e8a0ca514c8cedc22b081bd8e73321a5e8e1456');
  expect(out).toContain('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  // The example's time is long past.
  expect(out).toMatch(/X-CC-Timestamp is \d+ s behind this machine’s clock/);
});

test('agrees with a separately written client for path, query and body', async () => {
  for (const [path, body] of [
    ['/v1/orders/a%2Fb%20%C3%A9?x=%2F&y=', undefined],
    ['/v1/orders', BODY],
  ] as const) {
    const method = body === undefined ? 'GET' : 'POST';
    const request = { method, path, nonce: NONCE, timestamp: Number(NOW), ...(body !== undefined && { body }) };
    const signature = hmacHeaders(MERCHANT, API_KEY, request)['X-CC-Signature']!;
    const more = ['--signature', signature, ...(body === undefined ? [] : ['--body', body])];
    expect(await check(ofRequest(path, more))).toMatchObject({ code: 0, err: '' });
  }
});

test('never prints the key, and reads the body from a file byte by byte', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signature-check-'));
  try {
    const [body, key] = [join(folder, 'body'), join(folder, 'key')];
    writeFileSync(body, '{"a":1}\r\n');
    writeFileSync(key, `${API_KEY}\n`, { mode: 0o600 });
    const { code, out, err } = await check(ofRequest('/v1/orders', ['--body-file', body, '--key-file', key]), {});
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(createHash('sha256').update('{"a":1}\r\n').digest('hex'));
    expect(out).not.toContain(API_KEY);
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(await check(ofRequest('/v1/orders'), {})).toMatchObject({ code: 2 });
});

const swapped = (place: number, text: string, path = '/v1/orders', body = BODY): string =>
  hmac(
    lines(path, body)
      .map((line, index) => (index === place ? text : line))
      .join('\n'),
  );
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const right = lines('/v1/orders', BODY).join('\n');

test.each<readonly [string, string]>([
  ['method was signed in lower case', swapped(3, 'post')],
  ['path was signed without /v1', swapped(4, '/orders')],
  ['has no whitespace', swapped(8, sha(JSON.stringify(JSON.parse(BODY))))],
  ['has sorted keys', swapped(8, sha(canonical(JSON.parse(BODY))))],
  ['is indented', swapped(8, sha(JSON.stringify(JSON.parse(BODY), null, 2)))],
  ['A line break or space differs', swapped(8, sha(`${BODY}\n`))],
  ['empty body', swapped(8, sha(''))],
  ['The body itself was signed', swapped(8, BODY)],
  ['in upper case', swapped(8, sha(BODY).toUpperCase())],
  ['in base64. Sign it in hex', swapped(8, Buffer.from(sha(BODY), 'hex').toString('base64'))],
  ['Merchant was signed in another case', swapped(6, MERCHANT.toUpperCase())],
  ['joined by CR LF', hmac(lines('/v1/orders', BODY).join('\r\n'))],
  ['ends with a line break', hmac(`${right}\n`)],
  ['the version, is missing', hmac(lines('/v1/orders', BODY).slice(1).join('\n'))],
  ['must begin with v1=', hmac(right).slice(3)],
  ['must begin with v1=', hmac(right).replace('v1', 'V1')],
  ['in base64. Write it in hex', createHmac('sha256', API_KEY).update(right).digest('base64')],
  ['must be v1= followed by 64 hex digits', 'v1=abc'],
  ['The key ends with a space or line break', hmac(right, `${API_KEY}\n`)],
  ['no known mistake', hmac(right, 'another key')],
])('explains a wrong signature: %s', async (said, signature) => {
  const { code, out } = await check(ofRequest('/v1/orders', [...POST, '--signature', signature]));
  expect(out).toContain(said);
  expect(code).toBe(1);
});

test('names an encoded path, a query with its mark, and a timestamp in milliseconds', async () => {
  const get = (path: string, query: string) => {
    const all = lines(path, '');
    return hmac([...all.slice(0, 3), 'GET', path, query, ...all.slice(6)].join('\n'));
  };
  const encoded = await check(ofRequest('/v1/orders/a%20b?x=1', ['--signature', get('/v1/orders/a%20b', 'x=1')]));
  expect(encoded.out).toContain('Sign it percent-decoded');
  const marked = await check(ofRequest('/v1/orders?x=1', ['--signature', get('/v1/orders', '?x=1')]));
  expect(marked.out).toContain('with its question mark');
  const inMs = ['--merchant', MERCHANT, '--path', '/v1/orders', '--timestamp', `${NOW}000`];
  expect((await check(inMs)).out).toContain('in milliseconds');
});

test.each<readonly [string, string]>([
  ['The keys of the signed body are not sorted', md5(Buffer.from(BODY).toString('base64') + API_KEY)],
  ['signed without base64', md5(canonical(JSON.parse(BODY)) + API_KEY)],
  ['upper case', md5(Buffer.from(canonical(JSON.parse(BODY))).toString('base64') + API_KEY).toUpperCase()],
  ['put before the body', md5(API_KEY + Buffer.from(canonical(JSON.parse(BODY))).toString('base64'))],
  ['no known mistake', 'a'.repeat(32)],
])('explains a wrong MD5 signature: %s', async (said, signature) => {
  const { code, out } = await check(['--md5', '--body', BODY, '--signature', signature]);
  expect([code, out]).toEqual([1, expect.stringContaining(said)]);
});

test('confirms a right MD5 signature, with its steps', async () => {
  const text = '{"energy":65000,"receive_address":"TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF"}';
  const base64 = 'eyJlbmVyZ3kiOjY1MDAwLCJyZWNlaXZlX2FkZHJlc3MiOiJURjdSUFJtYWJmUUJjWDkyTUhVUGI5SFNOY0hOTXdqeXJGIn0=';
  const { code, out } = await check(['--md5', '--body', text, '--signature', md5(base64 + API_KEY)]);
  expect(code).toBe(0);
  expect(out).toContain('The signature is correct.');
  expect(out).toContain(base64);
});

test.each([
  ['deeper than a program writes', '['.repeat(8000) + ']'.repeat(8000)],
  ['deeper than a body may be', `${'['.repeat(9)}1${']'.repeat(9)}`],
])('does not re-encode a body %s to find a mistake', (_what, text) => {
  const body = Buffer.from(text);
  const request = {
    merchant: MERCHANT,
    timestamp: NOW,
    nonce: NONCE,
    idempotencyKey: '',
    method: 'POST',
    target: '/v1/x',
    body,
  };
  const digest = createHash('sha256')
    .update(text.length < 100 ? JSON.stringify(JSON.parse(text), null, 2) : 'another')
    .digest('hex');
  const signed = createHmac('sha256', API_KEY)
    .update([...lines('/v1/x', text).slice(0, 8), digest].join('\n'))
    .digest();
  expect(mistakeOfHmac(request, signed, [API_KEY])).toBeUndefined();
});
