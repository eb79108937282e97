// `listen` as a merchant's developer runs it: with a merchant's environment, against an API and a local server.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { until } from '../../../packages/local/src/wait.js';
import { runCli } from '../../../src/modules/operator/cli.js';
import type { HmacCustomer } from '../../support/api/client.js';
import { refusal, ScriptedService, type Reply } from '../../support/api/scripted-service.js';
import { keepShown } from '../../setup/canary.js';
import { openReceivers, type Receivers, type Taken } from '../../support/webhooks/receivers.js';
import { openWebhookFixture, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';

const LIMIT_MS = 30_000;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
let fixture: WebhookFixture;
let receivers: Receivers;
let places = 0;

beforeAll(async () => {
  receivers = await openReceivers();
  fixture = await openWebhookFixture({ GENERAL_RATE_LIMIT_PER_MINUTE: '1000000' });
});

afterAll(async () => {
  await fixture.close();
  await receivers.close();
});

interface Listening {
  readonly lines: () => string[];
  readonly err: () => string;
  /** Requests that reached its path, in order. */
  readonly taken: () => Taken[];
  readonly path: string;
  readonly hasSaid: (text: string | RegExp) => Promise<void>;
  readonly hasTaken: (count: number) => Promise<void>;
  readonly stop: () => void;
  /** The exit code. */
  readonly ended: Promise<number>;
}

/** Runs the command inside the test with only a merchant's environment. */
function listen(customer: HmacCustomer, args: readonly string[] = [], baseUrl = customer.baseUrl): Listening {
  places += 1;
  const path = `/listener-${places.toString()}`;
  const forward = args.includes('--shown-only')
    ? []
    : ['--forward-to', `http://127.0.0.1:${receivers.port.toString()}${path}`];
  const stop = new AbortController();
  const said = { out: '', err: '' };
  const env = { BASE_URL: baseUrl, MERCHANT: customer.merchant, API_KEY: customer.apiKey, WEBHOOK_SECRET: SECRET };
  const ended = runCli(['listen', ...forward, ...args.filter((each) => each !== '--shown-only')], {
    env,
    user: '',
    out: (text) => (said.out += text),
    err: (text) => (said.err += text),
    interrupted: () => stop.signal,
    ask: undefined,
  }).then((code) => {
    keepShown('command line', said.out + said.err);
    return code;
  });
  const lines = (): string[] => said.out.split('\n').filter(Boolean);
  const taken = (): Taken[] => receivers.taken.filter((each) => each.path === path);
  const wait = async (isThere: () => boolean, what: string): Promise<void> => {
    await until(() => (isThere() ? true : undefined), LIMIT_MS, what, 10);
  };
  return {
    lines,
    err: () => said.err,
    taken,
    path,
    hasSaid: (text) => wait(() => (said.out + said.err).search(text) >= 0, String(text)),
    hasTaken: (count) => wait(() => taken().length >= count, `${count.toString()} events`),
    stop: () => stop.abort(),
    ended,
  };
}

const positionsOf = (taken: readonly Taken[]): number[] =>
  taken.map(({ body }) => (JSON.parse(body) as { position: number }).position);
const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

const INSERT = `INSERT INTO event (project_id, type, snapshot)
  SELECT $1, 'project.frozen', json_build_object('project', json_build_object('id', $1::uuid, 'name', 'Zürich', 'frozen', true))
    FROM generate_series(1, $2)`;

async function happen(customer: HmacCustomer, count: number): Promise<void> {
  await fixture.api.database.query(INSERT, [customer.merchant, count]);
  await fixture.numberAll();
}

it('an event arrives signed as the sender signs it, and its line fits into 80 columns', async () => {
  const customer = await fixture.newCustomer();
  await happen(customer, 2);
  const listening = listen(customer);
  await listening.hasSaid('Listening after position 2.');
  await fixture.happen(customer);
  await listening.hasTaken(2);
  receivers.answers.set(listening.path, (_taken, response) => response.writeHead(500).end('no'));
  await fixture.newWebhook(customer, { description: 'x'.repeat(200) });
  await fixture.numberAll();
  await listening.hasTaken(3);
  listening.stop();
  expect(await listening.ended).toBe(0);
  for (const { headers, body } of listening.taken()) {
    const event = new Webhook(SECRET).verify(body, headers) as { id: string };
    expect([headers['webhook-id'], headers['content-type']]).toEqual([event.id, 'application/json']);
  }
  const { items } = (await customer.get('/v1/events?after=2')).body as { items: unknown[] };
  expect(listening.taken().map(({ body }) => JSON.parse(body) as unknown)).toEqual(items);
  const lines = listening.lines();
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  const [frozen, , created, end] = lines.slice(-4);
  expect(frozen).toMatch(/^\d\d:\d\d:\d\d +3 {2}project\.frozen +project \d+ +204 \d+ ms$/);
  expect(created).toMatch(/^\d\d:\d\d:\d\d +5 {2}webhook\.created +https:\/\/shop\S+ +500 \d+ ms$/);
  expect(end).toBe('Stopped. To continue: --after 5');
});

it('continues after a position, with the wanted types only, shown as JSON on each line', async () => {
  const customer = await fixture.newCustomer();
  await fixture.happen(customer);
  await fixture.happen(customer);
  const listening = listen(customer, ['--after', '1', '--type', 'project.frozen', '--json', '--shown-only']);
  await listening.hasSaid('"position":3');
  listening.stop();
  expect(await listening.ended).toBe(0);
  const documents = listening.lines().map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(documents).toEqual([
    { listening_after: 1 },
    { event: expect.objectContaining({ position: 3, type: 'project.frozen' }) as unknown },
    { ended_after: expect.any(Number) as unknown },
  ]);
});

/** Breaks each connection after some bytes of the answer, until `isMended`. */
async function openCuttingProxy(
  target: string,
): Promise<{ url: string; server: Server; state: { isMended: boolean; cuts: number } }> {
  const { hostname, port } = new URL(target);
  const state = { isMended: false, cuts: 0 };
  const server = createServer((near) => {
    const far: Socket = connect(Number(port), hostname);
    // The first answer is cut after its beginning, later ones anywhere.
    let left = state.cuts === 0 ? 1500 : randomInt(100, 2000);
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => {
      if (state.isMended) return void near.write(chunk);
      near.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      state.cuts += 1;
      near.destroySoon();
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`, server, state };
}

it('after a cut anywhere it continues without a gap and without repeating an event', async () => {
  const customer = await fixture.newCustomer();
  const { url, server, state } = await openCuttingProxy(customer.baseUrl);
  try {
    const listening = listen(customer, ['--after', '0'], url);
    await happen(customer, 50);
    await until(() => (state.cuts >= 5 ? true : undefined), LIMIT_MS, 'five cuts', 10);
    await happen(customer, 10);
    state.isMended = true;
    await listening.hasTaken(60);
    listening.stop();
    expect(await listening.ended).toBe(0);
    expect(positionsOf(listening.taken())).toEqual(upTo(60));
    expect(listening.err()).toMatch(/^Warning: the stream was interrupted \(\S+.*\)\. Retrying\.$/m);
    expect(listening.lines().filter((line) => line.startsWith('Listening after')).length).toBeGreaterThan(1);
  } finally {
    server.close();
  }
});

it('signs again while processes of the service forget their nonces, each refusing an earlier time once', async () => {
  const service = await ScriptedService.open();
  const now = Math.floor(Date.now() / 1000);
  const forgets = (sec: number): Reply => refusal(401, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE', { server_time: now + sec });
  const stream = (position: number): Reply => ({
    headers: { 'Content-Type': 'text/event-stream' },
    text: `id: ${position.toString()}\ndata: {"id":"evt","type":"project.frozen","data":{}}\n\n`,
  });
  service.answer(stream(1), forgets(1), forgets(2), forgets(3), forgets(4), stream(2), 'silent');
  const { BASE_URL: baseUrl = '', MERCHANT: merchant = '', API_KEY: apiKey = '' } = service.env;
  const listening = listen({ merchant, apiKey } as HmacCustomer, ['--shown-only', '--after', '0'], baseUrl);
  await Promise.race([listening.hasSaid(/ 2 {2}project\.frozen/), listening.ended]);
  listening.stop();
  expect([await listening.ended, listening.lines().at(-1)]).toEqual([0, 'Stopped. To continue: --after 2']);
  service.close();
});

/** Returns a URL on which no server listens. */
async function unusedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port.toString()}`;
}

it('names an unavailable or slow server of the developer, and sends the next event after it', async () => {
  const customer = await fixture.newCustomer();
  const listening = listen(customer, ['--after', '0', '--forward-to', await unusedUrl()]);
  await happen(customer, 2);
  await listening.hasSaid(/ 2 {2}project\.frozen/);
  listening.stop();
  expect(await listening.ended).toBe(0);
  const shown = listening.lines().filter((line) => line.includes('project.frozen'));
  expect(shown).toHaveLength(2);
  for (const line of shown) expect(line).toMatch(/Zürich +ECONNREFUSED \d+ ms$/);
});

it('a refusal of the service ends it with the reason, and so does an unreachable service', async () => {
  const customer = await fixture.newCustomer();
  const wrong = listen(customer.withKey('not the key of this project'));
  expect([await wrong.ended, wrong.err()]).toEqual([1, expect.stringMatching(/^Refused: .+\n$/)]);
  const unused = await unusedUrl();
  const nowhere = listen(customer, [], unused);
  expect([await nowhere.ended, nowhere.err()]).toEqual([1, `${unused} is unreachable: ECONNREFUSED\n`]);
  const other = listen(customer, [], `http://127.0.0.1:${receivers.port.toString()}`);
  expect([await other.ended, other.err()]).toEqual([1, expect.stringMatching(/ is not an energy rental service\.\n$/)]);
  for (const args of [
    ['--base-url', 'ftp://127.0.0.1'],
    ['--forward-to', 'http://user:password@127.0.0.1/'],
    ['--merchant', 'x'],
  ])
    expect(await listen(customer, args).ended).toBe(2);
});

it('ends when its key may not read any more, with the reason', async () => {
  const customer = await fixture.newCustomer();
  const listening = listen(customer);
  await listening.hasSaid('Listening after position 0');
  await fixture.freeze(customer);
  expect([await listening.ended, listening.err()]).toEqual([1, expect.stringContaining('frozen')]);
});

it('names a gap of expired events, with the position to continue at', async () => {
  const customer = await fixture.newCustomer();
  await happen(customer, 3);
  await fixture.api.database.query(`UPDATE event_position SET pruned_to = 2 WHERE project_id = $1`, [
    customer.merchant,
  ]);
  const expired = listen(customer, ['--after', '1']);
  expect(await expired.ended).toBe(1);
  expect(expired.err()).toContain('--after 2');
});

it('as a process without settings of a service: Ctrl-C waits for the answer to the event in progress', async () => {
  const customer = await fixture.newCustomer();
  const path = '/held';
  let answer: () => void = () => undefined;
  receivers.answers.set(path, (_taken, response) => (answer = () => void response.writeHead(204).end()));
  const said: string[] = [];
  const none = Object.fromEntries(Object.keys(fixture.env).map((name) => [name, undefined]));
  const child: NodeProcess<string> = await startNode('dist/bundle/main.cli.js', {
    name: 'listen',
    args: ['listen', '--forward-to', `http://127.0.0.1:${receivers.port.toString()}${path}`],
    env: { ...none, BASE_URL: customer.baseUrl, MERCHANT: customer.merchant, API_KEY: customer.apiKey },
    readyWhen: (line) => (line.startsWith('Listening after') ? line : undefined),
    // The output shows the secret of the developer's own machine.
    onLine: (line) => said.push(line),
  });
  await happen(customer, 2);
  await until(() => (receivers.taken.some((each) => each.path === path) ? true : undefined), LIMIT_MS, 'an event');
  child.signal('SIGINT');
  const isEnding = (): true | undefined => said.some((line) => line.startsWith('Stopping after')) || undefined;
  await until(isEnding, LIMIT_MS, 'the signal being taken');
  answer();
  expect(await child.exited).toBe(0);
  expect(receivers.taken.filter((each) => each.path === path)).toHaveLength(1);
  const secret = said.map((line) => /whsec_\S+/.exec(line)?.[0]).find((found) => found !== undefined);
  const [{ headers, body }] = receivers.taken.filter((each) => each.path === path) as [Taken];
  expect(new Webhook(secret!).verify(body, headers)).toMatchObject({ position: 1 });
  expect(said.at(-1)).toBe('Stopped. To continue: --after 1');
});

it('prints its position at Ctrl-C under npm, which forwards the signal that the terminal already sent', async () => {
  const customer = await fixture.newCustomer();
  const npm = spawn('npm', ['run', '-s', 'cli', '--', 'listen', '--after', '7'], {
    // A process group of its own, like a terminal's foreground command.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      ...{ BASE_URL: customer.baseUrl, MERCHANT: customer.merchant, API_KEY: customer.apiKey },
    },
  });
  const group = -npm.pid!;
  let said = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (text) => (said += String(text)));
  const ended = once(npm, 'close');
  try {
    await until(() => (said.includes('Press Ctrl-C to stop.') ? true : undefined), LIMIT_MS, 'the stream');
    process.kill(group, 'SIGINT');
    await ended;
  } finally {
    if (npm.exitCode === null && npm.signalCode === null) process.kill(group, 'SIGKILL');
  }
  expect(said.trimEnd().split('\n').at(-1)).toBe('Stopped. To continue: --after 7');
});
