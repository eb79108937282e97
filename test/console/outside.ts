// Pages in real conditions: a browser that translates them, and amounts typed in many ways.
import type { Page } from 'playwright-core';
import { randomUUID } from 'node:crypto';
import { until } from '../../packages/local/src/wait.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

const END_LIMIT_MS = 240_000;
/** Chain time, ten times as fast as the clock: a slow browser still shows the page before the rental ends. */
const RENTAL_SEC = 900;
/** Dollar amounts that are ambiguous, meaningless or too large. */
const NO_DOLLARS = ['12,500', '1.000,50', '1.000', '900719926', '9'.repeat(40), 'five', '-5', '1e9'];
/** The same for whole numbers. */
const NO_WHOLE = ['65.000', '1.5', '9007199254740993', '9'.repeat(40), 'many', '-1', '1e9'];

/** Wraps each present and later text in new elements, as translating browsers do. */
async function translate(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const wrap = (root) => {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      const texts = [];
      for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) texts.push(text);
      for (const text of texts) {
        if (text.nodeValue.trim() === '' || text.parentElement?.closest('font, script, style, textarea')) continue;
        const outer = document.createElement('font');
        const inner = outer.appendChild(document.createElement('font'));
        inner.textContent = text.nodeValue;
        text.replaceWith(outer);
      }
    };
    wrap(document.body);
    new MutationObserver(() => wrap(document.body)).observe(document.body, { childList: true, subtree: true, characterData: true });
  })()`);
}

export function outside(at: () => ConsoleCluster, see: (view: View) => View): void {
  const asOwner = async (path: string): Promise<View> => {
    const { merchant, owner: account, project } = at();
    return see(await View.open(at(), `${merchant}/p/${project.id}${path}`, { account }));
  };
  const asAdmin = async (path: string): Promise<View> => {
    const { operator, admin: account } = at();
    return see(await View.open(at(), `${operator}${path}`, { account }));
  };

  it(
    'a translated page goes on showing changes',
    async () => {
      const { client, service } = at();
      const home = await asOwner('');
      const key = `translated-${randomUUID()}`;
      const receiver = service.accounts[2]?.address ?? '';
      await client.orders.create(
        { receive_address: receiver, energy: 65_000, duration_sec: RENTAL_SEC },
        { idempotencyKey: key },
      );
      await client.orders.wait(key, { timeoutMs: END_LIMIT_MS });
      const order = await asOwner(`/orders/${key}`);
      await order.page.getByText(/^Delivered in .* ends in/).waitFor();
      await home.page.getByRole('table').first().waitFor();
      await translate(order.page);
      await translate(home.page);
      const balance = (): Promise<string> => home.page.locator('.amount-usd').first().innerText();
      const before = await balance();
      await order.page.locator('.status', { hasText: 'Ended' }).first().waitFor({ timeout: END_LIMIT_MS });
      expect(await order.page.locator('.status', { hasText: 'Delivered' }).count()).toBe(0);
      await client.orders.create({ receive_address: receiver, energy: 65_000, duration_sec: 60 });
      const isNew = async (): Promise<true | undefined> => ((await balance()) === before ? undefined : true);
      await until(isNew, END_LIMIT_MS, 'a balance without the price of the order', 200);
      // A page that React could not update would show its error page instead.
      for (const { page } of [order, home]) await page.getByRole('heading', { level: 1 }).waitFor();
    },
    2 * END_LIMIT_MS,
  );

  /** Types each text into the field and expects the page to stay and explain the refusal. */
  async function typeInto(view: View, label: string | RegExp, texts: readonly string[]): Promise<void> {
    const input = field(view, label);
    await input.waitFor();
    const before = await input.inputValue();
    for (const text of texts) {
      await input.fill(text);
      const ids = (await input.getAttribute('aria-describedby'))?.split(' ').filter((id) => id !== '') ?? [];
      const says = await Promise.all(ids.map((id) => view.page.locator(`[id="${id}"]`).innerText()));
      const described = [await input.getAttribute('aria-invalid'), ...says].join(' ');
      expect([label, text, described]).toEqual([label, text, expect.stringMatching(/^true .*\S\.?/)]);
    }
    expect(view.faults).toEqual([]);
    await input.fill(before);
  }

  it('an amount field of merchants refuses what is ambiguous or too large, and no page is lost', async () => {
    const auto = await asOwner('/auto-delegation');
    await button(auto, 'Add an auto-delegation').click();
    await typeInto(auto, /^Energy to keep/, NO_WHOLE);
    await typeInto(auto, /^Daily cap/, NO_DOLLARS);
    await auto.page.locator('summary').first().click();
    await typeInto(auto, /^Refill below/, NO_WHOLE);
    await typeInto(auto, /^Maximum price/, NO_WHOLE);
    const keys = await asOwner('/integration/keys');
    await button(keys, 'Create key').click();
    await typeInto(keys, /^Daily cap/, NO_DOLLARS);
    const options = await asOwner('/settings/project');
    await typeInto(options, 'Daily cap, in dollars', NO_DOLLARS);
    await typeInto(options, /^Daily cap of the console/, NO_DOLLARS);
    await typeInto(options, /^Low balance warning/, NO_DOLLARS);
    const playground = await asOwner('/integration/playground');
    await typeInto(playground, 'Energy', NO_WHOLE);
    await typeInto(playground, 'Duration in hours', [...NO_WHOLE, '0', '8761']);
  });

  it('an amount field of operators refuses what is ambiguous or too large, and no page is lost', async () => {
    const projects = await asAdmin('/projects');
    await button(projects, `Book credits ${at().project.name}`).click();
    await typeInto(projects, 'Amount in dollars', [...NO_DOLLARS, '0']);
    // The largest amount plus the existing balance exceeds the maximum. The page still shows it.
    await field(projects, 'Amount in dollars').fill('900719925.47');
    await projects.page.getByRole('dialog').waitFor();
    const fresh = await asAdmin('/projects/new');
    await fresh.page.getByRole('radio', { name: /^Postpaid/ }).click();
    await typeInto(fresh, 'Debt limit in dollars', NO_DOLLARS);
    const pricing = await asAdmin('/pricing');
    await button(pricing, 'Add a row').click();
    await typeInto(pricing, 'Duration up to, in hours', [...NO_WHOLE, '0']);
    await typeInto(pricing, 'Sun per energy', [...NO_WHOLE, '0']);
  });
}
