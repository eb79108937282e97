// Every screen in both themes: axe finds nothing, no script fails, and the policy refuses nothing. Figures align with
// their column heads. No page scrolls sideways down to 320 px, and no table from 1280 px on. With SCREENS=folder it
// also saves a picture of each in each width and theme (SCREENS=.cache/screens npm run test:console -- screens).
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { newOwner } from '../support/chain/order-chain.js';
import { until } from '../../packages/local/src/wait.js';
import { BUNDLE, DELIVERED, REFUNDED, SCREENS } from './screens.js';
import { openCluster, START_LIMIT_MS, type ConsoleCluster } from './cluster.js';
import { View } from './view.js';

const WIDTHS = [360, 390, 768, 1280, 1440] as const;
const NARROWEST = 320;
/** From this width on, tables do not scroll. */
const WIDE = 1280;
/** In the dark theme, times show their whole date, which needs more room. */
const DAYS_AHEAD = 3;
const LOG_LIMIT_MS = 30_000;
const folder = process.env['SCREENS'];
let cluster: ConsoleCluster;

beforeAll(async () => {
  cluster = await openCluster();
  await cluster.database.query(`UPDATE price_row SET sun_per_bandwidth = 700`);
  await cluster.order(DELIVERED, 'delivered');
  const parts = { receive_address: newOwner().address, bandwidth: 1000, activate: true };
  await cluster.order(BUNDLE, 'delivered', parts);
  await cluster.losing(() => cluster.order(REFUNDED, 'refunded'));
  await refuseOne();
  await keepSupplied();
  await seenFrom();
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
}, START_LIMIT_MS);

afterAll(() => cluster.close(), START_LIMIT_MS);

/** Waits until the log of refused requests has an entry. */
async function refuseOne(): Promise<void> {
  const { client } = cluster;
  await expect(client.quotes.create({ receive_address: 'Tnobody' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  const isLogged = async (): Promise<true | undefined> => {
    for await (const { error } of client.account.refusedRequests({ limit: 20 })) {
      if (error === 'INVALID_REQUEST') return true;
    }
    return undefined;
  };
  await until(isLogged, LOG_LIMIT_MS, 'the request log');
}

/** Creates a supplied address, one that waits for its account, and one that an owner has paused. */
async function keepSupplied(): Promise<void> {
  const { client, service, database, project } = cluster;
  const terms = { keep_energy: 65_000, daily_cap_credits: 50_000_000 };
  const [, supplied, stopped] = service.accounts;
  await client.autoDelegations.set(supplied!.address, terms);
  await client.autoDelegations.set(stopped!.address, { ...terms, daily_cap_credits: 0 });
  await database.query(
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec, due_at)
     VALUES ($1, $2, $1, 131000, 104800, 86400, 100000000, 86400, clock_timestamp())`,
    [project.id, newOwner().address],
  );
  const isSettled = async (): Promise<true | undefined> => {
    for await (const { status, usable_energy: usable = 0 } of client.autoDelegations.list()) {
      if (status !== 'paused' && usable < terms.keep_energy) return undefined;
    }
    return true;
  };
  await until(isSettled, LOG_LIMIT_MS, 'addresses being supplied');
}

/** Records two callers, as a minute of requests would. */
async function seenFrom(): Promise<void> {
  await cluster.database.query(
    `UPDATE api_key SET recent_sources = jsonb_build_object('192.0.2.7', clock_timestamp(), '2001:db8::7', clock_timestamp() - interval '1 hour') WHERE id = $1`,
    [cluster.project.id],
  );
}

describe.each(SCREENS)('$name', (screen) => {
  it.each(['light', 'dark'] as const)('is whole in the %s theme, at every width', async (theme) => {
    const account = screen.as?.(cluster);
    const daysAhead = theme === 'dark' ? DAYS_AHEAD : 0;
    const view = await View.open(cluster, screen.url(cluster), {
      theme,
      daysAhead,
      ...(account !== undefined && { account }),
    });
    try {
      await screen.ready(view);
      await screen.act?.(view);
      expect(await view.axe()).toEqual([]);
      const overflowing: number[] = [];
      const misaligned: string[] = [];
      const scrolling: string[] = [];
      // The widest of the common fonts, which a plain Debian has.
      await view.useFont('DejaVu Sans');
      for (const width of [...WIDTHS, NARROWEST]) {
        await view.page.setViewportSize({ width, height: width < 768 ? 780 : 900 });
        if ((await view.overflow()) > 0) overflowing.push(width);
        misaligned.push(...(await view.misaligned()));
        if (width >= WIDE) scrolling.push(...(await view.scrolling()));
        if (folder === undefined || width === NARROWEST) continue;
        const path = join(folder, `${screen.name}-${width.toString()}-${theme}.png`);
        await view.page.screenshot({ path, fullPage: true });
      }
      expect([overflowing, misaligned, scrolling, view.faults]).toEqual([[], [], [], []]);
    } finally {
      await view.close();
    }
  });
});
