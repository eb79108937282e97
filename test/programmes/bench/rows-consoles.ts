// The consoles over a million orders and a thousand projects: first view of each home without a browser cache, latency
// of every list and home under concurrent requests, and total JavaScript size.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { chromium, type Browser } from 'playwright-core';
import { DemoConsoles } from '../../../packages/local/src/demo-consoles.js';
import { AUDIENCES, type Audience } from '../../../src/domain/audience.js';
import { loadConsoles, ORDERS, type Loaded } from './console-load.js';
import { figure, percentile, type Row } from './measure.js';
import type { Credits } from '../../../src/domain/units.js';
import type { BenchCluster } from './cluster.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ASSETS = new URL('../../../packages/console/dist/assets/', import.meta.url);
const ANSWER_LIMIT_MS = 20_000;
/** Concurrent requests. */
const ASKING = 4;
/** Selector of the element that makes a home useful. */
const USEFUL = { merchant: '.big-figure', operator: '.capacity' } as const;
const LIST_GOAL = 'p99 ≤ 200';

/** Credits of each project: more than a month's orders cost; their total is still a displayable sum. */
export const CONSOLE_CREDITS = 10_000_000_000_000n as Credits;

export interface ConsolePace {
  readonly orders: number;
  /** Requests per route. */
  readonly requests: number;
  readonly views: number;
}
export const FULL_PACE: ConsolePace = { orders: ORDERS, requests: 200, views: 7 };
export const QUICK_PACE: ConsolePace = { orders: 20_000, requests: 20, views: 2 };

/** Measures the consoles. `cluster` needs its own Postgres, where the consoles' logins are created, and DEPOSIT_XPUB. */
export async function consoleRows(cluster: BenchCluster, pace: ConsolePace): Promise<Row[]> {
  return measureConsoles(cluster, await loadConsoles(cluster, pace.orders), pace);
}

async function measureConsoles(cluster: BenchCluster, loaded: Loaded, pace: ConsolePace): Promise<Row[]> {
  // Fills the caches of prices and fees, as in a running service.
  await cluster.send(
    cluster.request(cluster.tenant(1), 'POST', '/v1/quotes', { receive_address: cluster.sender, energy: 65_000 }),
  );
  // The line with the listening address has level info.
  const consoles = await DemoConsoles.start(cluster.service, { LOG_LEVEL: 'info' });
  try {
    await consoles.signUp([loaded.largest, loaded.small]);
    const rows: Row[] = [];
    for (const audience of AUDIENCES) {
      const cookie = await signIn(consoles, audience);
      rows.push(await firstViews(consoles.origins[audience], cookie, audience, pace));
      rows.push(...(await answers(consoles.origins[audience], cookie, audience, loaded, pace)));
    }
    return [...rows, scriptSize()];
  } finally {
    consoles.close();
  }
}

/** Signs in by a demo link and returns the Cookie header. */
async function signIn(consoles: DemoConsoles, audience: Audience): Promise<string> {
  const answer = await fetch(consoles.link(audience), { redirect: 'manual', signal: AbortSignal.timeout(90_000) });
  if (answer.status !== 303) throw new Error(`signing in was answered ${answer.status.toString()}`);
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0] ?? '')
    .join('; ');
}

/** Measures from the request until the useful element is visible, in a browser without cache, ms. */
async function firstViews(origin: string, cookie: string, audience: Audience, { views }: ConsolePace): Promise<Row> {
  const browser = await openBrowser();
  const times: number[] = [];
  try {
    for (let view = 0; view < views; view += 1) times.push(await firstView(browser, origin, cookie, USEFUL[audience]));
  } finally {
    await browser.close();
  }
  const what = `first useful view of the ${audience}s’ home, a browser without cache`;
  return { ...figure(what, '–', 'ms', '≤ 1 500', times), note: `the slowest ${Math.max(...times).toFixed(0)} ms` };
}

async function firstView(browser: Browser, origin: string, cookie: string, useful: string): Promise<number> {
  const context = await browser.newContext();
  try {
    const cookies = cookie.split('; ').map((pair) => pair.split('=', 2));
    await context.addCookies(cookies.map(([name = '', value = '']) => ({ name, value, url: origin })));
    const page = await context.newPage();
    await page.addInitScript(SEES, useful);
    await page.goto(origin, { waitUntil: 'commit', timeout: ANSWER_LIMIT_MS });
    await page.locator(useful).first().waitFor({ timeout: ANSWER_LIMIT_MS });
    return await page.evaluate(() => (globalThis as unknown as { seenAtMs: number }).seenAtMs);
  } finally {
    await context.close();
  }
}

