// An outage as an operator meets it: every node fails, the console says so on each page, and sales go on afterwards.
import type { ConsoleCluster } from './cluster.js';
import { View } from './view.js';

/** Sales stop when the last reading of the chain is a minute old. */
const OUTAGE_LIMIT_MS = 300_000;
const SAYS =
  /^Nothing is being sold: no node has answered.* since \d{4}-\d\d-\d\d \d\d:\d\d UTC\. Check that the nodes of TRON_FULL_NODE_URLS run/;

export function outages(at: () => ConsoleCluster, see: (view: View) => View): void {
  it(
    'while no node answers, every page says since when nothing is sold and what to do, and later no longer',
    async () => {
      const view = see(await View.open(at(), `${at().operator}/pool`, { account: at().admin }));
      const { page } = view;
      const bar = page.getByRole('status').getByText(SAYS);
      await at().withoutNodes(async () => {
        await bar.waitFor({ timeout: OUTAGE_LIMIT_MS });
        await page.setViewportSize({ width: 390, height: 780 });
        expect([await view.overflow(), await view.axe()]).toEqual([0, []]);
        await page.setViewportSize({ width: 1440, height: 900 });
        await page.goto(`${at().operator}/inbox`);
        await page.getByText(/^Fault: Nothing is being sold: no node has answered/).waitFor();
        await page.getByText('npm run -s cli -- doctor').first().waitFor();
        expect(await page.getByText('Start a worker').count()).toBe(0);
        await page.goto(`${at().operator}/`);
        await bar.waitFor();
        await page.getByText('Margin').first().waitFor();
        expect(await page.getByText(/sold out in/i).count()).toBe(0);
        await page.goto(`${at().operator}/p/${at().project.id}/orders`);
        await bar.waitFor();
      });
      await bar.waitFor({ state: 'detached', timeout: OUTAGE_LIMIT_MS });
      await at().order('after-the-outage', 'delivered');
    },
    3 * OUTAGE_LIMIT_MS,
  );
}
