// The example webhook receivers, against real deliveries of the sender and against forged ones.
import { randomBytes } from 'node:crypto';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../../packages/local/src/ports.js';
import { until } from '../../../packages/local/src/wait.js';
import { openCgiHost } from './cgi-host.js';
import { keepSaid, noteWebhookSecret } from '../../setup/canary.js';
import { openSender, type TestSender } from '../../support/webhooks/sender.js';
import { openWebhookFixture, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';

const execute = promisify(execFile);
const FOLDER = new URL('../../../examples/', import.meta.url).pathname;
const LIMIT_MS = 20_000;
const TYPES = ['project.frozen', 'project.unfrozen'];

interface Receiver {
  readonly url: string;
  readonly inbox: string;
  readonly close: () => Promise<void>;
}

interface Start {
  readonly port: number;
  readonly env: Record<string, string>;
}

/** The function that starts each receiver, and the program that it needs on this machine. */
const LANGUAGES: Record<
  string,
  { readonly needs: string; readonly start: (at: Start) => Promise<() => Promise<void>> }
> = {
  bash: { needs: 'bash', start: startCgi },
  node: { needs: 'node', start: (at) => startProgram(process.execPath, [`${FOLDER}node/receive.mjs`], at) },
  python: { needs: 'python3', start: (at) => startProgram('python3', [`${FOLDER}python/receive.py`], at) },
  php: {
    needs: 'php',
    start: (at) => startProgram('php', ['-S', `127.0.0.1:${at.port.toString()}`, `${FOLDER}php/receive.php`], at),
  },
  go: { needs: 'go', start: (at) => startProgram(join(folder, 'receive'), [], at) },
};

async function isHere(command: string): Promise<boolean> {
  return execute('bash', ['-c', 'command -v "$0"', command]).then(
    () => true,
    () => false,
  );
}

// PHP and Go are optional. Where they exist, their receivers must behave the same.
const HERE = await Promise.all(Object.values(LANGUAGES).map(({ needs }) => isHere(needs)));
const RUNNABLE = Object.keys(LANGUAGES).filter((_, index) => HERE[index]);

let folder: string;
let fixture: WebhookFixture;
let sender: TestSender;
const ports: Record<string, number> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'energy-receivers-'));
  if (RUNNABLE.includes('go')) {
    // Built once: `go run` would add a parent process to end.
    await execute('go', ['build', '-o', folder, './receive'], { cwd: `${FOLDER}go`, timeout: 120_000 });
  }
  for (const language of RUNNABLE) ports[language] = await freePort();
  fixture = await openWebhookFixture({
    WEBHOOK_PORTS: Object.values(ports).join(','),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  });
  sender = await openSender(fixture.env);
});

afterAll(async () => {
  await sender.app.close();
  await fixture.close();
  await rm(folder, { recursive: true });
});

async function isListening(port: number): Promise<true | undefined> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true as const,
    () => undefined,
  );
  socket.destroy();
  return isOpen;
}

async function startProgram(
  command: string,
  args: readonly string[],
  { port, env }: Start,
): Promise<() => Promise<void>> {
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => keepSaid(`output of ${command}`, String(text)));
  }
  const exited = once(child, 'exit');
  await until(() => isListening(port), LIMIT_MS, `${command} listening`);
  return async () => {
    child.kill('SIGTERM');
    await exited;
  };
}

async function startCgi({ port, env }: Start): Promise<() => Promise<void>> {
  const host = await openCgiHost(port, `${FOLDER}bash/receive.sh`, env);
  return () => {
    host.close();
    return Promise.resolve();
  };
}

async function startReceiver(language: string, secret: string): Promise<Receiver> {
  const inbox = await mkdtemp(join(folder, `${language}-`));
  const port = ports[language]!;
  const env = {
    ...{ PATH: process.env['PATH']!, HOME: process.env['HOME'] ?? folder },
    ...{ WEBHOOK_SECRET: secret, PORT: port.toString(), INBOX: inbox },
  };
  const close = await LANGUAGES[language]!.start({ port, env });
  return { url: `http://127.0.0.1:${port.toString()}/energy`, inbox, close };
}

const urlOf = (language: string): string => `http://127.0.0.1:${ports[language]!.toString()}/energy`;

/** Returns the received events by file name. Files in progress have a hidden name. */
async function taken(inbox: string): Promise<Map<string, string>> {
  const names = (await readdir(inbox)).filter((name) => !name.startsWith('.')).sort();
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(inbox, name), 'utf8')] as const)),
  );
}

interface Sent {
  readonly id?: string;
  readonly body?: string;
  readonly atMs?: number;
  readonly headers?: Record<string, string>;
}

/** Sends a request as the sender would, except for the given parts. Returns the answer's status. */
async function post(
  url: string,
  secret: string,
  { id = 'evt_forged', body, atMs, headers }: Sent = {},
): Promise<number> {
  const text = body ?? JSON.stringify({ id, type: 'order.delivered', data: {} });
  const at = new Date(atMs ?? Date.now());
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': Math.floor(at.getTime() / 1000).toString(),
      'webhook-signature': new Webhook(secret).sign(id, at, text),
      ...headers,
    },
    body: text,
  });
  await response.arrayBuffer();
  return response.status;
}

