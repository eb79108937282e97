// A cluster with both consoles as separate processes, a project with people, and a browser.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { EnergyClient } from '../../packages/sdk/src/index.js';
import { freePort } from '../../packages/local/src/ports.js';
import { startNode, type NodeProcess } from '../../packages/local/src/processes.js';
import { until } from '../../packages/local/src/wait.js';
import { localDepositXpub, LocalService } from '../../packages/local/src/local-service.js';
import { deriveSettings } from '../../src/platform/config/config.js';
import type { Audience, PersonRole } from '../../src/domain/audience.js';
import { Invitations, linkOf } from '../../src/modules/people/invitations.js';
import type { Database } from '../../src/platform/database/database.js';
import { Browser as HttpBrowser, enrol, PASSWORD, signInAgain } from '../support/console/console-fixture.js';
import { newAuthority } from '../support/certificates.js';
import { openAsOwner } from '../support/api/factory.js';
import { openMailServer, type MailServer } from '../support/console/mail-server.js';
import { noteSecret } from '../setup/canary.js';
import { createTestDatabase } from '../setup/database.js';
import { createTestRedis } from '../setup/redis.js';
import { asRole } from '../setup/roles.js';

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const START_LIMIT_MS = 300_000;
const ORDER_LIMIT_MS = 90_000;
const AUTHOR = { actor: 'test', reason: 'a test wants it' };

/** A viewer's account, and the browser's cookies after sign-in. */
export interface Account {
  readonly email: string;
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
  readonly cookies: readonly { readonly name: string; readonly value: string }[];
}

/** Members of an order beside its energy and its duration. */
interface Bought {
  readonly receive_address?: string;
  readonly bandwidth?: number;
  readonly activate?: boolean;
}

