// Documents that a merchant keeps: the statement as a page and as PDF, and the export of orders.
import { readFile } from 'node:fs/promises';
import { asAdmin } from '../setup/admin.js';
import { pagesOfPdf } from '../support/console/pdf.js';
import type { ConsoleCluster } from './cluster.js';
import { View } from './view.js';

const A4 = [595, 842];
const ROWS = 240;
const DOLLAR = 10_000_000;
const HEAD = 'Time(UTC)EntryOrderorreferenceAmountBalance';

interface Styles {
  getComputedStyle(of: unknown): { readonly color: string };
}

export function documents(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (path: string): Promise<View> => {
    const { merchant, owner: account, project } = at();
    return see(await View.open(at(), `${merchant}/p/${project.id}${path}`, { account }));
  };

  it('the statement of the open month adds up, and prints alone', async () => {
    const view = await open('/billing/statements');
    const { page } = view;
    await page.getByRole('link', { name: 'Statement of the open month' }).click();
    await view.heading('Open month').waitFor();
    const sheet = page.locator('[data-print]');
    const shown = await sheet.innerText();
    for (const words of ['Acme payouts', at().project.id, 'Opening balance', 'Balance until now', 'Not final']) {
      expect(shown).toContain(words);
    }
    const [opening = 0n, ...moved] = (await sheet.locator('.facts .amount-credits').allInnerTexts()).map((credits) =>
      BigInt(credits.replace('−', '-').replaceAll(/[^-\d]/g, '')),
    );
    const balance = moved.pop();
    expect(moved.reduce((sum, credits) => sum + credits, opening)).toBe(balance);
    await page.emulateMedia({ media: 'print' });
    expect([await sheet.isVisible(), await page.getByRole('button', { name: 'Print' }).isVisible()]).toEqual([
      true,
      false,
    ]);
    await page.emulateMedia({ media: 'screen' });
    await page.setViewportSize({ width: 390, height: 780 });
    expect([await view.overflow(), await view.axe()]).toEqual([0, []]);
  });

  /** Returns a project with a closed month of many entries and an open month of three, and its owner's view. */
  async function withStatements(theme: 'light' | 'dark'): Promise<{ readonly view: View; readonly page: string }> {
    const { service, database, signUp, merchant } = at();
    const made = await service.cli('project', 'create', '--name', `Söhne & Töchter ${theme}`);
    const id = String(made['merchant']);
    const add = `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
      SELECT 'topup:' || $1 || n, $1::uuid, 'funding', 'topup', $4::bigint, 'test', 'a test', clock_timestamp()
        FROM generate_series($2::integer, $3::integer) n`;
    await database.query(add, [id, 1, ROWS, DOLLAR]);
    await asAdmin(service.databaseUrl, async (client) => {
      await client.query('SET session_replication_role = replica');
      await client.query(
        `INSERT INTO statement (project_id, number, month, ends_at, entries_to, rest_from, first_at, lines, opening_credits, charge_credits,
           refund_credits, compensation_credits, deposit_credits, topup_credits, adjustment_credits, closing_credits)
         SELECT $1, 1, '2026-10-01', clock_timestamp(), max(id), max(id) + 1, min(created_at), count(*), 0, 0, 0, 0, 0, sum(credits), 0, sum(credits)
           FROM credit_entry WHERE project_id = $1`,
        [id],
      );
    });
    await database.query(add, [id, ROWS + 1, ROWS + 3, DOLLAR]);
    await database.query('UPDATE credit_account SET balance_credits = $2 WHERE project_id = $1', [
      id,
      (ROWS + 3) * DOLLAR,
    ]);
    const account = await signUp('merchant', 'owner', `books-${theme}@acme.example`, id);
    const page = `${merchant}/p/${id}/billing/statements`;
    return { view: see(await View.open(at(), `${page}/1`, { account, theme })), page };
  }

  it.each(['light', 'dark'] as const)(
    'a statement is saved as PDF: A4, every entry, the head on each page and the total on the last (%s)',
    async (theme) => {
      const { view, page: path } = await withStatements(theme);
      const { page } = view;
      await page.getByText(`The first 100 of ${ROWS.toString()} entries.`).waitFor();
      expect(await page.locator('[data-print] tbody tr:visible').count()).toBe(100);
      expect(await view.axe()).toEqual([]);
      await page.evaluate('window.print = () => { document.body.dataset.printed = "yes"; }');
      await page.getByRole('button', { name: 'Print or save as PDF' }).click();
      await page.locator('body[data-printed=yes]').waitFor();

      await page.emulateMedia({ media: 'print', colorScheme: theme });
      const ink = await page
        .locator('[data-print] td')
        .first()
        .evaluate((cell) => (globalThis as unknown as Styles).getComputedStyle(cell).color);
      expect(ink).toBe('rgb(23, 32, 28)');
      const pages = pagesOfPdf(await page.pdf({ preferCSSPageSize: true }));
      expect(pages.length).toBeGreaterThan(3);
      expect(pages.map(({ size }) => size)).toEqual(pages.map(() => A4));
      expect(pages.filter(({ text }) => !text.includes(HEAD))).toEqual([]);
      expect(pages.map(({ text }) => /Page\d+of\d+/.exec(text)?.[0])).toEqual(
        pages.map((_, index) => `Page${(index + 1).toString()}of${pages.length.toString()}`),
      );
      const all = pages.map(({ text }) => text).join('');
      for (const words of [`Söhne&Töchter${theme}`, 'Statement12026-10', 'Openingbalance', 'Final:aclosedmonth']) {
        expect(all).toContain(words);
      }
      // Each balance is that of its line: all lines are there, in their order.
      expect([...all.matchAll(/\+\$1\.00\$([\d,]+\.00)/g)].map(([, balance]) => balance)).toEqual(
        Array.from({ length: ROWS }, (_, index) => `${(index + 1).toString()}.00`),
      );
      for (const words of ['Allstatements', 'Ledger', 'Printorsave', 'Signout', 'Thefirst100']) {
        expect(all).not.toContain(words);
      }
      expect(pages.at(-1)!.text).toContain(`Closingbalance$${ROWS.toString()}.00`);

      await page.emulateMedia({ media: null });
      await page.goto(`${path}/open`);
      await view.heading('Open month').waitFor();
      await page.getByText('Balance until now').first().waitFor();
      const [sheet, ...more] = pagesOfPdf(await page.pdf({ preferCSSPageSize: true }));
      expect(more).toEqual([]);
      expect(sheet!.text).toContain(`Balanceuntilnow$${(ROWS + 3).toString()}.00`);
      expect(sheet!.text).toContain('Notfinal');
    },
  );

  it('the export of orders has the filtered orders, their prices, transactions and use, under the date of today', async () => {
    const { client, service } = at();
    const receiver = service.accounts[2]!.address;
    await client.orders.create(
      {
        receive_address: receiver,
        energy: 65_000,
        duration_sec: 3600,
        reference: 'pay-77',
        metadata: { shop: 'west' },
      },
      { idempotencyKey: 'for-export' },
    );
    await client.orders.wait('for-export');
    const view = await open('/orders?reference=pay-77');
    const { page } = view;
    await page.getByRole('link', { name: 'for-export' }).waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV of these orders' }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe(`orders-${new Date().toISOString().slice(0, 10)}.csv`);
    const [head = '', line = '', ...more] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    expect(more).toEqual([]);
    const { delegations } = await client.orders.get('for-export');
    for (const column of ['reference', 'metadata', 'price_trx', 'trx_usd', 'burn_price_trx', 'txids', 'used_energy']) {
      expect(head.split(',')).toContain(column);
    }
    for (const value of ['for-export', 'pay-77', 'west', receiver, delegations?.[0]?.txid])
      expect(line).toContain(value);
  });
}
