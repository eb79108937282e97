// "Why did it burn?": from a transaction that a person has, to its cause and the next step, in both consoles.
import type { ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

const FEE_LIMIT_SUN = 100_000_000;
const UNKNOWN = 'ab'.repeat(32);

export function explaining(at: () => ConsoleCluster, see: (view: View) => View): void {
  const transfer = async (): Promise<string> => {
    const { service } = at();
    const [funder, , sender] = service.accounts;
    await service.wallet.transferToken(service.token, funder!, sender!.address, 5n, FEE_LIMIT_SUN);
    const receipt = await service.wallet.transferToken(service.token, sender!, funder!.address, 1n, FEE_LIMIT_SUN);
    return String(receipt['id']);
  };

  it('a transfer that is in no order is explained from the search, and an unknown one is not', async () => {
    await at().order('explained', 'delivered');
    const txid = await transfer();
    const { merchant, owner: account, project } = at();
    const view = see(await View.open(at(), `${merchant}/p/${project.id}/orders`, { account }));
    const { page } = view;
    await view.heading('Orders').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.insertText(txid);
    await page.keyboard.press('Enter');
    await page.getByText('Nothing matches exactly.').waitFor();
    await page.getByRole('link', { name: 'Why did it burn?' }).click();
    await view.heading('Why did it burn?').waitFor();
    await page.getByText(/^The token transfer burnt/).waitFor();
    await page.getByRole('heading', { name: 'Causes' }).waitFor();
    await page.getByRole('link', { name: 'explained' }).first().waitFor();
    expect(await view.axe()).toEqual([]);
    await field(view, 'Transaction ID').fill('ab');
    await page.getByText('A transaction ID has 64 hex digits, without 0x.').waitFor();
    await field(view, 'Transaction ID').fill(UNKNOWN);
    await button(view, 'Explain').click();
    await page.getByText('No node knows this transaction').waitFor();
    expect(await view.axe()).toEqual([]);
  });

  it('an operator explains a transfer by the orders of all projects', async () => {
    const txid = await transfer();
    const { operator, admin: account } = at();
    const view = see(await View.open(at(), `${operator}/explain?txid=${txid}`, { account }));
    await view.page.getByText(/^The token transfer burnt/).waitFor();
    expect(await view.axe()).toEqual([]);
  });
}