export interface ConsoleCluster {
  readonly service: LocalService;
  readonly database: Database;
  readonly browser: Browser;
  /** Origins. */
  readonly merchant: string;
  readonly operator: string;
  readonly api: string;
  readonly project: { readonly id: string; readonly name: string; readonly apiKey: string };
  readonly client: EnergyClient;
  /** The port of this machine at which the service may deliver webhooks over http. */
  readonly hooksPort: number;
  /** The merchant console's mail server, over TLS. The operators' console has none. */
  readonly mail: MailServer;
  readonly owner: Account;
  readonly admin: Account;
  /** Returns an invitation's link, as the CLI prints it. */
  readonly invite: (audience: Audience, role: PersonRole, email: string, projectId?: string) => Promise<string>;
  readonly signUp: (audience: Audience, role: PersonRole, email: string, projectId?: string) => Promise<Account>;
  /** Buys a rental, or what `change` makes of it, and waits for its wanted state. */
  readonly order: (key: string, wanted: 'delivered' | 'refunded', change?: Bought) => Promise<void>;
  /** Dates the account's last password entry, by default to now. */
  readonly freshen: (account: Account, agoSec?: number) => Promise<void>;
  /** Runs `act` while the chain accepts every transaction and loses it, so that orders are refunded. */
  readonly losing: (act: () => Promise<void>) => Promise<void>;
  /** Runs `act` while no node answers. */
  readonly withoutNodes: (act: () => Promise<void>) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openCluster(): Promise<ConsoleCluster> {
  const [store, redis, hooksPort] = await Promise.all([createTestDatabase(), createTestRedis(), freePort()]);
  const service = await LocalService.start({
    blockMs: 300,
    solidLag: 4,
    durable: false,
    databaseUrl: store.url,
    redisUrl: redis.url,
    roleUrl: asRole,
    env: {
      DEPOSIT_XPUB: localDepositXpub(),
      POOL_SYNC_SEC: '1',
      DURATION_MIN_SEC: '60',
      TRON_EXPIRATION_SEC: '20',
      WORKER_SWEEP_MS: '200',
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      WEBHOOK_PORTS: `443,8443,${hooksPort.toString()}`,
    },
  });
  const database = await openAsOwner(store.url);
  const made = await service.cli('project', 'create', '--name', 'Acme payouts', '--credits', '1243500000');
  const project = { id: String(made['merchant']), name: 'Acme payouts', apiKey: String(made['api_key']) };
  const authority = newAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'energy-mail-'));
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, authority.ca);
  const mail = await openMailServer({ secure: true, ...authority.issue(['localhost']) });
  const mailEnv = {
    SMTP_URL: `smtps://localhost:${mail.port.toString()}`,
    MAIL_FROM: 'energy@shop.example',
    NODE_EXTRA_CA_CERTS: caFile,
  };
  const ports = { merchant: await freePort(), operator: await freePort(), api: await freePort() };
  const [api, merchant, operator] = await Promise.all([
    service.startApi(ports.api),
    startConsole(service, 'merchant', ports, {
      ...mailEnv,
      API_URL: `http://127.0.0.1:${ports.api.toString()}`,
      OPERATOR_CONTACT: 'help@energy.example',
    }),
    startConsole(service, 'operator', ports),
    service.startWorker(),
    service.cli('deposits', 'use-account'),
  ]);
  const origin = (audience: Audience) => originOf(ports[audience]);
  const control = async (action: string, body: object = {}) => {
    const answer = await fetch(`${service.controlUrl}/${action}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`the chain refused ${action}: ${await answer.text()}`);
  };
  const failing = async (kind: string, act: () => Promise<void>) => {
    await control('faults', { faults: [{ kind }] });
    try {
      await act();
    } finally {
      await control('faults/clear');
    }
  };
  const invite: ConsoleCluster['invite'] = async (audience, role, email, projectId) => {
    const { token } = await new Invitations(database).invite({ audience, projectId }, { email, role }, AUTHOR);
    noteSecret('session token', token);
    return linkOf(origin(audience), token);
  };
  const signUp: ConsoleCluster['signUp'] = async (audience, role, email, projectId) => {
    const link = await invite(audience, role, email, projectId);
    return signedUp(new HttpBrowser(ports[audience], origin(audience)), link, email, role);
  };
  const client = new EnergyClient({ baseUrl: api.baseUrl, merchant: project.id, apiKey: project.apiKey });
  const browser = await openBrowser();
  return {
    service,
    database,
    browser,
    merchant: origin('merchant'),
    operator: origin('operator'),
    api: api.baseUrl,
    project,
    client,
    hooksPort,
    mail,
    owner: await signUp('merchant', 'owner', 'mira@acme.example', project.id),
    admin: await signUp('operator', 'admin', 'ops@energy.example'),
    invite,
    signUp,
    freshen: async ({ email }, agoSec = 0) => {
      await database.query(
        `UPDATE console_session SET authenticated_at = clock_timestamp() - make_interval(secs => $2)
          WHERE person_id = (SELECT id FROM person WHERE email = $1)`,
        [email, agoSec],
      );
    },
    losing: (act) => failing('lie-accepted', act),
    withoutNodes: (act) => failing('error-before', act),
    order: (key, wanted, change = {}) => {
      const receiver = service.accounts[2]?.address ?? '';
      const body = { receive_address: receiver, energy: 65_000, duration_sec: 3600, ...change };
      return buy(client, body, key, wanted);
    },
    close: async () => {
      await browser.close();
      await Promise.all([merchant.stop(), operator.stop()]);
      await mail.close();
      rmSync(folder, { recursive: true });
      await database.source.destroy();
      await service.stop();
      await redis.close();
      await store.drop();
    },
  };
}

const originOf = (port: number): string => `http://localhost:${port.toString()}`;

async function startConsole(
  service: LocalService,
  audience: Audience,
  ports: Readonly<Record<Audience, number>>,
  more: Readonly<Record<string, string>> = {},
): Promise<NodeProcess<true>> {
  const own = deriveSettings({ MASTER_KEY: service.masterKey }, 'console').map(({ name, value }) => [name, value]);
  // A console refuses to start with keys of other purposes.
  const { MASTER_KEY: _key, REDIS_URL: _redis, ...env } = service.env;
  return startNode<true>('dist/bundle/main.console.js', {
    name: `the ${audience}s' console`,
    env: {
      ...env,
      ...(Object.fromEntries(own) as Record<string, string>),
      DATABASE_URL: asRole(service.databaseUrl, `console_${audience}`),
      CONSOLE_AUDIENCE: audience,
      CONSOLE_URL: originOf(ports[audience]),
      CONSOLE_MERCHANT_URL: originOf(ports.merchant),
      CONSOLE_PASSWORD_COST: '14',
      HOST: '127.0.0.1',
      PORT: ports[audience].toString(),
      ADMIN_PORT: '0',
      ...more,
    },
    readyWhen: (line) => (line.includes('"msg":"listening"') ? true : undefined),
  });
}

async function signedUp(http: HttpBrowser, link: string, email: string, role: PersonRole): Promise<Account> {
  const token = new URL(link).hash.slice(1);
  const accepted = await http.post('/api/invitations/accept', { token, password: PASSWORD });
  if (accepted.status !== 200) throw new Error(`the invitation was not taken: ${accepted.text}`);
  const cookies = () => [...http.cookies].map(([name, value]) => ({ name, value }));
  if (role === 'member') return { email, secret: '', recoveryCodes: [], cookies: cookies() };
  const { secret, recoveryCodes, code } = await enrol(http);
  await signInAgain(http, email, code);
  return { email, secret, recoveryCodes, cookies: cookies() };
}

async function buy(
  client: EnergyClient,
  body: Bought & { readonly receive_address: string },
  key: string,
  wanted: string,
): Promise<void> {
  await until(
    () => client.orders.create(body, { idempotencyKey: key }).catch(() => undefined),
    ORDER_LIMIT_MS,
    'an order being taken',
    500,
  );
  await until(
    async () => ((await client.orders.get(key)).status === wanted ? true : undefined),
    ORDER_LIMIT_MS,
    `an order becoming ${wanted}`,
    300,
  );
}

async function openBrowser(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? BROWSERS.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('There is no chromium here: apt-get install chromium.');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
}
