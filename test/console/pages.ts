// Features of all pages: addresses that identify one object, the mark of a test project, and messages on failure.
import { until } from '../../packages/local/src/wait.js';
import type { ConsoleCluster } from './cluster.js';
import { button, View } from './view.js';

const ORDER_LIMIT_MS = 30_000;
const KEYS = ['50%off', 'a%2Fb', 'a b', 'a/b', 'a.b', '%', '%25'];

export function pages(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (path: string): Promise<View> => {
    const { merchant, owner: account, project } = at();
    return see(await View.open(at(), `${merchant}/p/${project.id}${path}`, { account }));
  };

  it('an order of any key opens from the list, by its address and by a search', async () => {
    const receiver = at().service.accounts[2]?.address ?? '';
    const body = { receive_address: receiver, energy: 65_000, duration_sec: 3600 };
    for (const key of KEYS) {
      await until(
        () =>
          at()
            .client.orders.create(body, { idempotencyKey: key })
            .catch(() => undefined),
        ORDER_LIMIT_MS,
        `the order ${key} being taken`,
      );
    }
    const view = await open('/orders');
    const { page } = view;
    const shown = async (key: string): Promise<void> => {
      await page.getByRole('heading', { level: 1, name: `Order ${key}`, exact: true }).waitFor();
      await page.locator('.order-sentence').waitFor();
    };
    for (const key of KEYS) {
      await page.getByRole('link', { name: key, exact: true }).click();
      await shown(key);
      await page.reload();
      await shown(key);
      await page.goBack();
      await view.heading('Orders').waitFor();
    }
    for (const key of ['50%off', 'a%2Fb']) {
      await page.getByRole('searchbox').fill(key);
      await page.keyboard.press('Enter');
      await shown(key);
    }
    // No order has these keys, but an address may.
    for (const [path, key] of [
      [encodeURIComponent('ä?#'), 'ä?#'],
      ['50%off-by-hand', '50%off-by-hand'],
    ]) {
      await page.goto(`${at().merchant}/p/${at().project.id}/orders/${path ?? ''}`);
      await page.getByRole('heading', { level: 1, name: `Order ${key ?? ''}`, exact: true }).waitFor();
    }
  });

  it('orders are filtered by what they do, and each address stays on one line at any width', async () => {
    await at().order('running-now', 'delivered');
    const view = await open('/orders');
    const { page } = view;
    const link = page.getByRole('link', { name: 'running-now' });
    await page.getByRole('combobox', { name: 'Phase' }).selectOption('Running');
    await button(view, 'Apply').click();
    await page.waitForURL(/state=running/);
    await link.waitFor();
    const csv = page.getByRole('link', { name: 'CSV of these orders' });
    expect(await csv.getAttribute('href')).toMatch(/orders\.csv\?state=running$/);
    const address = page.locator('.groups-line .groups-text').first();
    for (const width of [1440, 1280, 1024, 768, 390, 320]) {
      await page.setViewportSize({ width, height: 900 });
      const lines = await address.evaluate(
        (text) => new Set([...text.children].map((group) => group.getBoundingClientRect().top)).size,
      );
      expect([width, lines, await view.overflow()]).toEqual([width, 1, 0]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    for (const state of ['Ended', 'Needs attention']) {
      await page.getByRole('combobox', { name: 'Phase' }).selectOption(state);
      await button(view, 'Apply').click();
      await link.waitFor({ state: 'detached' });
    }
  });

  it('the first reads of a page count as use of the session, and its repeated reads, by time or for an event, do not', async () => {
    const { merchant, operator, owner, admin, project } = at();
    const own = `${merchant}/p/${project.id}`;
    const places = [
      { account: owner, idle: `${own}/settings/project`, url: own, path: `/api/projects/${project.id}/home` },
      {
        account: owner,
        idle: `${own}/settings/project`,
        url: `${own}/auto-delegation`,
        path: `/api/projects/${project.id}/auto-delegations`,
      },
      { account: admin, idle: `${operator}/pool`, url: operator, path: '/api/operator/home' },
    ];
    const reads = await Promise.all(
      places.map(async ({ account, idle, url, path }) => {
        const { page } = see(await View.open(at(), idle, { account }));
        const areUse: boolean[] = [];
        page.on('request', (request) => {
          if (new URL(request.url()).pathname === path) areUse.push(request.headers()['x-background'] === undefined);
        });
        await page.goto(url);
        await until(() => (areUse.length > 0 ? true : undefined), ORDER_LIMIT_MS, `${path} being read`);
        return areUse;
      }),
    );
    await at().order('repeated', 'delivered');
    await until(
      () => (reads.every(({ length }) => length > 1) ? true : undefined),
      ORDER_LIMIT_MS,
      'all being read again',
    );
    for (const [first, ...again] of reads) expect([first, again.includes(true)]).toEqual([true, false]);
  });

  it('a page that fails tells so, and the others still open', async () => {
    const view = await open('/orders');
    const { page } = view;
    await view.heading('Orders').waitFor();
    const gate = { isShut: true };
    await page.route('**/api/projects/*/keys', async (route) => {
      if (!gate.isShut) await route.continue();
      else await route.fulfill({ contentType: 'application/json', body: '{"items":[null]}' });
    });
    await page.getByRole('link', { name: 'Integration' }).first().click();
    await view.heading('Something went wrong').waitFor();
    expect(await view.axe()).toEqual([]);
    await page.getByRole('link', { name: 'Orders' }).first().click();
    await view.heading('Orders').waitFor();
    await page.getByRole('link', { name: 'Integration' }).first().click();
    await view.heading('Something went wrong').waitFor();
    await page.getByRole('link', { name: 'Go to the home page' }).click();
    await view.heading('Home').waitFor();
    gate.isShut = false;
    await page.getByRole('link', { name: 'Integration' }).first().click();
    await button(view, 'Try again').click();
    await view.heading('Keys').waitFor();
  });

  it('every page of a project has its state, the API’s address and documentation, and the operator’s contact', async () => {
    const { api, project } = at();
    for (const path of ['', '/orders', '/integration/keys', '/billing/statements']) {
      const view = await open(path);
      const { page } = view;
      const foot = page.getByRole('contentinfo');
      await foot.getByText(api, { exact: true }).waitFor();
      expect(await foot.getByRole('link', { name: 'API documentation' }).getAttribute('href')).toBe(`${api}/docs`);
      const contact = foot.getByRole('link', { name: 'Contact the operator' });
      expect(await contact.getAttribute('href')).toBe('mailto:help@energy.example');
      await page.locator('.project-state', { hasText: 'Live' }).waitFor();
      expect(await page.getByRole('combobox', { name: 'Project' }).locator('option:checked').textContent()).toBe(
        project.name,
      );
      await page.setViewportSize({ width: 390, height: 780 });
      expect([path, await view.overflow(), await view.axe()]).toEqual([path, 0, []]);
      await view.close();
    }
    const view = await open('/orders');
    await view.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: at().merchant });
    await view.page.getByRole('button', { name: 'Copy: API' }).click();
    expect(await view.page.evaluate('navigator.clipboard.readText()')).toBe(api);
  });

  it('a frozen project is marked as such', async () => {
    const made = await at().service.cli('project', 'create', '--name', 'Cold');
    const id = String(made['merchant']);
    const account = await at().signUp('merchant', 'owner', 'cold@acme.example', id);
    await at().service.cli('project', 'freeze', id);
    const { page } = see(await View.open(at(), `${at().merchant}/p/${id}/orders`, { account }));
    await page.locator('.project-state', { hasText: 'Frozen' }).waitFor();
  });

  it('a test project is marked on each of its pages, and has no address to pay to', async () => {
    const made = await at().service.cli('project', 'create', '--test', '--name', 'Played');
    const id = String(made['merchant']);
    const account = await at().signUp('merchant', 'owner', 'played@acme.example', id);
    const view = see(await View.open(at(), `${at().merchant}/p/${id}`, { account }));
    const { page } = view;
    await view.heading('Home').waitFor();
    await page.locator('.test-ribbon').waitFor();
    await page.locator('.project-state', { hasText: 'Test' }).waitFor();
    expect(await view.axe()).toEqual([]);
    const seen = see(await View.open(at(), `${at().operator}/p/${id}/orders`, { account: at().admin }));
    await seen.page.locator('.test-ribbon').waitFor();
    await page.goto(`${at().merchant}/p/${id}/billing/top-up`);
    await page.getByText('A test project has no deposit address').waitFor();
    await page.goto(`${at().merchant}/p/${id}/auto-delegation`);
    await page.getByText('Test projects have no auto-delegations').waitFor();
    expect(await page.locator('.test-ribbon').innerText()).toContain('TEST PROJECT');
  });
}
