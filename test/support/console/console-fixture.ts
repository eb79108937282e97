// A console inside the test, with its database role and its one key, and browsers for people who sign in.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { generateSync } from 'otplib';
import { deriveSettings } from '../../../src/platform/config/config.js';
import { readConsoleConfig, type ConsoleConfig } from '../../../src/platform/config/console-config.js';
import { ConsoleModule } from '../../../src/apps/console/console.module.js';
import { createConsoleApp } from '../../../src/modules/console/console-app.js';
import type { Audience, PersonRole } from '../../../src/domain/audience.js';
import { serverOf } from '../../../src/platform/http/pipeline/server.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Invitations } from '../../../src/modules/people/invitations.js';
import type { Database } from '../../../src/platform/database/database.js';
import { closeApp, openAsOwner } from '../api/factory.js';
import { openLog } from '../log.js';
import { TEST_MASTER_KEY } from '../cli.js';
import { keepSaid, keepShown, noteKeysOf, noteSecret } from '../../setup/canary.js';
import { databaseEnv } from '../../setup/pooler.js';
import { envAs } from '../../setup/roles.js';

const ANSWER_LIMIT_MS = 20_000;
export const PASSWORD = 'a sentence that nobody guesses';
const STEP_SEC = 30;

/**
 * A small copy of the build output: a page with placeholders for audience and nonce, and an asset with a hashed name.
 */
function smallPages(): string {
  const folder = mkdtempSync(join(tmpdir(), 'energy-pages-'));
  const page =
    '<!doctype html><meta name="audience" content="{{audience}}"><style nonce="{{nonce}}"></style><script type="module" src="/assets/a-1b2c3d.js" nonce="{{nonce}}">';
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'assets', 'a-1b2c3d.js'), `const text = '${'x'.repeat(3000)}';`);
  return folder;
}

export interface TestConsole {
  readonly app: NestExpressApplication;
  readonly config: ConsoleConfig;
  readonly port: number;
  /** The owner's connection. The console itself has fewer rights. */
  readonly database: Database;
  readonly logged: () => string;
  readonly metrics: () => Promise<string>;
  /** A browser without a session. */
  readonly browser: (address?: string) => Browser;
  /** Creates an account with a role, signed in fully from a browser that is then a known device. */
  readonly signedIn: (role: PersonRole, projectId?: string, email?: string) => Promise<Account>;
  readonly close: () => Promise<void>;
}

/** An account with a browser, a password and, where the role requires one, an authenticator. */
export interface Account {
  readonly email: string;
  readonly id: string;
  readonly browser: Browser;
  /** The next unused code. */
  readonly code: () => string;
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
}

export async function openConsole(
  databaseUrl: string,
  audience: Audience,
  env: Readonly<Record<string, string>> = {},
): Promise<TestConsole> {
  const keys = deriveSettings({ MASTER_KEY: TEST_MASTER_KEY }, 'console').map(({ name, value }) => [name, value]);
  const all: Record<string, string> = {
    ...envAs(databaseEnv(databaseUrl), `console_${audience}`),
    DATABASE_POOL_MAX: '6',
    CONSOLE_AUDIENCE: audience,
    CONSOLE_URL: `http://localhost:${audience === 'merchant' ? '3001' : '3002'}`,
    CONSOLE_MERCHANT_URL: 'http://localhost:3001',
    CONSOLE_PASSWORD_COST: '14',
    TOKEN_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
    TRUSTED_PROXIES: '127.0.0.1',
    HOST: '127.0.0.1',
    ...(Object.fromEntries(keys) as Record<string, string>),
    ...env,
  };
  noteKeysOf(all);
  const config = readConsoleConfig(all);
  const lines: string[] = [];
  const log = openLog('warn', (line) => lines.push(line));
  const folder = smallPages();
  const app = await createConsoleApp(ConsoleModule.for(config, log), config, folder);
  await app.listen(0, '127.0.0.1');
  const address = serverOf(app).address();
  if (address === null || typeof address === 'string') throw new Error('the console has no port');
  const { port } = address;
  const database = await openAsOwner(databaseUrl);
  const browser = (from?: string): Browser => new Browser(port, config.url, from);
  const test: TestConsole = {
    app,
    config,
    port,
    database,
    logged: () => lines.join(''),
    metrics: () => app.get(Metrics).registry.metrics(),
    browser,
    signedIn: (role, projectId, email) => signUp(test, role, projectId, email),
    close: async () => {
      await closeApp(app, database);
      rmSync(folder, { recursive: true });
    },
  };
  return test;
}

let invited = 0;

/** Returns the token of an invitation, as the CLI prints it. */
export async function invitationFor(
  { app, config }: TestConsole,
  role: PersonRole,
  projectId: string | undefined,
  email: string,
): Promise<string> {
  const author = { actor: 'test', reason: 'a test wants it' };
  const place = { audience: config.audience, projectId };
  const { token } = await app.get(Invitations).invite(place, { email, role }, author);
  noteSecret('session token', token);
  return token;
}

async function signUp(
  test: TestConsole,
  role: PersonRole,
  projectId: string | undefined,
  email = `person-${(invited += 1).toString()}@example.com`,
): Promise<Account> {
  const browser = test.browser();
  const token = await invitationFor(test, role, projectId, email);
  const accepted = await browser.post('/api/invitations/accept', { token, password: PASSWORD });
  if (accepted.status !== 200) throw new Error(`the invitation was not taken: ${accepted.text}`);
  const { id } = (accepted.body as { person: { id: string } }).person;
  if (role === 'member') return { email, id, browser, code: () => '', secret: '', recoveryCodes: [] };
  const factor = await enrol(browser);
  await signInAgain(browser, email, factor.code);
  return { email, id, browser, ...factor };
}

