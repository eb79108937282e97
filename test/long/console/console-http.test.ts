// The consoles' answers before sign-in: hosts, origins, pages, policies, errors. Also their settings.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { readConsoleConfig } from '../../../src/platform/config/console-config.js';
import { Pages } from '../../../src/modules/console/pages.js';
import {
  openConsole,
  PASSWORD,
  type Answer,
  type Browser,
  type TestConsole,
} from '../../support/console/console-fixture.js';
import { cliWith, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 60_000;
let test: TestDatabase;
let merchants: TestConsole;
let secure: TestConsole;
let project: string;
let browser: Browser;

beforeAll(async () => {
  test = await createTestDatabase();
  merchants = await openConsole(test.url, 'merchant');
  secure = await openConsole(test.url, 'merchant', { CONSOLE_URL: 'https://console.example.com' });
  const made = await cliWith(settings(test.url))('project', 'create', '--name', 'Shop', '--json');
  project = (made.json() as { merchant: string }).merchant;
  ({ browser } = await merchants.signedIn('owner', project));
}, LIMIT_MS);

afterAll(async () => {
  await merchants.close();
  await secure.close();
  await test.drop();
});

const JSON_BODY = { 'Content-Type': 'application/json' };
const errorOf = ({ status, body }: Answer): unknown => [status, body?.error];

describe('a page of another site', () => {
  it.each([
    ['sends its origin', { Origin: 'https://evil.example', ...JSON_BODY }],
    ['sends no origin', JSON_BODY],
    ['is sandboxed', { Origin: 'null', ...JSON_BODY }],
    ['is on another port of the same host', { Origin: 'http://localhost:3002', ...JSON_BODY }],
    ['is the same host with https', { Origin: 'https://localhost:3001', ...JSON_BODY }],
    ['has an origin that begins alike', { Origin: 'http://localhost:3001.evil.example', ...JSON_BODY }],
    ['is of the same site only', { Origin: 'http://localhost:3001', 'Sec-Fetch-Site': 'same-site', ...JSON_BODY }],
    ['sends what a form can', { Origin: 'https://evil.example', 'Content-Type': 'text/plain' }],
  ])('that %s cannot make a signed-in browser do anything', async (_what, headers) => {
    const answer = await browser.send('POST', '/api/security/sessions/end-others', '{}', headers);
    expect(errorOf(answer)).toEqual([403, 'WRONG_ORIGIN']);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('reads nothing either', async () => {
    expect(errorOf(await browser.get('/api/session', { 'Sec-Fetch-Site': 'cross-site' }))).toEqual([
      403,
      'WRONG_ORIGIN',
    ]);
    expect(errorOf(await browser.get('/api/session', { Origin: 'https://evil.example' }))).toEqual([
      403,
      'WRONG_ORIGIN',
    ]);
  });

  it('gets no CORS: a preflight is refused', async () => {
    const asked = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' };
    const { status, headers } = await browser.send('OPTIONS', '/api/sign-out', undefined, asked);
    expect(status).toBe(403);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('cannot send a form: a body that is not JSON is refused from our own origin too', async () => {
    const { Origin } = { Origin: 'http://localhost:3001' };
    const answer = await browser.send('POST', '/api/sign-out', 'a=b', {
      Origin,
      'Content-Type': 'application/x-www-form-urlencoded',
    });
    expect(errorOf(answer)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });
});

describe('the host', () => {
  it.each([
    'evil.example',
    'localhost',
    'localhost:3002',
    '127.0.0.1:3001',
    'console.example.com',
    'localhost:3001.evil.example',
  ])('%s does not belong to this console: it gets neither a page nor data', async (Host) => {
    expect(errorOf(await browser.get('/api/session', { Host }))).toEqual([403, 'WRONG_ORIGIN']);
    const page = await browser.send('GET', '/', undefined, { Host });
    expect([page.status, page.text.includes('<')]).toEqual([403, false]);
  });

  it('must be given exactly once', async () => {
    const answer = await raw(['Host', 'localhost:3001', 'Host', 'evil.example', 'X-Forwarded-Host', 'localhost:3001']);
    expect([400, 403]).toContain(answer.statusCode);
  });

  async function raw(headers: string[]): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        { port: merchants.port, host: '127.0.0.1', path: '/api/session', headers, setHost: false },
        (answer) => {
          answer.resume();
          resolve(answer);
        },
      );
      sent.on('error', reject).end();
    });
  }
});

describe('a page', () => {
  it('has a new nonce in each answer, in its policy and in its tags', async () => {
    const nonces = await Promise.all(
      ['/', '/orders?status=reserved', '/invitation'].map(async (path) => {
        const { status, text, headers } = await browser.send('GET', path, undefined, {});
        expect([status, headers['content-type'], headers['cache-control']]).toEqual([
          200,
          'text/html; charset=utf-8',
          'no-store',
        ]);
        const [, nonce = ''] = /'nonce-([^']+)'/.exec(String(headers['content-security-policy'])) ?? [];
        expect(text.match(/nonce="[^"]*"/g)).toEqual([`nonce="${nonce}"`, `nonce="${nonce}"`]);
        return nonce;
      }),
    );
    expect(new Set(nonces).size).toBe(3);
    for (const nonce of nonces) expect(Buffer.from(nonce, 'base64')).toHaveLength(16);
  });

  it('tells whose console it is before anybody has signed in', async () => {
    const { text } = await merchants.browser().send('GET', '/', undefined, {});
    expect(text).toContain('<meta name="audience" content="merchant">');
  });

  it('loads scripts and styles of this origin alone, and cannot be framed', async () => {
    const { headers } = await browser.send('GET', '/', undefined, {});
    const policy = String(headers['content-security-policy']);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    for (const directive of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      expect(policy).toContain(directive);
    }
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(headers['strict-transport-security']).toBeUndefined();
  });

  it('has hashed files that are cached for ever, and compressed for clients that accept it', async () => {
    const path = '/assets/a-1b2c3d.js';
    const plain = await browser.send('GET', path, undefined, {});
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    const packed = await browser.open('GET', path, undefined, { 'Accept-Encoding': 'gzip' });
    const chunks: Buffer[] = [];
    for await (const chunk of packed) chunks.push(chunk as Buffer);
    expect([packed.headers['content-encoding'], gunzipSync(Buffer.concat(chunks)).toString()]).toEqual([
      'gzip',
      plain.text,
    ]);
    const head = await browser.send('HEAD', path, undefined, {});
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it.each([
    '/assets/none.js',
    '/favicon.ico',
    '/../package.json',
    '/..%2f..%2fpackage.json',
    '/assets/../../.env',
    '/.git/config.txt',
  ])('does not exist at %s, and no file outside of the pages is served', async (path) => {
    const { status, text } = await browser.send('GET', path, undefined, {});
    expect([status, text.includes('dependencies')]).toEqual([path.includes('%2f') ? 404 : 404, false]);
  });

  it('accepts no other method', async () => {
    const answer = await browser.send('POST', '/', '{}', { Origin: 'http://localhost:3001', ...JSON_BODY });
    expect([...(errorOf(answer) as unknown[]), answer.headers.allow]).toEqual([405, 'METHOD_NOT_ALLOWED', 'GET, HEAD']);
  });

  it('stops the start when it was not built', () => {
    expect(() => new Pages('/nowhere/at/all', 'merchant')).toThrow(
      /missing from \/nowhere\/at\/all\. Run npm run build/,
    );
  });
});

describe('with https', () => {
  it('cookies belong to this host alone, and are never sent in clear, to scripts, or from other sites', async () => {
    const there = secure.browser();
    const { email } = await merchants.signedIn('member', project);
    const { headers, status } = await there.post('/api/sign-in', { email, password: PASSWORD });
    expect(status).toBe(200);
    const lines = headers['set-cookie'] ?? [];
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(line).toMatch(/^__Host-merchant-(session|device)=.+; Path=\/; HttpOnly; SameSite=Strict; Secure/);
    expect(lines.filter((line) => /domain/i.test(line))).toEqual([]);
    expect(headers['strict-transport-security']).toMatch(/^max-age=31536000/);
    expect((await there.get('/api/session')).status).toBe(200);
  });

  it('a cookie without the prefix, or two of the same name, count as none', async () => {
    const there = secure.browser();
    there.cookies.set('merchant-session', browser.cookies.get('merchant-session') ?? '');
    expect((await there.get('/api/session')).status).toBe(401);
    const token = browser.cookies.get('merchant-session') ?? '';
    const twice = await merchants
      .browser()
      .get('/api/session', { Cookie: `merchant-session=${token}; merchant-session=${token}` });
    expect(twice.status).toBe(401);
  });
});

describe('a refusal', () => {
  it.each<readonly [string, () => Promise<Answer>, number, string]>([
    ['an unknown path', () => browser.get('/api/nothing'), 404, 'NOT_FOUND'],
    [
      'another method',
      () => browser.send('PUT', '/api/session', '{}', { Origin: 'http://localhost:3001', ...JSON_BODY }),
      405,
      'METHOD_NOT_ALLOWED',
    ],
    ['a body that is not JSON', () => browser.post('/api/sign-in', '{'), 400, 'INVALID_REQUEST'],
    [
      'a repeated member',
      () => browser.post('/api/sign-in', '{"email":"a","email":"b","password":"c"}'),
      400,
      'INVALID_REQUEST',
    ],
    [
      'an unknown member',
      () => browser.post('/api/sign-in', { email: 'a', password: 'b', admin: true }),
      400,
      'INVALID_REQUEST',
    ],
    ['a missing member', () => browser.post('/api/sign-in', { email: 'a' }), 400, 'INVALID_REQUEST'],
    [
      'an object as a password',
      () => browser.post('/api/sign-in', { email: 'a', password: { $ne: '' } }),
      400,
      'INVALID_REQUEST',
    ],
    [
      'a body that is too large',
      () => browser.post('/api/sign-in', { email: 'a', password: 'x'.repeat(17_000) }),
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    ['a request without a session', () => merchants.browser().get('/api/session'), 401, 'SIGN_IN'],
  ])('of %s has an error and a sentence, and no internal details', async (_what, ask, status, error) => {
    const answer = await ask();
    expect(errorOf(answer)).toEqual([status, error]);
    expect(
      Object.keys(answer.body)
        .filter((name) => name !== 'details')
        .sort(),
    ).toEqual(['error', 'msg']);
    expect(answer.body.msg).toMatch(/^[A-Z“a-z].+\.$/);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});

describe('reports of a broken policy', () => {
  const report = (body: string, headers: Record<string, string> = {}) =>
    browser.send('POST', '/csp-report', body, {
      Origin: 'http://localhost:3001',
      'Content-Type': 'application/csp-report',
      ...headers,
    });

  it('are counted and logged at limited rate, whatever they hold', async () => {
    const said = {
      'csp-report': {
        'violated-directive': 'script-src',
        'blocked-uri': 'https://evil.example/x.js',
        'document-uri': 'http://localhost:3001/orders/secret-key',
      },
    };
    expect((await report(JSON.stringify(said))).status).toBe(204);
    for (const body of [
      '',
      'no json',
      '[]',
      'null',
      JSON.stringify({ 'csp-report': { 'blocked-uri': 'y'.repeat(5000) } }),
    ]) {
      expect((await report(body)).status).toBe(204);
    }
    expect((await report('x'.repeat(9000))).status).toBe(204);
    expect(await merchants.metrics()).toMatch(/console_csp_reports_total 7/);
    const lines = merchants
      .logged()
      .split('\n')
      .filter((line) => line.includes('content security policy'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('secret-key');
  });

  it('of other sites are refused', async () => {
    expect((await report('{}', { Origin: 'https://evil.example' })).status).toBe(403);
  });
});

describe('the settings', () => {
  const env = {
    DATABASE_URL: 'postgres://127.0.0.1/x',
    TOKEN_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
    CONSOLE_AUDIENCE: 'merchant',
    CONSOLE_URL: 'https://console.example.com/',
    SEAL_KEY_SECOND_FACTORS: randomBytes(32).toString('base64'),
  };
  const read = (more: Record<string, string>) => readConsoleConfig({ ...env, ...more });

  it('allow merchants’ consoles every address with https, and operators’ and those without https only this machine', () => {
    const where = (more: Record<string, string>) => {
      const { http, url } = read(more);
      return [url, http.host, http.port, http.adminHost, http.adminPort];
    };
    expect(where({})).toEqual(['https://console.example.com', '0.0.0.0', 3001, '127.0.0.1', 9103]);
    expect(where({ CONSOLE_AUDIENCE: 'operator' })).toEqual([
      'https://console.example.com',
      '127.0.0.1',
      3002,
      '127.0.0.1',
      9104,
    ]);
    expect(where({ CONSOLE_URL: 'http://localhost:3001' })).toEqual([
      'http://localhost:3001',
      '127.0.0.1',
      3001,
      '127.0.0.1',
      9103,
    ]);
  });

  it.each([
    [{ CONSOLE_AUDIENCE: '' }, /CONSOLE_AUDIENCE is required: merchant or operator/],
    [{ CONSOLE_AUDIENCE: 'everybody' }, /CONSOLE_AUDIENCE must be one of/],
    [{ CONSOLE_URL: '' }, /CONSOLE_URL is required/],
    [{ CONSOLE_URL: 'http://console.example.com' }, /CONSOLE_URL must be an origin.*http:\/\/ only for localhost/],
    [{ CONSOLE_URL: 'https://console.example.com/sub' }, /CONSOLE_URL must be an origin/],
    [{ CONSOLE_URL: 'https://user@console.example.com' }, /CONSOLE_URL must be an origin/],
    [{ CONSOLE_URL: 'http://localhost:3001', HOST: '0.0.0.0' }, /HOST must be 127.0.0.1 or ::1/],
    [{ SEAL_KEY_SECOND_FACTORS: '' }, /SEAL_KEY_SECOND_FACTORS is required .*derive --for console/],
    [
      { MASTER_KEY: randomBytes(32).toString('base64') },
      /MASTER_KEY is set, but a console decrypts only second factors/,
    ],
    [{ SEAL_KEY_API_KEYS: randomBytes(32).toString('base64') }, /SEAL_KEY_API_KEYS is set/],
    [{ CONSOLE_PASSWORD_COST: '10' }, /CONSOLE_PASSWORD_COST must be an integer from 14 to 20/],
  ])('with mistake %# are refused', (more, says) => {
    expect(() => read(more)).toThrow(says);
  });
});
