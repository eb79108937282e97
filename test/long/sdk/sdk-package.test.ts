// The SDK as merchants get it: packed, and installed without a network. The code of its README runs under both module
// systems against a whole service.
import { randomBytes } from 'node:crypto';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../../packages/local/src/ports.js';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { until } from '../../../packages/local/src/wait.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { FAULTS, openFaultyProxy } from '../../support/api/faulty-proxy.js';
import { installPackedSdk, MODULE_SYSTEMS, type System } from '../../support/api/installed-sdk.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { blocksOf, programOf as programNamed } from '../../support/docs/page-blocks.js';
import { keepSaid, noteSecret, noteWebhookSecret } from '../../setup/canary.js';
import { envAs } from '../../setup/roles.js';

const execute = promisify(execFile);
const ROOT = new URL('../../../', import.meta.url).pathname;
const LIMIT_MS = 60_000;

let folder: string;
let fixture: OrderFixture;
let worker: NodeProcess<unknown>;
let customers: Record<System, Customer>;
let packed: readonly string[];

const PAGE = 'packages/sdk/README.md';
const blocks = blocksOf(PAGE, await readFile(ROOT + PAGE, 'utf8'));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'energy-sdk-'));
  packed = await installPackedSdk(folder);
  fixture = await openOrderFixture();
  const [esm, cjs] = [
    await makeCustomer(fixture.api, 10_000_000_000n),
    await makeCustomer(fixture.api, 10_000_000_000n),
  ];
  customers = { 'ES modules': esm, CommonJS: cjs };
  for (const { apiKey } of [esm, cjs]) noteSecret('API key', apiKey);
  worker = await startNode('dist/bundle/main.worker.js', { name: 'the worker', env: envAs(fixture.env, 'worker') });
});

afterAll(async () => {
  await worker.stop();
  await fixture.close();
  await rm(folder, { recursive: true });
});

/** Writes a program of the README and the programs it imports. `code` replaces the README's program. */
async function programOf(system: System, name: string, code = programNamed(blocks, `${name}.mjs`)): Promise<string> {
  const { ending, of } = MODULE_SYSTEMS[system];
  for (const [, other] of code.matchAll(/ from '\.\/(\w[\w-]*)\.mjs'/g)) await programOf(system, other!);
  const path = join(folder, `${name}.${ending}`);
  await writeFile(path, of(code));
  return path;
}

const envOf = (system: System, more: Record<string, string> = {}) => {
  const { merchant: MERCHANT, apiKey: API_KEY } = customers[system];
  return { PATH: process.env['PATH'], BASE_URL: fixture.api.baseUrl, MERCHANT, API_KEY, ...more };
};

interface Run {
  readonly code?: string;
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
}

async function run(system: System, name: string, { code, env, args = [] }: Run = {}): Promise<string> {
  const path = await programOf(system, name, code);
  const options = { cwd: folder, env: envOf(system, env), timeout: LIMIT_MS };
  const { stdout } = await execute(process.execPath, [path, ...args], options);
  keepSaid(`output of ${name}`, stdout);
  return stdout;
}

const EACH = Object.keys(MODULE_SYSTEMS) as System[];
const receiverOf = (system: System): string => fixture.receiver(system === 'CommonJS' ? 1 : 2);

it('the package is its code for both module systems, its types, and its page; it depends on nothing', async () => {
  const modules = (await execute('ls', [`${ROOT}packages/sdk/src`])).stdout.trim().split('\n');
  const types = modules.flatMap((name) => ['d.ts', 'd.cts'].map((end) => `dist/${name.replace(/ts$/, end)}`));
  const wanted = ['README.md', 'package.json', 'dist/index.js', 'dist/index.cjs', ...types];
  expect([...packed].sort()).toEqual(wanted.sort());
  expect((await execute('ls', [join(folder, 'node_modules')])).stdout.trim()).toBe('@tron-energy-rental');
});

