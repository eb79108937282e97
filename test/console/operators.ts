// Operators' tasks from start to end: changing a price after its preview, creating a project with its owner.
import { PASSWORD } from '../support/console/console-fixture.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, UserInput, password, View, type By } from './view.js';

export function operators(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (path: string, account = at().admin): Promise<View> =>
    see(await View.open(at(), `${at().operator}${path}`, { account }));

  describe.each<By>(['mouse', 'keyboard'])('by %s', (by) => {
    it('a price is changed after its effect was shown, with a reason in the audit log', async () => {
      const view = await open('/pricing');
      const { page } = view;
      const input = new UserInput(page, by);
      const row = page.getByRole('row').nth(1);
      await row.waitFor();
      const price = by === 'mouse' ? '71' : '72';
      await input.press(row.getByRole('button', { name: /^Change/ }));
      await input.type(field(view, 'Sun per energy'), price);
      await input.press(button(view, 'Show the effect'));
      const dialog = page.getByRole('dialog', { name: 'Effect of this change' });
      await dialog.waitFor();
      expect(await row.innerText()).not.toContain(price);
      expect(await view.axe()).toEqual([]);
      const doubts = dialog.getByRole('checkbox');
      if ((await doubts.count()) > 0) await input.tick(doubts);
      await input.type(field(view, 'Reason'), `a test by ${by}`);
      await input.press(button(view, 'Save price'));
      await page.getByText('Saved. New quotes have the new price').waitFor();
      expect(await row.innerText()).toContain(price);
      const acts = await at().database.query<{ reason: string }>(
        `SELECT reason FROM audit_log WHERE action = 'price.set' AND reason = $1`,
        [`a test by ${by}`],
      );
      expect(acts).toHaveLength(1);
    });

    it('a project is created and its owner invited, who then joins it', async () => {
      const view = await open('/projects');
      const { page } = view;
      const input = new UserInput(page, by);
      await input.press(page.getByRole('link', { name: 'New project' }));
      await view.heading('New project').waitFor();
      await input.type(field(view, 'Name'), `Borealis ${by}`);
      await input.type(field(view, 'Reason'), 'a new merchant');
      await input.press(button(view, 'Create project'));
      await view.heading(`Borealis ${by} is created`).waitFor();
      expect(await view.axe()).toEqual([]);
      await input.tick(page.getByRole('checkbox', { name: /^I have stored it/ }));
      await input.type(field(view, /^Owner/), `owner-${by}@borealis.example`);
      await input.press(button(view, 'Create invitation'));
      await view.heading(`Invitation for owner-${by}@borealis.example`).waitFor();
      expect(await view.axe()).toEqual([]);
      const link = await page.locator('[data-secret]').innerText();
      expect(new URL(link).origin).toBe(at().merchant);

      const theirs = see(await View.open(at(), link));
      await theirs.page.getByText(`To the project Borealis ${by}, as owner.`).waitFor();
      await password(theirs).fill(PASSWORD);
      await button(theirs, 'Accept invitation').click();
      await theirs.heading('Set up your second factor').waitFor();
    });
  });

  it('a project is frozen after its name was typed, and unfrozen again, each with a reason', async () => {
    const { id, name } = at().project;
    const view = await open(`/p/${id}/settings/project`);
    const { page } = view;
    const dialogOf = async (act: string, reason: string): Promise<void> => {
      await page.getByRole('main').getByRole('button', { name: act }).click();
      const dialog = page.getByRole('dialog', { name: act });
      const submit = dialog.getByRole('button', { name: act });
      await dialog.getByRole('textbox', { name: /^Reason/ }).fill(reason);
      expect(await submit.getAttribute('aria-disabled')).toBe('true');
      await dialog.getByRole('textbox', { name: `Type “${name}” to confirm` }).fill(name);
      expect(await view.axe()).toEqual([]);
      await submit.click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await page.getByText('The project is not frozen.').waitFor();
    await dialogOf('Freeze project', 'unpaid since May');
    await page.getByText(/^Frozen by ops@energy\.example: unpaid since May$/).waitFor();
    expect(await view.axe()).toEqual([]);
    await page.goto(`${at().operator}/p/${id}/orders`);
    await page.getByText('This project is frozen: all its requests are refused.').waitFor();
    await page.getByRole('link', { name: 'To its settings' }).click();
    await dialogOf('Unfreeze project', 'paid');
    await page.getByText('The project is not frozen.').waitFor();
    expect(await page.getByText(/^Frozen by/).count()).toBe(0);
    await page.getByRole('link', { name: 'Actions on this project' }).click();
    await page.getByRole('table').getByText('unpaid since May').first().waitFor();
    await page.getByRole('table').getByText('project.unfreeze').first().waitFor();
  });

  it('credits above the limit are requested by one admin, and booked when another approves', async () => {
    const second = await at().signUp('operator', 'admin', 'second@energy.example');
    const view = await open('/projects');
    await button(view, `Book credits ${at().project.name}`).click();
    await field(view, 'Amount in dollars').fill('2,500');
    await view.page
      .getByText('This number is ambiguous. Write 2500 for the larger amount, or 2.5000 for the smaller.')
      .waitFor();
    await field(view, 'Amount in dollars').fill('2,500.00');
    await field(view, 'Payment reference').fill('WIRE 77');
    await field(view, 'Reason').fill('a bank transfer came');
    await view.page.getByText('Bookings above $1 000.00').waitFor();
    expect(await view.axe()).toEqual([]);
    await button(view, 'Request approval').click();
    await view.page.getByText('Sent to the inbox for approval by another admin.').waitFor();
    await view.page.goto(`${at().operator}/inbox/approvals`);
    await view.page.getByText('You requested this booking, so another admin must decide.').waitFor();
    expect(await view.page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);

    const theirs = await open('/inbox', second);
    await theirs.page.getByText('Top-up of 2500.00 USD for Acme payouts').waitFor();
    await theirs.page.getByRole('link', { name: 'Review it, then approve or reject it' }).click();
    await button(theirs, 'Approve WIRE 77').click();
    await field(theirs, 'Reason').fill('seen at the bank');
    expect(await theirs.axe()).toEqual([]);
    await button(theirs, 'Approve and book').click();
    await theirs.page.getByText('Approved and booked.').waitFor();
    const entries = await at().database.query<{ credits: bigint }>(
      `SELECT credits FROM credit_entry WHERE entry_key = 'topup:WIRE 77'`,
    );
    expect(entries.map(({ credits }) => credits)).toEqual([25_000_000_000n]);
    expect(await theirs.axe()).toEqual([]);
  });

  it('a price that is a likely mistake is saved only after the reason was read', async () => {
    const view = await open('/pricing');
    await view.page
      .getByRole('row')
      .nth(1)
      .getByRole('button', { name: /^Change/ })
      .click();
    await field(view, 'Sun per energy').fill('1');
    await button(view, 'Show the effect').click();
    await view.page.getByText('Check this change').waitFor();
    await field(view, 'Reason').fill('a slip');
    expect(await button(view, 'Save price').getAttribute('aria-disabled')).toBe('true');
    expect(await view.axe()).toEqual([]);
  });

  it('projects are found by the beginning of their name and by state, and the address keeps the filter', async () => {
    const view = await open('/projects');
    const { page } = view;
    const rows = page.getByRole('table').locator('tbody tr');
    await rows.first().waitFor();
    await field(view, 'Name begins with').fill('no such project');
    await button(view, 'Apply').click();
    await page.getByText('No project matches these filters.').waitFor();
    expect(await view.axe()).toEqual([]);
    await field(view, 'Name begins with').fill(at().project.name.slice(0, 4).toLowerCase());
    await page.getByRole('combobox', { name: 'State' }).selectOption('live');
    await button(view, 'Apply').click();
    await rows.first().waitFor();
    expect(await rows.allInnerTexts()).toEqual([expect.stringContaining(at().project.name)]);
    expect(new URL(page.url()).searchParams.get('state')).toBe('live');
    await page.reload();
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);
    await button(view, 'Clear filters').click();
    await page.waitForURL(`${at().operator}/projects`);
  });

  it('support reads prices and projects, and cannot change them', async () => {
    const support = await at().signUp('operator', 'support', 'support@energy.example');
    const view = await open('/pricing', support);
    await view.page.getByRole('table').waitFor();
    expect(await view.page.getByRole('main').getByRole('button').count()).toBe(0);
    await view.page.getByRole('link', { name: 'Projects' }).first().click();
    await view.heading('Projects').waitFor();
    expect(await view.page.getByRole('link', { name: 'New project' }).count()).toBe(0);
  });

  it('offline, a price is not saved, and the input stays', async () => {
    const view = await open('/pricing');
    await view.page
      .getByRole('row')
      .nth(1)
      .getByRole('button', { name: /^Change/ })
      .click();
    await field(view, 'Sun per energy').fill('73');
    await view.offline(true);
    await button(view, 'Show the effect').click();
    expect(await view.page.getByRole('alert').innerText()).toContain('You are offline, so nothing was sent.');
    expect(await field(view, 'Sun per energy').inputValue()).toBe('73');
    await view.offline(false);
    await button(view, 'Show the effect').click();
    await view.page.getByRole('dialog', { name: 'Effect of this change' }).waitFor();
  });

  it('the chart of a report shows its days, which add up to its last line', async () => {
    await at().order('reported', 'delivered');
    const view = await open('/reports');
    const { page } = view;
    await page.locator('.chart canvas').nth(1).waitFor();
    expect(await view.inkOf('.chart canvas')).toBeGreaterThan(0);
    const [, revenue, refunds, compensations, cost, margin, sold, free, idle, recovering] = await page
      .getByRole('row')
      .last()
      .getByRole('cell')
      .allInnerTexts();
    expect(free).toMatch(/^[\d\u00a0]+ energy\s[\d.\u00a0]+ TRX$/);
    expect(recovering).toMatch(/^[\d\u00a0]+$/);
    const [money, energy] = await page.locator('.chart figcaption').allInnerTexts();
    expect(money).toContain(`${revenue ?? ''} revenue, ${margin ?? ''} margin.`);
    expect(energy).toContain(`${sold ?? ''} energy-hours sold, ${idle ?? ''} idle.`);
    const all = async (of: string): Promise<string[]> =>
      (await page.getByRole('table').locator(`td[data-label="${of}"]`).allInnerTexts()).slice(0, -1);
    const sum = (texts: readonly string[]): number =>
      texts.reduce(
        (total, text) => total + Math.round(Number(text.replaceAll(/[$\s]/g, '').replace('−', '-')) * 100),
        0,
      );
    expect(sum(await all('Revenue'))).toBe(sum([revenue ?? '']));
    // Each is rounded to a cent.
    const parts = [refunds, compensations, cost?.split(/\s/)[0]].map((text) => sum([text ?? '']));
    const rest = parts.reduce((left, part) => left - part, sum([revenue ?? '']));
    expect(Math.abs(rest - sum([margin ?? '']))).toBeLessThanOrEqual(parts.length);
    expect(await view.axe()).toEqual([]);
    await page.goto(`${at().operator}/reports?from=2020-01-01&to=2020-01-02`);
    await page.getByText('Nothing was recorded on these days.').waitFor();
    await page.getByText('Credits owed to merchants').waitFor();
    await page.goto(`${at().operator}/pool`);
    await page.getByText('TRX can be sold now').waitFor();
    expect(await view.inkOf('.chart canvas')).toBeGreaterThan(0);
    expect(await view.axe()).toEqual([]);
  });

  it('open tasks, the state of the service and the audit log are shown, and a search covers all projects', async () => {
    await at().database.query(
      `INSERT INTO sales_stop (reason, findings) VALUES ('a rule is broken', '[{"check":"balances","subject":"project 7","fingerprint":"f00d"}]')
       ON CONFLICT DO NOTHING`,
    );
    try {
      const view = await open(`/p/${at().project.id}/orders`);
      const { page } = view;
      await view.heading('Orders').waitFor();
      await page.goto(`${at().operator}/inbox`);
      await page.getByText(/^Fault: Nothing is being sold: a rule is broken since /).waitFor();
      await page.getByText('npm run -s cli -- verify').first().waitFor();
      expect(await view.axe()).toEqual([]);
      await page.getByRole('link', { name: 'System' }).first().click();
      await view.heading('System').waitFor();
      await page.getByText('f00d').waitFor();
      await page.getByText('Orders due').waitFor();
      expect(await view.axe()).toEqual([]);
      await page.getByRole('link', { name: 'Audit log' }).click();
      await view.heading('Audit log').waitFor();
      await page.getByRole('combobox', { name: 'Kind of action' }).selectOption('Projects');
      await field(view, 'Project or Merchant ID').fill(at().project.name.slice(0, 4).toLowerCase());
      await button(view, 'Apply').click();
      const rows = page.getByRole('table').locator('tbody tr');
      await rows.getByText('project.create').first().waitFor();
      await rows.getByRole('link', { name: at().project.name }).first().waitFor();
      expect(new URL(page.url()).searchParams.get('kind')).toBe('project');
      await page.getByRole('combobox', { name: 'Kind of action' }).selectOption('Sign-ins and sessions');
      await page.getByRole('checkbox', { name: 'Include read access' }).check();
      await button(view, 'Apply').click();
      await rows.getByText('console.look').first().waitFor();
      await page.getByRole('link', { name: 'CSV of these actions' }).waitFor();
      expect(await view.axe()).toEqual([]);
      await page.keyboard.press('Tab');
      await page.evaluate('document.activeElement.blur()');
      await page.keyboard.press('/');
      await page.keyboard.insertText(at().project.name.slice(0, 4));
      await page.keyboard.press('Enter');
      await page.waitForURL(new RegExp(`/p/${at().project.id}$`));
    } finally {
      await at().database.query('DELETE FROM sales_stop');
    }
  });

  it('a held deposit is shown with its evidence, and credited when another admin approves', async () => {
    const second = await at().signUp('operator', 'admin', 'third@energy.example');
    const made = await at().service.cli('project', 'create', '--name', 'Held payer');
    await at().database.query(
      `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ('TRX', date_trunc('minute', now()), 30000000) ON CONFLICT DO NOTHING`,
    );
    const [deposit] = await at().database.query<{ id: bigint; txid: string }>(
      `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at, status, reason, rate_e8)
       SELECT sha256('held'), 'native', 0, $1, a.address, 'TWhoPaysTheHeldDeposit1111111111aa', 'TRX', 20000000000, 1, sha256('block'), r.minute, 'held', 'rate_jump', r.rate_e8
         FROM deposit_address a, (SELECT minute, rate_e8 FROM asset_rate WHERE asset = 'TRX' ORDER BY minute DESC LIMIT 1) r
        WHERE a.project_id = $1 RETURNING id, encode(txid, 'hex') AS txid`,
      [String(made['merchant'])],
    );
    const name = `dep_${deposit!.id.toString()}`;
    const view = await open('/inbox');
    const { page } = view;
    await page.getByText(`Deposit ${name} is held: rate_jump. Credit or refuse it`).waitFor();
    await page.getByRole('link', { name: 'Review it, then credit or refuse it' }).click();
    await button(view, `Decide ${name}`).click();
    const dialog = page.getByRole('dialog', { name: `Held deposit ${name}` });
    await dialog.getByText('Held payer').waitFor();
    await dialog.getByText('20 000').first().waitFor();
    const submit = dialog.getByRole('button', { name: 'Request approval' });
    await dialog.getByRole('radio', { name: /^Credit it/ }).check();
    expect(await submit.getAttribute('aria-disabled')).toBe('true');
    await field(view, 'Reason').fill('the market moved');
    expect(await view.axe()).toEqual([]);
    await submit.click();
    await dialog.getByText('Sent to the inbox for approval by another admin. The deposit stays held').waitFor();
    await page.goto(`${at().operator}/inbox/approvals`);
    await page.getByText('You requested this booking, so another admin must decide.').waitFor();

    const theirs = await open('/inbox/approvals', second);
    await theirs.page.getByText('the market moved').first().waitFor();
    await button(theirs, `Approve ${name}`).click();
    await field(theirs, 'Reason').fill('compared with two explorers');
    expect(await theirs.axe()).toEqual([]);
    await button(theirs, 'Approve and book').click();
    await theirs.page.getByText('Approved and booked.').waitFor();
    const entries = await at().database.query<{ actor: string; reason: string }>(
      `SELECT actor, reason FROM credit_entry WHERE entry_key = 'deposit:' || $1 || ':native:0'`,
      [deposit!.txid],
    );
    expect(entries).toEqual([{ actor: 'third@energy.example', reason: 'the market moved' }]);
  });
}
