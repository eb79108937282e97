// Hostile names stay plain text on every page that shows them, for merchants and operators.
import { EnergyClient } from '../../packages/sdk/src/index.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

/** Marks the page if any part of it is interpreted as markup or script. */
const MARKUP = `"'><img src=x onerror="document.body.dataset.owned=1"><script>document.body.dataset.owned=2</script>\${7*7}`;
const LINK = 'javascript:document.body.dataset.owned=3';

export function hostile(at: () => ConsoleCluster, see: (view: View) => View): void {
  const isOwned = async ({ page }: View): Promise<boolean> =>
    (await page.locator('body[data-owned], img[src=x], a[href^="javascript:"], main script').count()) > 0;

  it('markup in every name is shown as it was written, and none of it runs', async () => {
    const { service, signUp, merchant, operator, admin, api } = at();
    const made = await service.cli('project', 'create', '--name', MARKUP, '--credits', '100000000');
    const id = String(made['merchant']);
    const account = await signUp('merchant', 'owner', 'hostile@acme.example', id);
    const open = async (origin: string, path: string, who = account): Promise<View> =>
      see(await View.open(at(), `${origin}${path}`, { account: who }));

    const keys = await open(merchant, `/p/${id}/integration/keys`);
    await button(keys, 'Create key').click();
    await field(keys, 'Name').fill(MARKUP.slice(0, 60));
    await keys.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await keys.page.locator('[data-secret]').waitFor();
    const client = new EnergyClient({ baseUrl: api, merchant: id, apiKey: String(made['api_key']) });
    await write(client, service.accounts[2]?.address ?? '');
    await at().database.query(
      `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
       VALUES ($1, now(), $2, 'GET', $3, 401, 'INVALID_SIGNATURE', $2, '192.0.2.9')`,
      [id, MARKUP, `/v1/orders?${MARKUP}`],
    );

    const pages: readonly (readonly [string, string])[] = [
      ['', 'Home'],
      ['/orders', 'Orders'],
      [`/orders/${encodeURIComponent(KEY)}`, `Order ${KEY}`],
      ['/billing/ledger', 'Ledger'],
      ['/integration/keys', 'Keys'],
      ['/integration/webhooks', 'Webhooks'],
      ['/integration/events', 'Events'],
      ['/integration/requests', 'Request log'],
      ['/settings/project', 'Project'],
      [`/search?q=${encodeURIComponent(LINK)}`, `Search for “${LINK}”`],
      [`/search?q=${encodeURIComponent(MARKUP)}`, `Search for “${MARKUP}”`],
    ];
    for (const [path, title] of pages) {
      const view = await open(merchant, `/p/${id}${path}`);
      await view.heading(title).waitFor();
      await view.page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      expect([path, await isOwned(view), view.faults]).toEqual([path, false, []]);
      await view.close();
    }
    for (const path of ['/projects', '/orders', '/system/audit', '/inbox', `/search?q=${id}`]) {
      const view = await open(operator, path, admin);
      await view.page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      expect([path, await isOwned(view), view.faults]).toEqual([path, false, []]);
      await view.close();
    }
  });

  it('a page of another origin cannot frame the console, nor reach a window that it opens', async () => {
    const { merchant, browser, project, owner } = at();
    const context = await browser.newContext();
    try {
      await context.addCookies(owner.cookies.map((cookie) => ({ ...cookie, url: merchant })));
      const page = await context.newPage();
      await page.route('http://evil.example/**', (route) =>
        route.fulfill({ contentType: 'text/html', body: `<iframe src="${merchant}/p/${project.id}"></iframe>` }),
      );
      await page.goto('http://evil.example/');
      const [, frame] = page.frames();
      await page.waitForLoadState();
      expect((await frame?.content())?.includes('root')).toBe(false);
      // It may open a window, but the opener policy puts that into another browsing context group.
      const [popup] = await Promise.all([
        context.waitForEvent('page'),
        page.evaluate(`void open(${JSON.stringify(merchant)})`),
      ]);
      await popup.waitForURL(`${merchant}/**`);
      expect(await popup.evaluate('window.opener === null')).toBe(true);
    } finally {
      await context.close();
    }
  });
}

const KEY = 'order-of-an-attacker';

/** Writes hostile text into every field that a caller controls. */
async function write(client: EnergyClient, receiver: string): Promise<void> {
  const body = { receive_address: receiver, energy: 65_000, duration_sec: 3600 };
  const labels = { reference: MARKUP.slice(0, 60), metadata: { [MARKUP.slice(0, 30)]: MARKUP, link: LINK } };
  await client.orders.create({ ...body, ...labels }, { idempotencyKey: KEY });
  await client.webhooks.create({ url: 'https://hooks.example.com/x?y=<img>', description: MARKUP });
}