it.each(EACH)('%s: the first order of the README is bought, delivered and paid, and listed', async (system) => {
  const said = await run(system, 'first-order', { env: { RECEIVER: receiverOf(system) } });
  expect(said).toMatch(
    /^131000 energy for [\d.]+ TRX instead of [\d.]+\n\d+ energy delivered until [\dTZ:.-]+: send your transfer now\n\d+ credits left\n$/,
  );
  expect(await run(system, 'list')).toMatch(/^invoice-1 \d{4}-[\dTZ:.-]+\n$/);
});

it.each(EACH)('%s: the README’s handling of errors distinguishes refused, refunded and unknown', async (system) => {
  const code = `import { EnergyClient } from '@tron-energy-rental/sdk';
import { buy } from './buy.mjs';
const { BASE_URL, MERCHANT, API_KEY, NOWHERE, RECEIVER: receive_address } = process.env;
const settings = { baseUrl: BASE_URL, merchant: MERCHANT, apiKey: API_KEY, retries: 1 };
const lost = () => fetch(BASE_URL).then(() => Promise.reject(new Error('lost')));
const outcomes = [
  await buy({ quote_ref: 'none' }, 'refused'),
  await buy({ receive_address }, 'taken'),
  await buy({ receive_address }, 'never sent', new EnergyClient({ ...settings, baseUrl: NOWHERE })).catch((error) => error.name),
  await buy({ receive_address }, 'unknown', new EnergyClient({ ...settings, fetch: lost })),
];
console.log(JSON.stringify(outcomes));`;
  const nowhere = `http://127.0.0.1:${(await freePort()).toString()}`;
  const said = await run(system, 'errors', { code, env: { RECEIVER: receiverOf(system), NOWHERE: nowhere } });
  expect(JSON.parse(said)).toEqual([
    { key: 'refused', status: 'refused', why: 'QUOTE_NOT_FOUND', id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    { key: 'taken', status: 'delivered' },
    'NetworkError',
    { key: 'unknown', status: 'unknown' },
  ]);
});

it.each(EACH)('%s: the events of the README come, each once, with a position to go on after', async (system) => {
  await rm(join(folder, 'position'), { force: true });
  expect(await run(system, 'events', { args: ['invoice-1'] })).toBe('order.delivered invoice-1\n');
  expect(await run(system, 'events', { args: ['taken'] })).toBe('order.delivered taken\n');
});

it.each(EACH)(
  '%s: the receiver of the README accepts what is signed by either secret, and nothing else',
  async (system) => {
    const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
    const [secret, another, third] = [newSecret(), newSecret(), newSecret()];
    [secret, another, third].forEach((each) => noteWebhookSecret(each));
    const port = await freePort();
    const path = await programOf(system, 'receive');
    const env = envOf(system, { PORT: port.toString(), WEBHOOK_SECRET: `${secret},${another}` });
    const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const post = async (by: string): Promise<number | undefined> => {
      const body = JSON.stringify({ id: 'evt_1', type: 'order.delivered', position: 1, data: {} });
      const now = new Date();
      const headers = {
        'webhook-id': 'evt_1',
        'webhook-timestamp': Math.floor(now.getTime() / 1000).toString(),
        'webhook-signature': new Webhook(by).sign('evt_1', now, body),
      };
      return fetch(`http://127.0.0.1:${port.toString()}`, { method: 'POST', headers, body }).then(
        ({ status }) => status,
        () => undefined,
      );
    };
    try {
      expect(await until(() => post(secret), LIMIT_MS, 'the receiver')).toBe(204);
      expect([await post(another), await post(third)]).toEqual([204, 400]);
    } finally {
      child.kill();
      await exited;
    }
  },
);

/** Buys as a merchant's program would: without a key at first, then repeatedly with the returned one. */
const SHOP = `import { EnergyClient, UnknownOutcomeError } from '@tron-energy-rental/sdk';
const { BASE_URL, MERCHANT, API_KEY, RECEIVER: receive_address } = process.env;
const client = new EnergyClient({ baseUrl: BASE_URL, merchant: MERCHANT, apiKey: API_KEY, attemptTimeoutMs: 1000, retries: 2 });
let unknown = 0;
const buy = async () => {
  let key;
  for (;;) {
    try {
      return (await client.orders.create({ receive_address, energy: 65_000 }, key === undefined ? {} : { idempotencyKey: key })).id;
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError)) throw error;
      unknown += 1;
      key = error.key;
    }
  }
};
const ids = [];
await Promise.all(Array.from({ length: 20 }, async () => {
  for (let bought = 0; bought < 10; bought += 1) ids.push(await buy());
}));
console.log(JSON.stringify({ orders: new Set(ids).size, unknown }));`;

it.each(EACH)(
  '%s: two hundred purchases through a proxy that loses, delays and repeats are as many orders',
  async (system) => {
    const { merchant } = customers[system];
    const count = async () =>
      (
        await fixture.api.database.query<{ orders: number; charges: number }>(
          `SELECT (SELECT count(*)::int FROM orders WHERE project_id = $1) AS orders,
                (SELECT count(*)::int FROM credit_entry WHERE project_id = $1 AND kind = 'charge') AS charges`,
          [merchant],
        )
      )[0]!;
    const proxy = await openFaultyProxy({
      ...{ targetUrl: fixture.api.baseUrl, percent: 40, faults: FAULTS },
      ...{ lateMs: 1500, seed: 11 },
    });
    const before = await count();
    let said: string;
    try {
      said = await run(system, 'shop', { code: SHOP, env: { RECEIVER: receiverOf(system), BASE_URL: proxy.baseUrl } });
    } finally {
      await proxy.close();
    }
    const { orders, unknown } = JSON.parse(said) as { orders: number; unknown: number };
    expect(FAULTS.filter((fault) => !proxy.happened.has(fault))).toEqual([]);
    expect(unknown).toBeGreaterThan(0);
    expect(orders).toBe(200);
    expect(await count()).toEqual({ orders: before.orders + 200, charges: before.charges + 200 });
  },
);

it('a program in TypeScript is checked against the types, from both module systems', async () => {
  const code = `import { ApiError, EnergyClient, type Order, UnknownOutcomeError } from '@tron-energy-rental/sdk';
export async function buy(client: EnergyClient): Promise<string | undefined> {
  try {
    const order: Order = await client.orders.create({ receive_address: 'T' }, { idempotencyKey: 'a', timeoutMs: 5 });
    for await (const event of client.events.stream({ types: ['order.settled'] })) if (event.type === 'new') break;
    for await (const entry of client.account.ledger({ from: '2026-11-01' })) console.log(entry.credits.toFixed());
    return order.delegations?.[0]?.txid;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'QUOTE_EXPIRED') return error.requestId;
    return error instanceof UnknownOutcomeError ? error.key : undefined;
  }
}
// @ts-expect-error -- a quote or a receiver
export const nothing = (client: EnergyClient) => client.orders.create({ energy: 65_000 });
// @ts-expect-error -- a key that is not there is no key
export const noKey = (client: EnergyClient) => client.orders.create({ quote_ref: 'a' }, { idempotencyKey: undefined });
`;
  await Promise.all(['mts', 'cts'].map((end) => writeFile(join(folder, `shop.${end}`), code)));
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', strict: true, exactOptionalPropertyTypes: true, noEmit: true },
    ...{ types: ['node'], typeRoots: [`${ROOT}node_modules/@types`], skipLibCheck: false },
  };
  const files = ['shop.mts', 'shop.cts'];
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = `${ROOT}node_modules/typescript/bin/tsc`;
  const { stdout } = await execute(process.execPath, [tsc, '-p', folder], { timeout: LIMIT_MS }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(stdout).toBe('');
});
