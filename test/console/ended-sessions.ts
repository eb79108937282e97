// A session that ends while its page is in use: no input is lost, and a purchase is made once.
import type { Locator } from 'playwright-core';
import { codesOf, PASSWORD } from '../support/console/console-fixture.js';
import type { Account, ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

export function endedSessions(at: () => ConsoleCluster, see: (view: View) => View): void {
  let accounts = 0;
  const owner = async (): Promise<Account> => {
    accounts += 1;
    return at().signUp('merchant', 'owner', `ended-${accounts.toString()}@acme.example`, at().project.id);
  };

  /** Ends every session of the account, as its owner does from another device. */
  const end = async ({ email }: Account): Promise<void> => {
    await at().database.query(
      `DELETE FROM console_session WHERE person_id = (SELECT id FROM person WHERE email = $1)`,
      [email],
    );
  };

  /** Signs in above the page after its session ended. */
  const signIn = async ({ page }: View, { email, secret }: Account): Promise<void> => {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    await at().database.query(`UPDATE person SET totp_step = 0 WHERE email = $1`, [email]);
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Six-digit code' }).fill(codesOf(secret)());
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.waitFor({ state: 'detached' });
  };

  const orders = async (): Promise<number> => {
    const [row] = await at().database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM orders WHERE project_id = $1 AND key LIKE 'console%'`,
      [at().project.id],
    );
    return row?.count ?? 0;
  };

  const KEPT: readonly [string, 'merchant' | 'operator', string, (view: View) => Promise<Locator>][] = [
    ['/security', 'merchant', 'Security', async ({ page }) => Promise.resolve(page.getByLabel('New password'))],
    [
      '/p/PROJECT/settings/project',
      'merchant',
      'Project',
      async (view) => Promise.resolve(field(view, 'Daily cap of the console, in dollars')),
    ],
    [
      '/p/PROJECT/orders',
      'merchant',
      'Orders',
      async (view) => {
        await button(view, 'Buy energy').click();
        return view.page.getByRole('dialog').getByRole('textbox', { name: /^Receiver address/ });
      },
    ],
    [
      '/pricing',
      'operator',
      'Pricing',
      async (view) => {
        await button(view, 'Add a row').click();
        return field(view, 'Sun per energy');
      },
    ],
  ];
  it.each(KEPT)('keeps the input of %s (%s)', async (path, audience, heading, inputOf) => {
    const account =
      audience === 'merchant' ? await owner() : await at().signUp('operator', 'admin', 'ended@energy.example');
    const view = see(
      await View.open(at(), `${at()[audience]}${path.replace('PROJECT', at().project.id)}`, { account }),
    );
    await view.heading(heading).waitFor();
    const input = await inputOf(view);
    await input.fill('12');
    await end(account);
    await signIn(view, account);
    await view.heading(heading).waitFor();
    expect(await input.inputValue()).toBe('12');
  });

  it('repeats an action once after the sign-in, if the session ends while its second factor is asked again', async () => {
    const account = await owner();
    const url = `${at().merchant}/p/${at().project.id}/settings/project`;
    const again = see(await View.open(at(), url, { account, agoSec: 3600 }));
    await field(again, 'Daily cap of the console, in dollars').fill('30');
    await button(again, 'Save the cap').click();
    await again.page.getByRole('dialog', { name: 'Confirm your identity' }).waitFor();
    await end(account);
    await signIn(again, account);
    await again.page.getByText(/^\$30\.00 per UTC day/).waitFor();
  });

  it.each(['before', 'after'] as const)(
    'a purchase is made once if it ends %s the request is executed',
    async (when) => {
      const account = await owner();
      const view = see(await View.open(at(), `${at().merchant}/p/${at().project.id}/orders`, { account }));
      const { page } = view;
      const before = await orders();
      await button(view, 'Buy energy').click();
      const dialog = page.getByRole('dialog', { name: /^(?:Buy energy|Confirm the purchase)$/ });
      await dialog.getByRole('textbox', { name: /^Receiver address/ }).fill(at().service.accounts[2]?.address ?? '');
      await button(view, 'Show the price').click();
      await page.getByRole('dialog', { name: 'Confirm the purchase' }).waitFor();
      await page.route('**/purchases', async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        if (when === 'before') {
          await end(account);
          return route.continue();
        }
        await route.fetch();
        await end(account);
        return route.abort();
      });
      await dialog.getByRole('button', { name: /^Buy for \$/ }).click();
      await signIn(view, account);
      await page.unroute('**/purchases');
      // A form that has bought shows its order instead of buying again.
      if (when === 'before') await dialog.getByRole('button', { name: /^Buy for \$/ }).click();
      else await page.getByRole('link', { name: 'Show the order' }).click();
      await page.getByRole('heading', { level: 1, name: /^Order console_/ }).waitFor();
      expect(await orders()).toBe(before + 1);
    },
  );
}
