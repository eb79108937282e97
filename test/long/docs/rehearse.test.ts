// docs/rehearse-the-bad-days.md walked as a merchant would: every command of the page, in order, on a test project.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { codeIn } from '../../support/docs/documents.js';
import type { HmacCustomer } from '../../support/api/client.js';
import { balanceOf } from '../../support/api/order-fixture.js';
import { keepShown } from '../../setup/canary.js';
import { openTestProjectFixture, type TestProjectFixture } from '../../support/api/test-project-fixture.js';
import { openSender, type TestSender } from '../../support/webhooks/sender.js';

const PAGE = await readFile('docs/rehearse-the-bad-days.md', 'utf8');
/** Every shell line of the page, without comments. */
const COMMANDS = [...PAGE.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block]) =>
  block!
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '')),
);

let fixture: TestProjectFixture;
let sender: TestSender;
let customer: HmacCustomer;
let env: Record<string, string>;
let receiver: Server;
let receiverStatus = 500;
const received: string[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    if (receiverStatus === 204) received.push(request.headers['webhook-id'] as string);
    response.writeHead(receiverStatus).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const here = {
    WEBHOOK_PORTS: (receiver.address() as AddressInfo).port.toString(),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  fixture = await openTestProjectFixture(here);
  sender = await openSender({ ...fixture.env, ...here });
  customer = await fixture.customer({ balance: 10_000_000_000n });
  env = {
    ...{ PATH: process.env['PATH']!, HOME: process.env['HOME'] ?? '/' },
    ...{ BASE_URL: customer.baseUrl, MERCHANT: customer.merchant, API_KEY: customer.apiKey },
  };
});

afterAll(async () => {
  await sender.app.close();
  await fixture.close();
  receiver.close();
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(line: string): Promise<Ran> {
  const child = spawn('bash', ['-c', line], { cwd: 'examples/bash', env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text) => (said.out += String(text)));
  child.stderr.on('data', (text) => (said.err += String(text)));
  const [code] = (await once(child, 'close')) as [number];
  keepShown('output of examples', said.out + said.err);
  return { code, ...said };
}

const answer = async (line: string): Promise<Record<string, unknown> & { code: number }> => {
  const { code, out } = await run(line);
  return { ...(JSON.parse(out) as Record<string, unknown>), code };
};

/** A step of the page: the check of its line's result. */
type Walk = (line: string) => Promise<void>;

const nothing: Walk = () => Promise.resolve();

const comesTo =
  (expected: object, before: () => Promise<unknown> = nothing as never): Walk =>
  async (line) => {
    await before();
    expect({ line, ...(await answer(line)) }).toMatchObject({ line, test: true, ...expected });
  };

const setsAddress: Walk = (line) => {
  const [, name, address] = /^export (\w+)=(\w+)$/.exec(line)!;
  expect(Object.values(TEST_ADDRESSES) as string[]).toContain(address);
  env[name!] = address!;
  return Promise.resolve();
};

const moves = (times: number) => async () => {
  for (let made = 0; made < times; made += 1) await fixture.move();
};

const RESERVED = comesTo({ code: 0, status: 'reserved' });
let webhookLine = '';

const WALK: readonly Walk[] = [
  nothing,
  nothing,
  ...Array.from({ length: 6 }, () => setsAddress),
  RESERVED,
  comesTo({ code: 0, status: 'delivered', settled: true }, moves(3)),
  RESERVED,
  comesTo({ code: 0, status: 'refunded', error_code: 'SUPPLIER_REFUSED' }, moves(2)),
  async (line) => comesTo({ code: 0, credits_balance: await balanceOf(customer) })(line),
  RESERVED,
  async (line) => {
    await comesTo({ code: 0, status: 'unresolved', needs_attention: true }, moves(2))(line);
    await comesTo({ code: 0, status: 'delivered' }, moves(1))(line);
  },
  RESERVED,
  async (line) => {
    await fixture.move();
    await fixture.player.playDue();
    await comesTo({ code: 0, status: 'placed' })(line);
  },
  comesTo({ code: 1, error: 'CAPACITY_UNAVAILABLE' }),
  comesTo({ code: 1, error: 'RECEIVER_NOT_ACTIVATED' }),
  comesTo({ code: 0, kind: 'activation', status: 'reserved' }),
  comesTo({ code: 1, error: 'INSUFFICIENT_CREDITS' }),
  async (line) => {
    // Uses up most of the minute's limit here, so that the page's command runs only briefly.
    const order = { energy: 65_000, receive_address: TEST_ADDRESSES['short of capacity'] };
    let out = '';
    for (let window = 0; window < 3 && !out.includes('"error":"RATE_LIMITED"'); window += 1) {
      while ((await customer.post('/v1/orders', order)).status !== 429);
      ({ out } = await run(line));
    }
    expect(out).toContain('"error":"RATE_LIMITED"');
  },
  () => {
    env['URL'] = `http://127.0.0.1:${(receiver.address() as AddressInfo).port.toString()}/energy`;
    return Promise.resolve();
  },
  async (line) => {
    webhookLine = line;
    const { id, ...made } = await answer(line);
    expect(made).toMatchObject({ code: 0, test: true });
    env['WEBHOOK'] = id as string;
  },
  async () => {
    expect(webhookLine).toContain('/v1/webhooks');
    for (let made = 0; made < 6; made += 1) await fixture.move();
    await fixture.eventsOf(customer);
    await sender.run(async () =>
      ((await customer.get(`/v1/webhooks/${env['WEBHOOK']!}/deliveries`)).body.items as { attempts: number }[]).some(
        ({ attempts }) => attempts > 0,
      ),
    );
  },
  async (line) => {
    const { items } = (await answer(line)) as unknown as { items: { attempts: number; last_status?: number }[] };
    expect(items.some(({ attempts, last_status }) => attempts > 0 && last_status === 500)).toBe(true);
  },
  async (line) => {
    receiverStatus = 204;
    const { events } = (await answer(line)) as unknown as { events: number };
    expect(events).toBeGreaterThan(3);
    await sender.run(() => new Set(received).size > 3);
  },
];

it('every command of the page works, in its order, and there is no other', async () => {
  expect(COMMANDS).toHaveLength(WALK.length);
  for (const [index, walk] of WALK.entries()) await walk(COMMANDS[index]!);
}, 240_000);

it('the page and the interface name each address correctly', async () => {
  const section = (await readFile('docs/interface/test-projects.md', 'utf8')).split('\n## 32. ')[1]!;
  for (const [name, address] of Object.entries(TEST_ADDRESSES)) {
    expect(section).toContain(`| \`${name}\` | \`${address}\` |`);
    expect(codeIn(PAGE).join('\n')).toContain(address);
  }
});