/** Records when the page has painted the element, by the page's clock since its navigation. */
const SEES = (useful: string): void => {
  interface Page {
    document: { querySelector(text: string): unknown };
    MutationObserver: new (see: () => void) => { observe(of: unknown, what: object): void; disconnect(): void };
    requestAnimationFrame(then: () => void): void;
    performance: { now(): number };
    seenAtMs: number;
  }
  const page = globalThis as unknown as Page;
  const observer = new page.MutationObserver(() => {
    if (page.document.querySelector(useful) === null) return;
    observer.disconnect();
    page.requestAnimationFrame(() => (page.seenAtMs = page.performance.now()));
  });
  observer.observe(page.document, { childList: true, subtree: true });
};

async function openBrowser(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? CHROMIUM.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('There is no chromium here: apt-get install chromium.');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
}

/**
 * Measures every list with its filters, first and deep pages, and the other reads of a home. The worst one is the
 * figure.
 */
async function answers(
  origin: string,
  cookie: string,
  audience: Audience,
  loaded: Loaded,
  { requests }: ConsolePace,
): Promise<Row[]> {
  const client = new Client(origin, cookie);
  try {
    const lists = audience === 'merchant' ? ofProject(loaded.largest, loaded) : ofService(loaded);
    const homes =
      audience === 'merchant'
        ? [`/api/projects/${loaded.largest}/home`]
        : ['/api/operator/home', '/api/operator/days', '/api/operator/system'];
    const rows: Row[] = [];
    const parts = [
      [`${audience}s’ lists, the slowest of all routes and filters`, await withDeepPages(client, lists)],
      [`${audience}s’ home, what it asks for`, homes],
    ] as const;
    for (const [what, paths] of parts) {
      const measured: [string, number[]][] = [];
      for (const path of paths) measured.push([path, await client.times(path, requests)]);
      measured.sort(([, a], [, b]) => percentile(b, 99) - percentile(a, 99));
      for (const [path, times] of measured)
        console.error(`  ${percentile(times, 50).toFixed(1)} ${percentile(times, 99).toFixed(1)} ms  ${path}`);
      const [path, times] = measured[0] ?? ['', []];
      const named = path.replace(loaded.largest, '…').slice(0, 120);
      const [p50Ms, p99Ms] = [percentile(times, 50), percentile(times, 99)];
      const row = figure(`${what}, ${ASKING.toString()} at once`, '–', 'ms', LIST_GOAL, [p99Ms]);
      rows.push({ ...row, p50Ms, p99Ms, note: `${measured.length.toString()} of them; the slowest: ${named}` });
    }
    return rows;
  } finally {
    client.close();
  }
}

const dayAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

function ofProject(id: string, { receivers }: Loaded): string[] {
  const old = `from=${dayAgo(61)}&to=${dayAgo(60)}`;
  const orders = [
    ...['', 'status=delivered', 'status=refunded', 'status=unresolved', 'status=reserved', 'kind=activation'],
    ...[
      `receiver=${receivers.usual}`,
      `receiver=${receivers.rare}`,
      'receiver=nobody',
      'reference=invoice-1001',
      'reference=none',
    ],
    ...[
      old,
      `status=refunded&${old}`,
      `receiver=${receivers.usual}&${old}`,
      `receiver=${receivers.rare}&status=refunded`,
    ],
  ];
  const others = [
    ...[
      '/ledger',
      `/ledger?${old}`,
      '/statements',
      '/events',
      '/events?types=order.refunded',
      '/events?types=deposit.held',
    ],
    ...['/requests', '/audit', '/deposits', '/deposits?status=credited', '/deposits?status=held', '/auto-delegations'],
    ...[
      '/auto-delegations?status=paused',
      '/keys',
      '/webhooks',
      `/webhooks/${id}/deliveries`,
      `/webhooks/${id}/deliveries?status=failed`,
    ],
    ...[
      '/team',
      '/looks',
      '/sources',
      '/balance',
      '/orders/new?since=YzA',
      '/orders/order-1000',
      '/orders/order-1000/refund',
    ],
    ...SOUGHT.map((text) => `/search?q=${text}`),
    ...[`/search?q=${receivers.usual}`, `/search?q=${receivers.rare}`],
  ];
  return [...orders.map((query) => `/orders?limit=50&${query}`), ...others].map((path) => `/api/projects/${id}${path}`);
}

