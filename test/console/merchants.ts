// Merchants' tasks from start to end: rotating a key, topping up credits, an order's proof, the reason of a refund.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HmacCustomer } from '../support/api/client.js';
import { codesOf, PASSWORD } from '../support/console/console-fixture.js';
import { until } from '../../packages/local/src/wait.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, UserInput, View, type By } from './view.js';

const run = promisify(execFile);
const ORDER_FINAL_LIMIT_MS = 30_000;
const ARRIVAL_LIMIT_MS = 60_000;
const FEE_LIMIT_SUN = 100_000_000;

export function merchants(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (path: string): Promise<View> => {
    const { merchant, owner: account, project } = at();
    return see(await View.open(at(), `${merchant}/p/${project.id}${path}`, { account }));
  };
  const works = async (secret: string): Promise<boolean> =>
    (await new HmacCustomer(at().api, at().project.id, secret).get('/v1/orders')).status === 200;

  describe.each<By>(['mouse', 'keyboard'])('a key, by %s', (by) => {
    it('is created, rotated while both secrets work, and revoked', async () => {
      const name = `payouts by ${by}`;
      const view = await open('/integration/keys');
      const input = new UserInput(view.page, by);
      const { page } = view;
      await view.heading('Keys').waitFor();
      await input.press(button(view, 'Create key'));
      await input.type(field(view, 'Name'), name);
      await input.press(page.getByRole('dialog').getByRole('button', { name: 'Create key' }));
      const first = await secretOf(view, input);
      expect(await works(first)).toBe(true);

      await at().database.query(`UPDATE api_key SET last_used_at = clock_timestamp() WHERE name = $1`, [name]);
      await input.press(page.getByRole('button', { name: `Rotate ${name}` }));
      const dialog = page.getByRole('dialog', { name: `Rotate “${name}”` });
      await dialog.getByText('This key created no webhooks').waitFor();
      expect(await view.axe()).toEqual([]);
      await dialog.getByText('This key was used in the last 24 hours.').waitFor();
      expect(await dialog.getByRole('radio', { name: /^1 hour/ }).isChecked()).toBe(true);
      await input.choose(dialog.getByRole('radio', { name: /^24 hours/ }), dialog);
      await input.press(dialog.getByRole('button', { name: 'Create new secret' }));
      await page.getByText('The old secret stays valid until').last().waitFor();
      expect(await view.axe()).toEqual([]);
      const second = await secretOf(view, input);
      expect([second === first, await works(first), await works(second)]).toEqual([false, true, true]);

      await input.press(page.getByRole('button', { name: `Revoke ${name}` }));
      await input.type(field(view, /^Type/), name);
      await input.press(page.getByRole('button', { name: 'Revoke permanently' }));
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await until(async () => ((await works(second)) ? undefined : true), ARRIVAL_LIMIT_MS, 'the key being refused');
      expect(await works(first)).toBe(false);
    });
  });

  it('an unused key has a day of overlap preselected', async () => {
    const view = await open('/integration/keys');
    const { page } = view;
    await button(view, 'Create key').click();
    await field(view, 'Name').fill('unused');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await secretOf(view, new UserInput(page, 'mouse'));
    await page.getByRole('button', { name: 'Rotate unused' }).click();
    expect(await page.getByRole('radio', { name: /^24 hours/ }).isChecked()).toBe(true);
  });

  it('a key is not rotated while offline: the dialog tells so, and rotates it once connected', async () => {
    const view = await open('/integration/keys');
    await button(view, 'Create key').click();
    await field(view, 'Name').fill('offline');
    await view.offline(true);
    const make = view.page.getByRole('dialog').getByRole('button', { name: 'Create key' });
    await make.click();
    expect(await view.page.getByRole('alert').innerText()).toContain('You are offline, so nothing was sent.');
    await view.page.getByText('This page may be out of date').waitFor();
    await view.offline(false);
    await make.click();
    await view.page.getByRole('dialog', { name: 'Secret of “offline”' }).waitFor();
  });

  it('ten minutes after the password was given, an act asks for it again and then goes on', async () => {
    const account = await at().signUp('merchant', 'owner', 'again@acme.example', at().project.id);
    const url = `${at().merchant}/p/${at().project.id}/integration/keys`;
    const view = see(await View.open(at(), url, { account }));
    const { page } = view;
    await at().freshen(account, 660);
    await button(view, 'Create key').click();
    await field(view, 'Name').fill('a second one');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const again = page.getByRole('dialog', { name: 'Confirm your identity' });
    await again.waitFor();
    expect(await view.axe()).toEqual([]);
    await at().database.query(`UPDATE person SET totp_step = 0 WHERE email = $1`, [account.email]);
    await again.locator('input[type=password]').fill(PASSWORD);
    await again.getByLabel(/^Six-digit code/).fill(codesOf(account.secret)());
    await again.getByRole('button', { name: 'Confirm and continue' }).click();
    await page.getByRole('dialog', { name: 'Secret of “a second one”' }).waitFor();
  });

  it('a read that fails is shown with its request id, and is repeated once it can succeed', async () => {
    const view = await open('/orders');
    await view.heading('Orders').waitFor();
    const gate = { isShut: true };
    await view.page.route('**/keys', async (route) => {
      if (!gate.isShut) await route.continue();
      else await route.fulfill({ status: 503, headers: { 'x-request-id': 'req_of_the_proxy' }, body: '' });
    });
    await view.page.getByRole('link', { name: 'Integration' }).first().click();
    const alert = view.page.getByRole('alert');
    await alert.waitFor();
    expect(await view.axe()).toEqual([]);
    gate.isShut = false;
    await button(view, 'Try again').click();
    await view.page.getByRole('table').waitFor();
  });

  it('a top-up shows as it comes and when it is credited, without a reload', async () => {
    const view = await open('/billing/top-up');
    const { page } = view;
    await page.getByText('No deposits yet.').waitFor();
    const balance = page.locator('.big-figure .amount-usd');
    const before = await balance.innerText();
    const address = (await page.locator('.deposit-address-text').innerText()).replaceAll(/\s/g, '');
    expect(address).toMatch(/^T\w{33}$/);
    expect(await view.axe()).toEqual([]);
    const { service } = at();
    await service.wallet.transferToken(service.token, service.accounts[0]!, address, 150_000_000n, FEE_LIMIT_SUN);
    await page.getByRole('table').getByText('150.00 USDT').waitFor({ timeout: ARRIVAL_LIMIT_MS });
    await page.getByRole('table').getByText('Credited', { exact: true }).last().waitFor({ timeout: ARRIVAL_LIMIT_MS });
    await page.getByText('+$150.00').waitFor({ timeout: ARRIVAL_LIMIT_MS });
    await until(
      async () => ((await balance.innerText()) === before ? undefined : true),
      ARRIVAL_LIMIT_MS,
      'the balance being read anew',
    );
    expect(await view.axe()).toEqual([]);
    await view.offline(true);
    await page.getByText('This page may be out of date').waitFor();
    expect(await page.getByText('+$150.00').count()).toBe(1);
  });

  it.each<By>(['mouse', 'keyboard'])(
    'an order is found by %s, with its history, its money and its proof',
    async (by) => {
      const key = `delivered-${by}`;
      await at().order(key, 'delivered');
      const view = await open('/orders');
      const { page } = view;
      const input = new UserInput(page, by);
      await input.press(page.getByRole('link', { name: key }));
      await view.heading(`Order ${key}`).waitFor();
      await page.getByText(/^Delivered in .* ends in/).waitFor();
      const { delegations } = await at().client.orders.get(key);
      const proof = page.getByRole('article').first();
      const txid = delegations?.[0]?.txid ?? 'none';
      expect((await proof.innerText()).replaceAll(/\s/g, '')).toContain(txid);
      expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
      expect(await page.getByText('generated by the service').count()).toBe(0);
      const receipt = page.locator('[data-print]');
      // Nobody has used the energy yet.
      expect(await receipt.innerText()).not.toContain('not burnt');
      // Runs the receipt's check command as its recipient would: it must be true of the chain.
      const check = await receipt.locator('pre').innerText();
      const shown = await until(
        async () => {
          const { stdout } = await run('sh', ['-c', check]);
          return stdout.includes('"blockNumber"') ? stdout : undefined;
        },
        ORDER_FINAL_LIMIT_MS,
        'the transaction being final',
      );
      // With the addresses as this page shows them.
      for (const part of [txid, at().service.accounts[2]!.address, at().service.poolWallets[0]!.address]) {
        expect(shown).toContain(part);
      }
      await page.emulateMedia({ media: 'print' });
      expect([await receipt.isVisible(), await page.getByText('Idempotency-Key').first().isVisible()]).toEqual([
        true,
        false,
      ]);
      await page.emulateMedia({ media: 'screen' });
      expect(await view.axe()).toEqual([]);
    },
  );

  it.each<By>(['mouse', 'keyboard'])('on a phone an order’s page opens its sections by %s', async (by) => {
    const key = `folded-${by}`;
    await at().order(key, 'delivered');
    const { merchant, owner: account, project } = at();
    const url = `${merchant}/p/${project.id}/orders/${key}`;
    const view = see(await View.open(at(), url, { account, width: 360 }));
    const { page } = view;
    await page.getByText(/^Delivered in .* ends in/).waitFor();
    const proof = page.getByRole('button', { name: 'Proof', exact: true });
    expect(await proof.getAttribute('aria-expanded')).toBe('false');
    expect(await page.getByText('Check it yourself').first().isVisible()).toBe(false);
    const height = await page.evaluate<number>('document.documentElement.scrollHeight');
    await new UserInput(page, by).press(proof);
    await page.getByText('Check it yourself').first().waitFor();
    expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeGreaterThan(height);
    expect(await view.axe()).toEqual([]);
    await page.goto(`${url}?again#receipt`);
    await page.locator('[data-print]').waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByText('Check it yourself').first().waitFor();
    expect(await proof.count()).toBe(0);
  });

  it('the ledger shows the days in its address, and its CSV has the same days', async () => {
    await at().order('of-today', 'delivered');
    const view = await open('/billing/ledger');
    const { page } = view;
    const rows = page.getByRole('table').locator('tbody tr');
    await rows.first().waitFor();
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel('To day (UTC)').fill('2020-01-31');
    await button(view, 'Apply').click();
    await page.getByText('No entries on these days.').waitFor();
    expect(await view.axe()).toEqual([]);
    expect(await page.getByRole('link', { name: 'CSV of these entries' }).getAttribute('href')).toMatch(
      /ledger\.csv\?to=2020-02-01$/,
    );
    await page.getByLabel('To day (UTC)').fill(today);
    await page.getByLabel('From day (UTC)').fill(today);
    await button(view, 'Apply').click();
    await rows.first().waitFor();
    expect(page.url()).toContain(`from=${today}&to=${today}`);
    await button(view, 'Clear filters').click();
    await page.getByRole('link', { name: 'CSV of all entries' }).waitFor();
  });

  describe.each<By>(['mouse', 'keyboard'])('an auto-delegation, by %s', (by) => {
    it('is added after its cost was shown in dollars, paused, resumed and removed', async () => {
      const address = at().service.accounts[1]?.address ?? '';
      const view = await open('/auto-delegation');
      const input = new UserInput(view.page, by);
      const { page } = view;
      const dialog = page.getByRole('dialog');
      await page.getByText('No auto-delegations yet').waitFor();
      await input.press(button(view, 'Add an auto-delegation'));
      await input.type(field(view, /^Address/), address);
      await input.type(field(view, /^Energy to keep/), '65,000');
      await input.type(field(view, /^Daily cap/), '5');
      await input.press(button(view, 'Show the cost'));
      await page.getByRole('dialog', { name: 'Cost' }).waitFor();
      expect(await dialog.innerText()).toMatch(/At most\s*\$5\.00 a day/);
      expect(await view.axe()).toEqual([]);
      await input.press(button(view, 'Start auto-delegation'));
      await view.heading(/^Auto-delegation$/).waitFor();
      await page.getByText('Active', { exact: true }).waitFor();
      await page.getByText(/^[6-9]\d\s\d{3} of 65\s000$/).waitFor({ timeout: ARRIVAL_LIMIT_MS });
      expect(await view.axe()).toEqual([]);

      await input.press(button(view, 'Pause'));
      await page.getByText('Paused by an owner').first().waitFor();
      await input.press(button(view, 'Resume'));
      await input.type(field(view, /^Daily cap/), '2.50');
      await input.press(button(view, 'Show the cost'));
      await dialog.getByText('$2.50 a day').waitFor();
      await input.press(dialog.getByRole('button', { name: 'Resume' }));
      await dialog.waitFor({ state: 'detached' });
      await page.getByText('Active', { exact: true }).waitFor();

      const recipient = at().service.accounts[2]?.address ?? '';
      await input.press(button(view, 'Change'));
      await input.press(dialog.locator('summary', { hasText: 'More settings' }));
      await input.type(field(view, 'Recipient of its transfers'), 'Tnobody');
      await dialog.getByText('Enter a TRON address').waitFor();
      await field(view, 'Recipient of its transfers').fill('');
      await input.type(field(view, 'Recipient of its transfers'), recipient);
      expect(await view.axe()).toEqual([]);
      await input.press(button(view, 'Show the cost'));
      await input.press(dialog.getByRole('button', { name: 'Save' }));
      await dialog.waitFor({ state: 'detached' });
      await page.getByText('Sized by a transfer to', { exact: true }).waitFor();
      expect(await page.getByRole('main').innerText()).toContain(recipient.slice(0, 4));

      await input.press(button(view, 'Remove'));
      await input.type(field(view, /^Type/), address.slice(-4));
      await input.press(dialog.getByRole('button', { name: 'Remove' }));
      await view.heading('Auto-delegations').waitFor();
      await page.getByText('No auto-delegations yet').waitFor();
    });
  });

  it('“/” finds an order by its transaction, an address and a request id, and tells when nothing is found', async () => {
    await at().order('sought', 'delivered');
    const { delegations } = await at().client.orders.get('sought');
    const [row] = await at().database.query<{ request_id: string }>(
      `SELECT split_part(request_id, '~', 1) AS request_id FROM orders WHERE key = 'sought'`,
    );
    const view = await open('/billing/ledger');
    const { page } = view;
    await view.heading('Ledger').waitFor();
    const seek = async (sought: string): Promise<void> => {
      await page.keyboard.press('/');
      await page.keyboard.insertText(sought);
      await page.keyboard.press('Enter');
    };
    await seek(delegations?.[0]?.txid ?? 'none');
    await view.heading('Order sought').waitFor();
    await seek('nothing is called so');
    await page.getByText('Nothing matches exactly.').waitFor();
    expect(await view.axe()).toEqual([]);
    await seek(row?.request_id ?? 'none');
    await view.heading('Order sought').waitFor();
    await seek(at().service.accounts[2]?.address ?? '');
    await view.heading('Orders').waitFor();
    expect(page.url()).toContain('receiver=');
  });

  it('a list of allowed addresses shows whom it locks out before it is saved', async () => {
    await at().database.query(
      `UPDATE api_key SET recent_sources = '{"192.0.2.7":"2026-11-24T12:00:00Z","198.51.100.9":"2026-11-24T12:01:00Z"}' WHERE id = $1`,
      [at().project.id],
    );
    const view = await open('/settings/sources');
    const { page } = view;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Change Whole project' }).click();
    await field(view, /^Allowed addresses and ranges/).fill('127.0.0.1\n::1\n198.51.100.0/24');
    await button(view, 'Check recent callers').click();
    await dialog.getByText('This list locks out 1 address that was used recently').waitFor();
    expect(await view.axe()).toEqual([]);
    await dialog.getByRole('checkbox', { name: 'Lock these addresses out' }).check();
    await button(view, 'Save list').click();
    await page.getByText('List saved. It applies immediately.').waitFor();
    await page.getByText('Refused', { exact: true }).waitFor();
    expect(await view.axe()).toEqual([]);
    await page.getByRole('button', { name: 'Change Whole project' }).click();
    await field(view, /^Allowed addresses and ranges/).fill('');
    await button(view, 'Check recent callers').click();
    await dialog.getByText('The list is empty: any address is allowed.').waitFor();
    await button(view, 'Save list').click();
    await page.getByText('Refused', { exact: true }).waitFor({ state: 'detached' });
  });

  it('a refunded order shows why, the source of each fact, and what to do', async () => {
    await at().losing(() => at().order('lost.on-the-way', 'refunded'));
    const view = await open('/orders?status=refunded');
    const { page } = view;
    await page.getByRole('link', { name: 'lost.on-the-way' }).click();
    const why = page.locator('#why');
    await why.waitFor();
    const words = await why.innerText();
    expect(words).toContain('Returned to your balance');
    expect(words).toContain('What to do');
    expect(await why.locator('.evidence li').count()).toBeGreaterThan(0);
    expect(await view.axe()).toEqual([]);
    await page.reload();
    await why.waitFor();
  });

  it('the chart of thirty days adds up to the figures above, and is also a table', async () => {
    const utcDay = (): string => new Date().toISOString().slice(0, 10);
    const before = utcDay();
    await at().order('drawn', 'delivered');
    const view = await open('');
    const { page } = view;
    await page.locator('.chart canvas').waitFor();
    expect(await view.inkOf('.chart canvas')).toBeGreaterThan(0);
    const fact = (name: string) => page.locator('.fact', { hasText: name }).locator('.amount-usd').first().innerText();
    const [spent, saved] = [await fact('Spent'), await fact('Saved compared with burning')];
    expect(await page.locator('.chart figcaption').innerText()).toContain(`${spent} spent, ${saved} saved.`);
    await page.locator('summary', { hasText: 'Show as a table' }).click();
    const today = page.getByRole('table', { name: 'Show as a table' }).getByRole('row').last();
    // Midnight may fall in between.
    expect([before, utcDay()]).toContain((await today.getByRole('cell').first().innerText()).trim());
    expect(await view.axe()).toEqual([]);
  });
}

/** Reads a secret that is shown once, confirms that it is kept, and closes the dialog. */
async function secretOf(view: View, input: UserInput): Promise<string> {
  const shown = view.page.locator('[data-secret]');
  const secret = (await shown.innerText()).trim();
  await input.tick(view.page.getByRole('checkbox', { name: /^I have stored it/ }));
  await input.press(button(view, 'Done'));
  await shown.waitFor({ state: 'detached' });
  return secret;
}
