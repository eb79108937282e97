// A failing webhook as its owner meets it: the warning, the delivery with the answer, and another try once it is mended.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { until } from '../../packages/local/src/wait.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

const ARRIVAL_LIMIT_MS = 120_000;

export function webhooks(at: () => ConsoleCluster, see: (view: View) => View): void {
  it(
    'a failing webhook is on the home page at its third failure, and is delivered once it works',
    async () => {
      const { service, merchant, hooksPort, project, owner: account } = at();
      const state = { answers: 503 };
      const hook = createServer((_request, response) => {
        response.writeHead(state.answers).end(state.answers === 503 ? 'the shop is closed' : '');
      });
      hook.listen(hooksPort, '127.0.0.1');
      await once(hook, 'listening');
      const sender = await service.startSender();
      try {
        const url = `http://127.0.0.1:${hooksPort.toString()}/energy`;
        const home = `${merchant}/p/${project.id}`;
        const view = see(await View.open(at(), `${home}/integration/webhooks`, { account }));
        const { page } = view;
        await button(view, 'Create webhook').click();
        await field(view, 'URL').fill(url);
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('checkbox', { name: /^All events/ }).uncheck();
        await dialog.getByRole('checkbox', { name: 'order.delivered' }).check();
        await dialog.getByRole('button', { name: 'Create webhook' }).click();
        await page.getByRole('checkbox', { name: /^I have stored it/ }).check();
        await button(view, 'Done').click();
        await at().order('for-the-webhook', 'delivered');
        await page.getByRole('link', { name: url }).click();
        await page.getByRole('table').getByRole('link', { name: 'order.delivered' }).first().click();
        await view.heading('Delivery').waitFor();
        await page.getByText('the shop is closed').waitFor();
        await page.getByRole('link', { name: 'for-the-webhook' }).waitFor();
        expect(await view.axe()).toEqual([]);

        const delivery = page.url();
        // Without its path, which may be a secret.
        const warning = page.getByText(`${new URL(url).origin}/… failed at its last three attempts or more`);
        const isWarned = async (): Promise<true | undefined> => {
          await page.goto(delivery);
          await button(view, 'Try now').click();
          await page.goto(home);
          await view.heading('Home').waitFor();
          await page.getByRole('heading', { name: 'Running rentals' }).waitFor();
          return (await warning.count()) > 0 ? true : undefined;
        };
        await until(isWarned, ARRIVAL_LIMIT_MS, 'the warning on the home page', 500);
        expect(await view.axe()).toEqual([]);
        await page.getByRole('link', { name: 'See the deliveries' }).first().click();
        await view.heading('Webhooks').waitFor();

        state.answers = 204;
        await page.goto(delivery);
        await button(view, 'Try now').click();
        await page.getByText('Delivered', { exact: true }).first().waitFor({ timeout: ARRIVAL_LIMIT_MS });
        await page.goto(home);
        await page.getByRole('heading', { name: 'Running rentals' }).waitFor();
        expect(await warning.count()).toBe(0);
      } finally {
        await sender.stop();
        hook.closeAllConnections();
        hook.close();
      }
    },
    3 * ARRIVAL_LIMIT_MS,
  );
}