function ofService({ largest, small, receivers }: Loaded): string[] {
  const old = `from=${dayAgo(61)}&to=${dayAgo(60)}`;
  const orders = [
    ...[
      '',
      'status=delivered',
      'status=refunded',
      'status=unresolved',
      'status=reserved',
      'attention=true',
      'due=true',
    ],
    ...[
      `receiver=${receivers.usual}`,
      `receiver=${receivers.rare}`,
      'receiver=nobody',
      'reference=invoice-1001',
      'reference=none',
    ],
    ...[old, `project=${largest}`, `project=${small}&status=refunded`, `project=${largest}&${old}`],
  ];
  const others = [
    ...['/inbox', '/pool', '/deposits', '/deposits?status=held', `/deposits?project=${small}`, '/projects', '/prices'],
    ...['/audit', '/audit?action=credits', '/audit?by=nobody', `/audit?subject=${small}`, '/credit-requests'],
    ...[...SOUGHT, 'Shop', receivers.usual, receivers.rare, largest].map((text) => `/search?q=${text}`),
  ];
  return [...orders.map((query) => `/orders?limit=50&${query}`), ...others]
    .map((path) => `/api/operator${path}`)
    .concat('/api/people');
}

/** A key, a reference, a number, a request id, a transaction, and a text without results. */
const SOUGHT = [
  'order-1000',
  'invoice-1001',
  '4242',
  'req_0123456789abcdef01234567',
  'ab'.repeat(32),
  'dep_3',
  'nothing',
];
/** Pages after the first. */
const DEEP = 6;

/** Adds a later page of each list that has one. */
async function withDeepPages(client: Client, paths: readonly string[]): Promise<string[]> {
  const all: string[] = [];
  for (const path of paths) {
    all.push(path);
    let cursor: string | undefined;
    for (let page = 0; page < DEEP; page += 1) {
      const { next_cursor: next } = JSON.parse(await client.get(withCursor(path, cursor))) as { next_cursor?: string };
      if (next === undefined) break;
      cursor = next;
    }
    if (cursor !== undefined) all.push(withCursor(path, cursor));
  }
  return all;
}

const withCursor = (path: string, cursor: string | undefined): string =>
  cursor === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`;

/** Sends requests as a page does, over persistent connections. */
class Client {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: ASKING });

  constructor(
    private readonly origin: string,
    private readonly cookie: string,
  ) {}

  /** Returns the latencies of `count` answers, ms; an empty result is an answer too. */
  async times(path: string, count: number): Promise<number[]> {
    const times: number[] = [];
    await this.get(path);
    const ask = async (): Promise<void> => {
      while (times.length < count) {
        const place = times.push(Number.NaN) - 1;
        const startedAt = performance.now();
        await this.get(path);
        times[place] = performance.now() - startedAt;
      }
    };
    await Promise.all(Array.from({ length: ASKING }, ask));
    return times;
  }

  async get(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { Cookie: this.cookie, 'Sec-Fetch-Site': 'same-origin' };
      const sent = request(this.origin + path, { agent: this.agent, headers, timeout: ANSWER_LIMIT_MS }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject).on('end', () => {
          const status = response.statusCode ?? 0;
          if (status === 200 || status === 404) resolve(text);
          else reject(new Error(`${path} was answered ${status.toString()}: ${text.slice(0, 300)}`));
        });
      });
      sent.on('timeout', () => sent.destroy(new Error(`${path} was not answered in time`))).on('error', reject);
      sent.end();
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

function scriptSize(): Row {
  const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'));
  const bytes = scripts.reduce(
    (sum, name) => sum + gzipSync(readFileSync(new URL(name, ASSETS)), { level: 9 }).length,
    0,
  );
  return figure('all JavaScript of the consoles, gzipped', '–', 'KiB', '≤ 300', [bytes / 1024]);
}
