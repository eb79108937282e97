// The merchants' pages, walked as their reader would: every code block runs here, against a whole service with its
// worker and its sender.
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../packages/local/src/ports.js';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { until } from '../../../packages/local/src/wait.js';
import { deriveSettings } from '../../../src/platform/config/config.js';
import { HmacCustomer } from '../../support/api/client.js';
import { XPUB } from '../../support/chain/deposits-on-chain.js';
import { sellBandwidth } from '../../support/api/bandwidth-sale.js';
import { makeCustomer } from '../../support/api/factory.js';
import { installSdk, packSdk } from '../../support/api/installed-sdk.js';
import { cliWith } from '../../support/cli.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { blocksOf } from '../../support/docs/page-blocks.js';
import { PageWalk, type PageService } from './page-walk.js';
import { noteSecret } from '../../setup/canary.js';
import { envAs } from '../../setup/roles.js';

const ROOT = new URL('../../../', import.meta.url).pathname;
const LIMIT_MS = 60_000;

/** Preparation of a page beside a new project, and its expected result. */
interface Page {
  readonly before?: (service: PageService) => Promise<void>;
  readonly after?: (service: PageService) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
}

const PAGES: Readonly<Record<string, Page>> = {
  'docs/first-order.md': {
    after: async (service) => expect(await keysOf(service)).toEqual(['new-wallet-1', 'payout-1']),
  },
  'docs/signing.md': {},
  'docs/retries.md': { after: async (service) => expect(await keysOf(service)).toEqual(['payout-2041']) },
  'docs/events.md': {
    after: async ({ folder }) => {
      const received = await readFile(join(folder, 'received.log'), 'utf8');
      expect(received.split('\n')).toContain('webhook.test ');
    },
  },
  'docs/paying-in.md': {},
  'docs/going-live.md': {},
  'docs/errors.md': {},
  'docs/faq.md': {},
  'docs/why-did-it-burn.md': {},
  'docs/check-your-signature.md': {},
  'docs/never-miss-an-order.md': { before: settleAnOrder },
  'docs/how-long.md': {},
  'docs/auto-delegation.md': {},
  'packages/sdk/README.md': {
    env: { WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}` },
    after: async (service) => expect(await keysOf(service)).toEqual(['invoice-2', 'invoice-1']),
  },
};

let root: string;
let fixture: OrderFixture;
const processes: NodeProcess<unknown>[] = [];
let port: number;
let packed: string;
let receivers = 0;

beforeAll(async () => {
  port = await freePort();
  root = await mkdtemp(join(tmpdir(), 'energy-pages-'));
  await cp(`${ROOT}examples`, join(root, 'examples'), { recursive: true });
  await installSdk(root);
  ({ name: packed } = await packSdk(root));
  const sending = {
    WEBHOOK_PORTS: port.toString(),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  fixture = await openOrderFixture({ ...sending, DEPOSIT_XPUB: XPUB, MARKET_REFRESH_SEC: '1' });
  await sellBandwidth(fixture);
  const worker = { ...envAs(fixture.env, 'worker'), LOG_LEVEL: 'warn' };
  processes.push(await startNode('dist/bundle/main.worker.js', { name: 'the worker', env: worker }));
  const [key] = deriveSettings(fixture.env, 'sender');
  const { DATABASE_URL, ADMIN_PORT } = envAs(fixture.env, 'sender');
  const sender = { DATABASE_URL, ADMIN_PORT, ...sending, [key!.name]: key!.value };
  processes.push(await startNode('dist/bundle/main.sender.js', { name: 'the sender', env: sender }));
  const cli = cliWith({ ...fixture.env, DEPOSIT_XPUB: XPUB });
  expect((await cli('deposits', 'use-account', '--yes', '--actor', 'test', '--reason', 'a test')).err).toBe('');
});

afterAll(async () => {
  await Promise.all(processes.map((process) => process.stop()));
  await fixture.close();
  await rm(root, { recursive: true });
});

async function keysOf({ customer }: PageService): Promise<string[]> {
  const { body } = await customer.get('/v1/orders');
  return (body.items as { key: string }[]).map(({ key }) => key);
}

/** Settles the order that the page mentions, so that it does not change while the page is walked. */
async function settleAnOrder({ customer, env }: PageService): Promise<void> {
  const order = { receive_address: env['RECEIVER'], energy: 65_000 };
  expect((await customer.post('/v1/orders', order, withKey('invoice-2041'))).status).toBe(202);
  const isSettled = async (): Promise<true | undefined> =>
    (await customer.get('/v1/events?types=order.settled')).body.items.length === 1 ? true : undefined;
  await until(isSettled, LIMIT_MS, 'the order being settled');
}

it.each(Object.entries(PAGES))(
  'every block of %s runs, and does what the page says',
  async (path, page) => {
    const made = await makeCustomer(fixture.api);
    noteSecret('API key', made.apiKey);
    const customer = new HmacCustomer(made.baseUrl, made.merchant, made.apiKey);
    const folder = join(root, path.replaceAll(/\W/g, '-'));
    for (const name of ['examples', packed]) await cp(join(root, name), join(folder, name), { recursive: true });
    const service: PageService = {
      folder,
      customer,
      port,
      env: {
        ...{ BASE_URL: fixture.api.baseUrl, MERCHANT: made.merchant, API_KEY: made.apiKey },
        ...{
          RECEIVER: fixture.receiver((receivers += 1)),
          NEW_WALLET: newOwner().address,
          URL: `http://127.0.0.1:${port.toString()}/energy`,
        },
        ...page.env,
        ...{ npm_config_offline: 'true', npm_config_cache: join(root, 'cache'), npm_config_update_notifier: 'false' },
      },
    };
    await page.before?.(service);
    const walk = new PageWalk(service);
    try {
      await walk.walk(blocksOf(path, await readFile(ROOT + path, 'utf8')));
      await page.after?.(service);
    } finally {
      walk.end();
    }
  },
  180_000,
);
