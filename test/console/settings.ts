// Settings that people change: names, a webhook's terms, e-mail notifications. Also an order page's notes on repeated
// requests and on its receiver.
import { until } from '../../packages/local/src/wait.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, UserInput, View, type By } from './view.js';

const ARRIVAL_LIMIT_MS = 60_000;

export function settings(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (path: string): Promise<View> => {
    const { merchant, owner: account, project } = at();
    return see(await View.open(at(), `${merchant}/p/${project.id}${path}`, { account }));
  };

  it.each<By>(['mouse', 'keyboard'])('a project is renamed by %s, everywhere at once', async (by) => {
    const view = await open('/settings/project');
    const { page } = view;
    const input = new UserInput(page, by);
    const [before, wanted] = by === 'mouse' ? ['Acme payouts', 'Acme & Söhne'] : ['Acme & Söhne', 'Acme payouts'];
    await page.locator('dd', { hasText: before }).first().waitFor();
    await input.press(page.getByRole('button', { name: 'Rename' }));
    const dialog = page.getByRole('dialog', { name: 'Rename project' });
    await dialog.waitFor();
    expect(await view.axe()).toEqual([]);
    await field(view, 'Name').fill('');
    await input.type(field(view, 'Name'), wanted);
    await input.press(button(view, 'Save name'));
    await dialog.waitFor({ state: 'detached' });
    await page.locator('dd', { hasText: wanted }).first().waitFor();
    const shell = page.getByText(wanted);
    await until(async () => ((await shell.count()) > 1 ? true : undefined), ARRIVAL_LIMIT_MS, 'the name in the rail');
    expect(await page.getByText(before, { exact: true }).count()).toBe(0);
  });

  it('a name is not saved while offline: the dialog tells so, keeps it, and saves it once connected', async () => {
    const view = await open('/integration/keys');
    const { page } = view;
    await page.getByRole('button', { name: 'Rename primary' }).click();
    await field(view, 'Name').fill('main');
    await view.offline(true);
    await button(view, 'Save name').click();
    expect(await page.getByRole('alert').innerText()).toContain('You are offline, so nothing was sent.');
    await view.offline(false);
    await button(view, 'Save name').click();
    await page.getByRole('button', { name: 'Rename main' }).waitFor();
  });

  it('a webhook’s address, events and purpose are changed on its page, and it is switched off and on', async () => {
    const view = await open('/integration/webhooks');
    const { page } = view;
    await button(view, 'Create webhook').click();
    await field(view, 'URL').fill('https://hooks.acme.example/energy');
    await page.getByRole('dialog').getByRole('button', { name: 'Create webhook' }).click();
    await view.page.getByRole('checkbox', { name: /^I have stored it/ }).check();
    await button(view, 'Done').click();
    await page.getByRole('link', { name: 'https://hooks.acme.example/energy' }).click();
    await view.heading('https://hooks.acme.example/energy').waitFor();
    await button(view, 'Change').click();
    await page.getByRole('dialog', { name: 'Change webhook' }).waitFor();
    expect(await view.axe()).toEqual([]);
    await field(view, 'Description').fill('the shop’s back office');
    const dialog = page.getByRole('dialog', { name: 'Change webhook' });
    await dialog.getByRole('checkbox', { name: /^All events/ }).uncheck();
    expect(await button(view, 'Save changes').getAttribute('aria-disabled')).toBe('true');
    for (const type of ['order.refunded', 'order.delivered'])
      await dialog.getByRole('checkbox', { name: type }).check();
    expect(await view.axe()).toEqual([]);
    await page.getByRole('checkbox', { name: /^Enabled/ }).uncheck();
    await button(view, 'Save changes').click();
    await page.getByText('the shop’s back office').waitFor();
    await page.getByText('order.delivered, order.refunded').waitFor();
    await page.getByText('Disabled', { exact: true }).waitFor();
    expect(await view.axe()).toEqual([]);
    await button(view, 'Change').click();
    await field(view, 'URL').fill('https://192.168.0.1/energy');
    await button(view, 'Save changes').click();
    await page.getByRole('alert').getByText('The webhook URL is not accepted').waitFor();
    await button(view, 'Cancel').click();
  });

  it('a delivery has a page with its body and answer, from which it is tried immediately', async () => {
    const view = await open('/integration/webhooks');
    const { page } = view;
    await button(view, 'Create webhook').click();
    await field(view, 'URL').fill('https://hooks.acme.example/deliveries');
    await page.getByRole('dialog').getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('checkbox', { name: /^I have stored it/ }).check();
    await button(view, 'Done').click();
    await page.getByRole('link', { name: 'https://hooks.acme.example/deliveries' }).click();
    await button(view, 'Send test event').click();
    await page.getByRole('link', { name: 'webhook.test' }).click();
    await view.heading('Delivery').waitFor();
    await page.getByText('"type":"webhook.test"').waitFor();
    await page.getByText('No answer yet.').waitFor();
    await at().database.query(
      `UPDATE webhook_delivery SET attempts = 1, attempted_at = now(), next_at = now() + interval '1 hour', answer_status = 503, answer = 'out of order'
        WHERE type = 'webhook.test'`,
    );
    await page.getByText('out of order').waitFor();
    await page.setViewportSize({ width: 390, height: 780 });
    expect([await view.overflow(), await view.axe()]).toEqual([0, []]);
    await button(view, 'Try now').click();
    const isDue = async (): Promise<true | undefined> => {
      const rows = await at().database.query(`SELECT FROM webhook_delivery WHERE is_requested AND next_at <= now()`);
      return rows.length > 0 ? true : undefined;
    };
    await until(isDue, ARRIVAL_LIMIT_MS, 'the delivery being due');
  });

  it('times are shown in local time, in UTC or both, as the browser remembers', async () => {
    const view = await open('/integration/keys');
    const { page } = view;
    await at().database.query(`UPDATE api_key SET last_used_at = now() WHERE id = $1`, [at().project.id]);
    await page.reload();
    const shown = page.getByRole('table').locator('time').first();
    const choose = (wanted: string) => page.getByRole('combobox', { name: 'Times' }).selectOption(wanted);
    expect(await shown.innerText()).toMatch(/E[SD]T.*UTC/);
    await choose('Local');
    expect(await shown.innerText()).toMatch(/E[SD]T\s*$/);
    await page.reload();
    expect(await shown.innerText()).toMatch(/E[SD]T\s*$/);
    expect(await view.axe()).toEqual([]);
    await choose('UTC');
    expect(await shown.innerText()).toMatch(/^\s*[\d: -]+ UTC\s*$/);
  });

  it('e-mail notifications are chosen, and the mail about an event comes over TLS', async () => {
    const view = await open('/settings/notifications');
    const { page } = view;
    const { owner, project, merchant, mail } = at();
    await view.heading('Notifications').waitFor();
    await page.getByText(`To ${owner.email}`).waitFor();
    expect(await view.axe()).toEqual([]);
    await page.getByRole('checkbox', { name: /^API keys/ }).check();
    await button(view, 'Save').click();
    await page.getByText('Saved.').waitFor();
    const keys = await open('/integration/keys');
    await button(keys, 'Create key').click();
    await field(keys, 'Name').fill('courier');
    await keys.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await keys.page.getByRole('dialog', { name: 'Secret of “courier”' }).waitFor();
    const noted = await until(
      () => mail.mails.find(({ text }) => text.includes('“courier”')),
      ARRIVAL_LIMIT_MS,
      'the mail about the key',
    );
    expect(noted.to).toEqual([owner.email]);
    // Follows the mail's links.
    const links = [...noted.text.matchAll(/http:\/\/\S+/g)].map(([link]) => link);
    expect(links).toEqual([
      `${merchant}/p/${project.id}/integration/keys`,
      `${merchant}/p/${project.id}/settings/notifications`,
    ]);
    await page.goto(links[1] ?? '');
    await page.getByRole('checkbox', { name: /^API keys/ }).waitFor();
    expect(await page.getByRole('checkbox', { name: /^API keys/ }).isChecked()).toBe(true);
    await button(view, 'Select none').click();
    await view.offline(true);
    await button(view, 'Save').click();
    expect(await page.getByRole('alert').innerText()).toContain('You are offline, so nothing was sent.');
    await view.offline(false);
    await button(view, 'Save').click();
    await page.getByText('Saved. You get no e-mails.').waitFor();
  });

  it('without a mail server, the page tells so and shows what to do instead', async () => {
    const view = see(await View.open(at(), `${at().operator}/notifications`, { account: at().admin }));
    await view.page.getByText('E-mail is not set up here').waitFor();
    expect(await view.page.getByRole('checkbox').first().isDisabled()).toBe(true);
    expect(await view.axe()).toEqual([]);
  });

  it('an order’s page shows how often its request was repeated, and what its receiver could use', async () => {
    const { client, service } = at();
    const key = 'asked-again';
    await at().order(key, 'delivered');
    const body = { receive_address: service.accounts[2]?.address ?? '', energy: 65_000, duration_sec: 3600 };
    await client.orders.create(body, { idempotencyKey: key });
    const view = await open(`/orders/${key}`);
    const { page } = view;
    await page.getByText('Usable energy of the receiver').waitFor();
    await until(
      async () => {
        await page.reload();
        await page.getByText('Repeated requests', { exact: true }).waitFor();
        const isShown = [/The request was repeated/, /read from a node at block/].map((words) => page.getByText(words));
        for (const shown of isShown) if ((await shown.count()) === 0) return undefined;
        return true;
      },
      ARRIVAL_LIMIT_MS,
      'the replay and the reading being shown',
      1000,
    );
    expect(await view.axe()).toEqual([]);
  });
}
