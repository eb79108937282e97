// An owner buys energy in the console and extends the rental: the cap first, then price, confirmation and delivery.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

const DELIVERY_LIMIT_MS = 60_000;
/** Folder for pictures of each step; none are taken without it. */
const PICTURES = process.env['PURCHASE_PICTURES'];
const LOOKS = [
  [390, 'light'],
  [390, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const;

export function purchases(at: () => ConsoleCluster, see: (view: View) => View): void {
  const url = (path: string): string => `${at().merchant}/p/${at().project.id}${path}`;
  const open = async (path: string): Promise<View> => see(await View.open(at(), url(path), { account: at().owner }));

  /** Checks the step at each width and in both colour schemes. */
  async function check(view: View, name: string): Promise<void> {
    for (const [width, colorScheme] of LOOKS) {
      await view.page.setViewportSize({ width, height: 800 });
      await view.page.emulateMedia({ colorScheme });
      expect([name, width, colorScheme, await view.axe(), await view.overflow()]).toEqual([
        ...[name, width, colorScheme],
        ...[[], 0],
      ]);
      if (PICTURES === undefined) continue;
      mkdirSync(PICTURES, { recursive: true });
      await view.page.screenshot({ path: join(PICTURES, `${name}-${width.toString()}-${colorScheme}.png`) });
    }
    await view.page.setViewportSize({ width: 1440, height: 900 });
    await view.page.emulateMedia({ colorScheme: 'light' });
  }

  it('an owner sets the cap, buys, sees the delivery, and extends the rental', async () => {
    const receiver = at().service.accounts[2]?.address ?? '';
    const view = await open('/orders');
    const { page } = view;
    await button(view, 'Buy energy').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Purchases in the console are off').waitFor();
    await check(view, 'off');
    await dialog.getByRole('link', { name: 'Set the cap' }).click();
    await view.heading('Project').waitFor();
    await field(view, 'Daily cap of the console, in dollars').fill('20');
    await button(view, 'Save the cap').click();
    await page.getByText('$20.00 per UTC day, $20.00 left today.').waitFor();
    await check(view, 'cap');

    await page.goto(url('/orders'));
    await button(view, 'Buy energy').click();
    await dialog.getByRole('textbox', { name: /^Receiver address/ }).fill('Tnobody');
    await button(view, 'Show the price').click();
    await dialog
      .getByRole('alert')
      .getByText(/receive_address: must be a TRON address/)
      .first()
      .waitFor();
    await dialog.getByRole('textbox', { name: /^Receiver address/ }).fill(receiver);
    await check(view, 'form');
    await button(view, 'Show the price').click();
    await page.getByRole('dialog', { name: 'Confirm the purchase' }).waitFor();
    const words = (await dialog.innerText()).replaceAll(/\s+/g, ' ');
    expect(words).toContain('65 000 energy for 1 h');
    expect(words.replaceAll(' ', '')).toContain(receiver);
    await check(view, 'confirm');

    // The first answer is lost on its way: the form tells so, and repeats its one purchase.
    const key = new URL(page.url()).searchParams.get('buy') ?? '';
    await page.route('**/purchases', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await route.fetch();
      return route.abort();
    });
    const confirm = dialog.getByRole('button', { name: /^Buy for \$/ });
    await confirm.click();
    await dialog
      .getByRole('alert')
      .getByText(/^It is not known if this was bought/)
      .waitFor();
    await page.unroute('**/purchases');
    await check(view, 'unknown');
    await confirm.click();
    await view.heading(`Order ${key}`).waitFor();
    await page.getByText(/^Delivered in .* ends in/).waitFor({ timeout: DELIVERY_LIMIT_MS });
    await page.getByText('Console purchases').first().waitFor();
    expect((await at().client.orders.get(key)).status).toBe('delivered');

    // The same form again, as in a second tab or after a reload, shows what it has bought.
    await page.goto(url(`/orders?buy=${key}`));
    await dialog.getByText('This form has already bought').waitFor();
    await check(view, 'bought');
    await dialog.getByRole('link', { name: 'Show the order' }).click();

    const extend = page.getByRole('button', { name: 'Extend now' });
    await extend.waitFor({ timeout: DELIVERY_LIMIT_MS });
    const before = (await at().client.orders.get(key)).ends_at ?? '';
    await extend.click();
    await page.getByRole('combobox', { name: 'Time to add' }).selectOption('1 h');
    await dialog.getByRole('button', { name: 'Show the price' }).click();
    await page.getByRole('dialog', { name: 'Confirm the extension' }).waitFor();
    await check(view, 'extend');
    await dialog.getByRole('button', { name: /^Extend for \$/ }).click();
    await dialog.waitFor({ state: 'detached' });
    const after = (await at().client.orders.get(key)).ends_at ?? '';
    expect(Date.parse(after) - Date.parse(before)).toBe(3_600_000);
  });

  it('a double click buys once', async () => {
    const { database, project } = at();
    const view = await open(`/orders?receiver=${at().service.accounts[2]?.address ?? ''}`);
    const { page } = view;
    const count = async (): Promise<number> => {
      const [row] = await database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM orders WHERE project_id = $1 AND key LIKE 'console%'`,
        [project.id],
      );
      return row?.count ?? 0;
    };
    const before = await count();
    await button(view, 'Buy energy').click();
    await button(view, 'Show the price').click();
    await page.getByRole('button', { name: /^Buy for \$/ }).dblclick();
    await page.getByRole('heading', { level: 1, name: /^Order console_/ }).waitFor();
    expect(await count()).toBe(before + 1);
  });

  it('a member sees no form', async () => {
    const account = await at().signUp('merchant', 'member', 'buyer@acme.example', at().project.id);
    const view = see(await View.open(at(), url('/orders'), { account }));
    await view.heading('Orders').waitFor();
    expect(await button(view, 'Buy energy').count()).toBe(0);
    await view.page.goto(url('/settings/project'));
    await view.page.getByText('Purchases in the console').first().waitFor();
    expect(await button(view, 'Save the cap').count()).toBe(0);
  });
}