/** Sets up a second factor with the requests of the page. */
export async function enrol(browser: Browser) {
  const begun = await browser.post('/api/security/second-factor/begin', {});
  const { secret } = begun.body as { secret: string };
  noteSecret('session token', secret);
  const code = codesOf(secret);
  const confirmed = await browser.post('/api/security/second-factor/confirm', { code: code() });
  if (confirmed.status !== 200) throw new Error(`the second factor was not taken: ${confirmed.text}`);
  const { recovery_codes: recoveryCodes } = confirmed.body as { recovery_codes: string[] };
  for (const each of recoveryCodes) noteSecret('session token', each);
  return { code, secret, recoveryCodes };
}

/** Signs in from the start, which makes the browser a known device. */
export async function signInAgain(browser: Browser, email: string, code: () => string): Promise<Answer> {
  await browser.post('/api/sign-in', { email, password: PASSWORD });
  return browser.post('/api/sign-in/second-factor', { code: code() });
}

/** A code is not sent with less time left, since a slow machine may check it after its end. */
const LEAST_LEFT_MS = 1500;

/**
 * Codes of an authenticator, each of a later step than the one before. The service's window accepts three of them in a
 * row. The first of them ends with the present step, so it waits for the next step if that comes soon.
 */
export function codesOf(secret: string): () => string {
  let used = -1;
  const stepNow = (): number => Math.floor(Date.now() / 1000 / STEP_SEC);
  return () => {
    const leftMs = STEP_SEC * 1000 - (Date.now() % (STEP_SEC * 1000));
    if (used < stepNow() - 1 && leftMs < LEAST_LEFT_MS)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leftMs);
    used = Math.max(used + 1, stepNow() - 1);
    return generateSync({ secret, epoch: used * STEP_SEC });
  };
}

/** Starts the codes again, as if half a minute had passed for each used one. */
export async function restartCodes({ database }: TestConsole, { id, secret }: Account): Promise<() => string> {
  await database.query(`UPDATE person SET totp_step = 0 WHERE id = $1`, [id]);
  return codesOf(secret);
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The JSON body; undefined when the body is not JSON. The test asserts its shape. */
  readonly body: ReturnType<typeof JSON.parse>;
}

/** Sends cookies, Origin and Sec-Fetch-Site as a browser does. */
export class Browser {
  readonly cookies = new Map<string, string>();

  constructor(
    private readonly port: number,
    private readonly origin: string,
    /** The client address that the proxy in front of the console reports. */
    private readonly address = '192.0.2.1',
  ) {}

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('GET', path, undefined, { 'Sec-Fetch-Site': 'same-origin', ...headers });
  }

  async post(
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string | undefined>> = {},
    meanwhile?: () => Promise<void>,
  ): Promise<Answer> {
    const own = { Origin: this.origin, 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.send('POST', path, text, { ...own, ...headers }, meanwhile);
  }

  /** Sends only these headers beside Host, X-Forwarded-For and cookies. An undefined header is left out. */
  async send(
    method: string,
    path: string,
    body: string | undefined,
    headers: Readonly<Record<string, string | undefined>>,
    meanwhile?: () => Promise<void>,
  ): Promise<Answer> {
    const response = await this.open(method, path, body, headers, meanwhile);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    (showsSecret(method, path) ? keepShown : keepSaid)('answer of a console', hideShown(method, path, text));
    return { status: response.statusCode ?? 0, headers: response.headers, text, body: jsonOf(text) };
  }

  /** Returns the response after its headers. The caller reads the body. */
  async open(
    method: string,
    path: string,
    body: string | undefined,
    headers: Readonly<Record<string, string | undefined>>,
    /** Runs between sending the headers and the body. */
    meanwhile?: () => Promise<void>,
  ): Promise<IncomingMessage> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const all = { Host: new URL(this.origin).host, 'X-Forwarded-For': this.address, ...(cookie && { Cookie: cookie }) };
    const given = Object.entries<string | undefined>({ ...all, ...headers }).filter(([, value]) => value !== undefined);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = httpRequest(
        {
          port: this.port,
          host: '127.0.0.1',
          method,
          path,
          headers: Object.fromEntries(given),
          timeout: ANSWER_LIMIT_MS,
        },
        resolve,
      );
      sent.on('error', reject).on('timeout', () => sent.destroy(new Error('the console did not answer in time')));
      if (body !== undefined) sent.setHeader('Content-Length', Buffer.byteLength(body));
      if (meanwhile === undefined) sent.end(body);
      else {
        sent.flushHeaders();
        meanwhile().then(() => sent.end(body), reject);
      }
    });
    for (const line of response.headers['set-cookie'] ?? []) this.keep(line);
    return response;
  }

  private keep(line: string): void {
    const [pair = ''] = line.split(';', 1);
    const [name = '', value = ''] = pair.split('=', 2);
    if (value === '') this.cookies.delete(name);
    else {
      this.cookies.set(name, value);
      noteSecret('session token', value);
    }
  }
}

/** Returns true for the creation of a webhook and the rotation of its secret, which show the secret. */
function showsSecret(method: string, path: string): boolean {
  return method === 'POST' && /\/webhooks(?:\/[^/]+\/rotate)?$/.test(path);
}

/** Removes a secret that the answer may show, so that the search covers only the rest. */
function hideShown(method: string, path: string, text: string): string {
  // The first API key of a new project.
  if (method === 'POST' && path.endsWith('/operator/projects')) return text.replace(/"secret":"[^"]*"/, '');
  return /second-factor|recovery-codes|invitations$|\/keys/.test(path) ? '' : text;
}

function jsonOf(text: string): ReturnType<typeof JSON.parse> {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
