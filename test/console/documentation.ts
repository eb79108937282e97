// The documentation that the API serves, in a browser: narrow and wide, light and dark, with search and copy buttons.
import type { ConsoleCluster } from './cluster.js';
import { View } from './view.js';

const PAGE_BYTES_MAX = 150 * 1024;
/** Searches of merchants, each with a page that must be among the results. */
const SEARCHES: readonly (readonly [string, string])[] = [
  ['OUT_OF_ENERGY', 'faq'],
  ['idempotency', 'retries'],
  ['signature 401', 'check-your-signature'],
  ['nonce', 'signing'],
  ['webhook', 'events'],
  ['fee limit', 'faq'],
  ['131,000', 'faq'],
  ['top up', 'paying-in'],
  ['INSUFFICIENT_CREDITS', 'errors'],
  ['quote_ref', 'api-create-order'],
  ['expected_uses', 'api-create-quote'],
  ['wake', 'api-wake-auto-delegation'],
  ['rotate', 'api-rotate-webhook-secret'],
  ['statement', 'api-list-statements'],
  ['refund', 'interface-orders'],
  ['test project', 'rehearse-the-bad-days'],
  ['duration', 'how-long'],
  ['burn', 'why-did-it-burn'],
  ['checklist', 'going-live'],
  ['ledger', 'glossary'],
];

export function documentation(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (path: string, width: number, theme: 'light' | 'dark'): Promise<View> =>
    see(await View.open(at(), `${at().api}${path}`, { width, theme }));

  it.each([
    [390, 'light'],
    [390, 'dark'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const)('no page scrolls sideways or is heavy at %i px, %s, and axe finds nothing', async (width, theme) => {
    const view = await open('/docs', width, theme);
    const paths = await view.page
      .locator('nav a')
      .evaluateAll((links) =>
        links.map((link) => (link as unknown as { getAttribute(name: string): string }).getAttribute('href')),
      );
    expect(paths.length).toBeGreaterThan(50);
    const listed = await (await fetch(`${at().api}/docs/llms.txt`)).text();
    const pages = [...listed.matchAll(/\/docs\/([\w-]+)\.md/g)].map(([, name = '']) => `/docs/${name}`);
    expect([...paths].sort()).toEqual([...new Set(pages)].sort());
    for (const path of ['/docs', ...paths]) {
      const answer = await view.page.goto(`${at().api}${path}`);
      expect([path, (await answer!.body()).length < PAGE_BYTES_MAX]).toEqual([path, true]);
      const overflow = await view.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([path, Number(overflow) <= 0]).toEqual([path, true]);
    }
    for (const path of ['/docs', '/docs/first-order', '/docs/api-create-order']) {
      await view.page.goto(`${at().api}${path}`);
      expect([path, await view.axe()]).toEqual([path, []]);
    }
  });

  it('the search finds the page of each of twenty terms, and leads there', async () => {
    const view = await open('/docs/first-order', 1280, 'light');
    const box = view.page.getByRole('searchbox');
    for (const [term, page] of SEARCHES) {
      await box.fill(term);
      await view.page.locator(`#hits a[href^="/docs/${page}"]`).first().waitFor();
    }
    await view.page.locator('#hits a[href^="/docs/glossary"]').first().click();
    await view.heading('Glossary').waitFor();
    await view.page.getByRole('searchbox').fill('nothing-has-this-word');
    await view.page.getByText('Nothing found.').waitFor();
  });

  it('a copy button copies the block without its own label', async () => {
    const view = await open('/docs/first-order', 1280, 'light');
    await view.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: at().api });
    const block = view.page.locator('pre').first();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await view.page.evaluate('navigator.clipboard.readText()');
    expect(copied).toMatch(/^mkdir shop/);
    expect(copied).not.toContain('Copy');
  });
}
