// A signal to any documented command drains and ends all of its processes. The signal arrives through npm, at the whole
// group as from Ctrl-C and systemd, at process 1 of a container, or during start or build.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import pg from 'pg';
import { until } from '../../../packages/local/src/wait.js';
import { deriveSettings } from '../../../src/platform/config/config.js';
import { cliWith, settings } from '../../support/cli.js';
import { below, Command, COMMAND_LIMIT_MS as LIMIT_MS, LISTENING } from '../../support/command.js';
import { fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { envAs } from '../../setup/roles.js';
import { openProxy } from '../../support/database/proxy.js';
import { openReceivers, type Receivers } from '../../support/webhooks/receivers.js';

/** It makes a month of history before it serves. */
const DEMO_LIMIT_MS = 150_000;
const WORKING = '"msg":"working"';
const SENDING = '"msg":"sending"';

let test: TestDatabase;
let env: Record<string, string>;
let dir: string;
/** Accepts every connection and never answers. */
let silent: Server;
let silentPort: number;
let receivers: Receivers;

beforeAll(async () => {
  test = await createTestDatabase();
  env = settings(test.url, { LOG_LEVEL: 'info', HOST: '127.0.0.1', PORT: '0' });
  expect((await cliWith(env)('migrate')).code).toBe(0);
  dir = await mkdtemp(join(tmpdir(), 'energy-stop-'));
  silent = createServer((socket) => {
    // Reads the data, so that the connection's end is noticed.
    socket.on('error', () => undefined).resume();
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  silentPort = (silent.address() as { port: number }).port;
  receivers = await openReceivers();
});

afterEach(async () => {
  await Command.endAll();
});

afterAll(async () => {
  await new Promise((resolve) => silent.close(resolve));
  await receivers.close();
  await rm(dir, { recursive: true, force: true });
  await test.drop();
});

const npm = (script: string, extra: NodeJS.ProcessEnv, ...args: string[]): Command =>
  Command.start('npm', ['run', '-s', script, '--', ...args], extra);
/** Settings of local webhook receivers, for both the API and the sender. */
const ways = (): Record<string, string> => ({
  WEBHOOK_PORTS: receivers.port.toString(),
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
});
/** Returns the settings of a sender in its role, with its one key. */
const ofSender = (): Record<string, string> => {
  const [key] = deriveSettings(env, 'sender');
  const url = { DATABASE_URL: env['DATABASE_URL']!, [key!.name]: key!.value };
  return { ...envAs(url, 'sender'), ...ways(), ADMIN_PORT: '0', LOG_LEVEL: 'info' };
};
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

describe.each(SIGNALS)('%s to npm', (signal) => {
  it('ends the API once the request in flight is answered', async () => {
    const api = npm('start:api', env);
    const socket = connect(await api.port(), '127.0.0.1');
    let answer = '';
    socket.on('data', (text) => (answer += String(text)));
    socket.write(
      'POST /v1/quotes HTTP/1.1\r\nHost: a\r\nMerchant: 00000000-0000-4000-8000-000000000000\r\nSignature: 0\r\n' +
        'Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n',
    );
    await until(() => (answer.includes('100 Continue') ? true : undefined), LIMIT_MS, 'the request being read');
    const stopped = api.stop(signal);
    await api.says('"msg":"stopping"');
    socket.write('{}');
    expect(await stopped).toBe(0);
    expect(answer).toContain('HTTP/1.1 401');
    expect(answer).toContain('INVALID_SIGNATURE');
    expect(api.lines('"msg":"stopping"')).toBe(1);
    socket.destroy();
  });

  it('ends the worker without a second signal', async () => {
    const worker = npm('start:worker', env);
    await worker.says(WORKING);
    expect(await worker.stop(signal)).toBe(0);
    expect([worker.lines('"msg":"stopping"'), worker.lines('stopped with unfinished work')]).toEqual([1, 0]);
  });

  it('ends the sender once its deliveries under way are answered and recorded, and it holds no endpoint', async () => {
    const path = `/${signal}`;
    const asked = new Promise<ServerResponse>((resolve) => {
      receivers.answers.set(path, (_one, response) => resolve(response));
    });
    const cli = cliWith({ ...env, ...ways() });
    const { merchant } = (await cli('--json', 'project', 'create', '--name', 'Stop')).json();
    const url = `http://127.0.0.1:${receivers.port.toString()}${path}`;
    const { webhook } = (await cli('--json', 'webhooks', 'create', merchant, '--url', url)).json();
    expect((await cli('webhooks', 'test', webhook)).code).toBe(0);
    const sender = npm('start:sender', ofSender());
    const response = await asked;
    const stopped = sender.stop(signal);
    await sender.says('"msg":"stopping"');
    response.writeHead(204).end();
    expect(await stopped).toBe(0);
    expect([sender.lines('"msg":"stopping"'), sender.lines('stopped with unfinished work')]).toEqual([1, 0]);
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    const { rows } = await client.query(
      `SELECT d.status, d.attempts, s.lease_until FROM webhook_delivery d JOIN webhook_state s USING (endpoint_id)
        WHERE d.endpoint_id = $1`,
      [webhook],
    );
    await client.end();
    expect(rows).toEqual([{ status: 'delivered', attempts: 1, lease_until: null }]);
  });

  it('ends the signer, which removes its socket', async () => {
    const socket = join(dir, `${signal}.sock`);
    await writeFile(join(dir, 'hot.key'), randomBytes(32).toString('hex'), { mode: 0o600 });
    const wallet = { role: 'activation', address: 'TLNTMGvJLbhk9qLMMTaG3BjBJBuipWGSQP', permission_id: 2 };
    const wallets = [{ ...wallet, key_file: 'hot.key', signatures_per_minute: 1 }];
    await writeFile(join(dir, 'wallets.json'), JSON.stringify(wallets), { mode: 0o600 });
    const files = { SIGNER_SOCKET: socket, SIGNER_WALLETS_FILE: join(dir, 'wallets.json') };
    const signer = npm('start:signer', files);
    await signer.says(LISTENING);
    expect(existsSync(socket)).toBe(true);
    expect(await signer.stop(signal)).toBe(0);
    expect(existsSync(socket)).toBe(false);
  });

  it('ends the local chain, which writes its state first', async () => {
    const state = join(dir, `${signal}.state`);
    const ports = ['--full-port', '0', '--solid-port', '0', '--control-port', '0'];
    const devnet = npm('devnet', {}, '--genesis', 'docker/devnet-genesis.json', ...ports, '--state', state);
    await devnet.says('"chainId"');
    expect(await devnet.stop(signal)).toBe(0);
    expect(JSON.parse(await readFile(state, 'utf8'))).toHaveProperty('blocks');
  });

  it('ends a command of the operator', async () => {
    const asked = new Promise((resolve) => silent.once('connection', resolve));
    const node = `http://127.0.0.1:${silentPort.toString()}`;
    const cli = npm('cli', { ...env, TRON_FULL_NODE_URLS: node, USER: 'tester' }, 'doctor', '--patience', '60');
    await asked;
    expect(await cli.stop(signal)).not.toBe(0);
  });

  it(
    'ends the demo with everything it started',
    async () => {
      const own = await createTestDatabase();
      const stores = { DATABASE_URL: own.url, REDIS_URL: fromSetup('TEST_REDIS_URL') };
      const demo = npm('demo', { ...stores, PORT: '0' });
      await demo.says('the API is listening at', DEMO_LIMIT_MS);
      // npm, node, and for each of chain, API and worker a guard and the guarded process.
      expect(below(demo.pid).length).toBeGreaterThanOrEqual(8);
      expect(await demo.stop(signal)).toBe(0);
      await own.drop();
    },
    2 * DEMO_LIMIT_MS,
  );
});

it(
  'SIGTERM ends the demo while it makes its history',
  async () => {
    const own = await createTestDatabase();
    const stores = { DATABASE_URL: own.url, REDIS_URL: fromSetup('TEST_REDIS_URL') };
    const demo = npm('demo', { ...stores, PORT: '0' });
    await demo.says('a project, created with', DEMO_LIMIT_MS);
    expect(await demo.stop('SIGTERM')).toBe(0);
    expect(demo.lines('a month of history')).toBe(0);
    await own.drop();
  },
  2 * DEMO_LIMIT_MS,
);

it('the demo refuses a file that it could not write before it starts anything', async () => {
  const demo = npm('demo', {}, '--env', join(dir, 'missing', 'demo.env'));
  expect(await demo.ends()).toBe(1);
  expect([demo.lines('demo: ENOENT'), demo.lines('Starting Postgres')]).toEqual([1, 0]);
});

describe('a signal to the whole group, as from a terminal or a control group', () => {
  it.each([
    ['SIGTERM', 'start:api', LISTENING],
    ['SIGINT', 'start:worker', WORKING],
  ] as const)('%s to %s is one stop', async (signal, script, ready) => {
    const command = npm(script, env);
    await command.says(ready);
    // npm forwards the signal, so the process receives it twice.
    expect(await command.stop(signal, -command.pid)).toBe(0);
    expect([command.lines('"msg":"stopping"'), command.lines('"level":"error"')]).toEqual([1, 0]);
  });
});

it('a worker whose work does not end ends in time all the same, and logs so', async () => {
  const node = `http://127.0.0.1:${silentPort.toString()}`;
  const nodes = { TRON_FULL_NODE_URLS: node, TRON_SOLIDITY_NODE_URLS: node, TRON_READ_TIMEOUT_MS: '30000' };
  const worker = Command.start('node', ['dist/bundle/main.worker.js'], { ...env, ...nodes, WORKER_STOP_SEC: '1' });
  await worker.says(WORKING);
  expect(await worker.stop('SIGTERM')).toBe(0);
  expect([worker.lines('stopped with unfinished work'), worker.lines('"level":"error"')]).toEqual([1, 0]);
});

it('an API whose database and Redis are silent ends in time all the same', async () => {
  const [database, redis] = [await openProxy(env['DATABASE_URL']!), await openProxy(env['REDIS_URL']!)];
  try {
    const urls = { DATABASE_URL: database.url, REDIS_URL: redis.url };
    const api = Command.start('node', ['dist/bundle/main.api.js'], { ...env, ...urls });
    await api.says(LISTENING);
    database.stall();
    redis.stall();
    expect(await api.stop('SIGTERM')).toBe(0);
    expect(api.lines('"level":"error"')).toBe(0);
  } finally {
    await Promise.all([database.close(), redis.close()]);
  }
});

describe('process 1 of a container', () => {
  /** Starts process 1 of a namespace where the machine allows it, else the same program as an ordinary process. */
  const FIRST = ['--pid', '--fork', '--kill-child'];
  const ways = [FIRST, ['--user', '--map-root-user', ...FIRST]];
  const way = ways.find((args) => {
    try {
      execFileSync('unshare', [...args, 'true'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });

  const contain = (extra: NodeJS.ProcessEnv, ...args: string[]): Command => {
    const program = [process.execPath, 'docker/entrypoint.mjs', ...args];
    return way === undefined
      ? Command.start(program[0]!, program.slice(1), extra)
      : Command.start('unshare', [...way, '--', ...program], extra);
  };
  const first = (command: Command): number => (way === undefined ? command.pid : below(command.pid)[1]!);

  it.each([
    ['api', LISTENING],
    ['worker', WORKING],
    ['sender', SENDING],
  ] as const)('the %s ends at SIGTERM, drained', async (program, ready) => {
    const contained = contain(program === 'sender' ? ofSender() : env, program);
    await contained.says(ready);
    expect(await contained.stop('SIGTERM', first(contained))).toBe(0);
    expect(contained.lines('"msg":"stopping"')).toBe(1);
  });

  it.each(['api', 'worker'])('the %s ends while it waits for its database at the start', async (program) => {
    const asked = new Promise((resolve) => silent.once('connection', resolve));
    const database = `postgres://energy:secret@127.0.0.1:${silentPort.toString()}/energy`;
    const contained = contain({ ...env, DATABASE_URL: database }, program);
    await asked;
    expect(await contained.stop('SIGTERM', first(contained))).toBe(0);
    expect(contained.lines('"level":"fatal"')).toBe(0);
  });

  it('a command of the operator ends', async () => {
    const asked = new Promise((resolve) => silent.once('connection', resolve));
    const node = `http://127.0.0.1:${silentPort.toString()}`;
    const contained = contain(
      { ...env, TRON_FULL_NODE_URLS: node, USER: 'tester' },
      'cli',
      'doctor',
      '--patience',
      '60',
    );
    await asked;
    expect(await contained.stop('SIGTERM', first(contained))).toBe(128 + 15);
  });
});

describe('a command that is still building', () => {
  it.each(SIGNALS)('%s ends the build, and the command does not run', async (signal) => {
    const project = await mkdtemp(join(dir, 'project-'));
    await cp('scripts/built.mjs', join(project, 'scripts/built.mjs'));
    const scripts = { go: 'exec node scripts/built.mjs ran.mjs', build: 'node slow.mjs' };
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', scripts }));
    await writeFile(join(project, 'slow.mjs'), `console.error('building'); setInterval(() => undefined, 1000);`);
    await writeFile(join(project, 'ran.mjs'), `console.log('it ran');`);
    const command = Command.start('npm', ['run', '-s', 'go'], {}, project);
    await command.says('building');
    expect(await command.stop(signal)).not.toBe(0);
    expect(command.lines('it ran')).toBe(0);
  });

  it('every command of package.json replaces its shell by what it runs', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
    const shells = Object.entries(scripts).filter(([, text]) => text.startsWith('node '));
    expect(shells).toEqual([]);
    for (const name of ['demo', 'start:api', 'start:worker', 'start:signer', 'start:sender', 'cli', 'devnet'])
      expect(scripts[name]).toMatch(/^exec node (--[\w-]+ )?scripts\/built\.mjs [^&|;]*$/);
  });
});