it('bash, Node and Python are on every machine that runs this test', () => {
  expect(RUNNABLE).toEqual(expect.arrayContaining(['bash', 'node', 'python']));
});

it.each(RUNNABLE)(
  '%s accepts what the sender delivers, each event once, however often it is sent',
  async (language) => {
    const customer = await fixture.newCustomer();
    const { id, secret } = await fixture.newWebhook(customer, { url: urlOf(language), types: TYPES });
    const receiver = await startReceiver(language, secret);
    try {
      const deliveries = async (): Promise<{ id: string; status: string; event_id: string }[]> =>
        (await customer.get(`/v1/webhooks/${id}/deliveries`)).body.items;
      const areDelivered = (count: number) => async (): Promise<boolean> =>
        (await deliveries()).filter(({ status }) => status === 'delivered').length === count;
      await fixture.happen(customer);
      await sender.run(areDelivered(2));
      const first = await taken(receiver.inbox);
      const [delivery] = await deliveries();
      await customer.request('POST', `/v1/webhooks/${id}/deliveries/${delivery!.id}/resend`);
      // Both secrets sign for a day.
      await customer.post(`/v1/webhooks/${id}/rotate`, {});
      await sender.run(areDelivered(3));
      expect(await taken(receiver.inbox)).toEqual(first);
      await fixture.happen(customer);
      await sender.run(areDelivered(5));
      const all = await taken(receiver.inbox);
      const { items } = (await customer.get('/v1/events')).body as { items: { id: string; type: string }[] };
      const wanted = items.filter(({ type }) => TYPES.includes(type));
      expect([...all.keys()]).toEqual(wanted.map((event) => `${event.id}.json`).sort());
      for (const event of wanted) expect(JSON.parse(all.get(`${event.id}.json`)!)).toEqual(event);
    } finally {
      await receiver.close();
    }
  },
);

it.each(RUNNABLE)(
  '%s refuses what is not signed by its secret, over these bytes, within five minutes',
  async (language) => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    noteWebhookSecret(secret);
    const receiver = await startReceiver(language, secret);
    const { url, inbox } = receiver;
    try {
      const now = Date.now();
      const right = new Webhook(secret).sign('evt_forged', new Date(now), '{}');
      const refused: Record<string, Promise<number>> = {
        'another secret': post(url, `whsec_${Buffer.alloc(32, 6).toString('base64')}`),
        'too old': post(url, secret, { atMs: now - 330_000 }),
        'too new': post(url, secret, { atMs: now + 330_000 }),
        'another time': post(url, secret, { headers: { 'webhook-timestamp': Math.floor(now / 1000 - 60).toString() } }),
        'another id': post(url, secret, { headers: { 'webhook-id': 'evt_other' } }),
        'another body': post(url, secret, { body: '{"a":1}', atMs: now, headers: { 'webhook-signature': right } }),
        'another version': post(url, secret, {
          body: '{}',
          atMs: now,
          headers: { 'webhook-signature': right.replace('v1,', 'v2,') },
        }),
        'no signature': post(url, secret, { headers: { 'webhook-signature': '' } }),
        'a time that is none': post(url, secret, { headers: { 'webhook-timestamp': '1e9' } }),
        'an id that is a path': post(url, secret, { id: '../evt' }),
      };
      for (const [what, status] of Object.entries(refused)) expect([what, await status]).toEqual([what, 400]);
      // A request refused before it was read completely may lose its answer with the connection.
      expect(await post(url, secret, { body: 'x'.repeat(200_000) }).catch(() => 413)).toBe(413);
      expect((await taken(inbox)).size).toBe(0);
      const both = `v1,${Buffer.alloc(32).toString('base64')} ${new Webhook(secret).sign('evt_one', new Date(now), '{"type":"x"}')}`;
      const one = { id: 'evt_one', body: '{"type":"x"}', atMs: now, headers: { 'webhook-signature': both } };
      const at = await Promise.all(Array.from({ length: 6 }, () => post(url, secret, one)));
      expect(at).toEqual([204, 204, 204, 204, 204, 204]);
      expect(await post(url, secret, { id: 'evt_early', atMs: now - 240_000 })).toBe(204);
      expect((await readdir(inbox)).sort()).toEqual(['evt_early.json', 'evt_one.json']);
      expect(await readFile(join(inbox, 'evt_one.json'), 'utf8')).toBe('{"type":"x"}');
    } finally {
      await receiver.close();
    }
  },
);

it.each(RUNNABLE)(
  '%s answers no 2xx when it cannot store an event, so that the event comes again',
  async (language) => {
    const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
    const receiver = await startReceiver(language, secret);
    try {
      await rm(receiver.inbox, { recursive: true });
      await writeFile(receiver.inbox, 'no folder');
      const status = await post(receiver.url, secret).catch(() => 0);
      expect(status >= 200 && status < 300).toBe(false);
      await rm(receiver.inbox);
      await mkdir(receiver.inbox);
      expect(await post(receiver.url, secret)).toBe(204);
    } finally {
      await receiver.close();
    }
  },
);
