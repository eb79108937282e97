// A merchant's first steps: the first delivery as it happens, and the playground, whose requests the API accepts
// unchanged.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { EnergyClient } from '../../packages/sdk/src/index.js';
import { until } from '../../packages/local/src/wait.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, View } from './view.js';

const START_LIMIT_MS = 20_000;
const run = promisify(execFile);

export function beginning(at: () => ConsoleCluster, see: (view: View) => View): void {
  const open = async (): Promise<View> => {
    const { merchant, owner: account, project } = at();
    return see(await View.open(at(), `${merchant}/p/${project.id}/integration/playground`, { account }));
  };
  /** Runs the page's command as the merchant's server would, with the key in its environment. */
  const send = async (view: View): Promise<Record<string, unknown>> => {
    const { api, project } = at();
    const env = { ...process.env, BASE_URL: api, MERCHANT: project.id, API_KEY: project.apiKey };
    const command = await view.page.locator('pre').first().innerText();
    // A new API refuses signatures from before its start.
    return until(
      async () => {
        const answer = JSON.parse((await run('sh', ['-c', command], { env })).stdout) as Record<string, unknown>;
        return answer['error'] === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' ? undefined : answer;
      },
      START_LIMIT_MS,
      'the API taking signatures',
    );
  };

  it('shows what energy costs and saves, equal to an API quote whose command it prints', async () => {
    const view = await open();
    const address = at().service.accounts[2]?.address ?? '';
    await field(view, /^Receiver/).fill(address);
    await field(view, 'Energy').fill('70,000');
    await button(view, 'Show the price').click();
    await view.page.getByText('Saved if all of it is used').waitFor();
    const quote = await send(view);
    expect(quote).toMatchObject({ receive_address: address, energy: 70_000, duration_sec: 3600 });
    const digits = (trx: unknown): string => String(trx).replace(/(\.\d\d\d*?)0+$/, '$1');
    const shown = await view.page.getByRole('main').innerText();
    for (const part of ['price_trx', 'burn_price_trx', 'saving_trx']) {
      expect(shown).toContain(`${digits(quote[part])} TRX`);
    }
    expect(await view.axe()).toEqual([]);
  });

  it('explains why an input cannot be sold, and keeps the input', async () => {
    const view = await open();
    await field(view, /^Receiver/).fill('Tnobody');
    await button(view, 'Show the price').click();
    expect(await view.page.getByRole('alert').innerText()).toContain('receive_address: must be a TRON address');
    expect(await field(view, /^Receiver/).inputValue()).toBe('Tnobody');
  });

  it('prints a simulation command that the API answers', async () => {
    const view = await open();
    const { accounts, token } = at().service;
    await view.page.getByRole('radio', { name: /^Simulation/ }).check();
    await field(view, 'Caller address').fill(accounts[2]?.address ?? '');
    await field(view, 'Contract').fill(token);
    await field(view, 'Function').fill('balanceOf(address)');
    await field(view, 'Arguments, ABI-encoded in hex').fill('0'.repeat(64));
    await button(view, 'Show the request').click();
    await view.page.getByText('Request for your server').waitFor();
    expect(await send(view)).toMatchObject({ energy_used: expect.any(Number), energy_needed: expect.any(Number) });
    expect(await view.axe()).toEqual([]);
  });

  it('shows the first delivery block by block, up to the savings and the receipt', async () => {
    const { service, merchant } = at();
    const made = await service.cli('project', 'create', '--name', 'First steps', '--credits', '100000000');
    const id = String(made['merchant']);
    const account = await at().signUp('merchant', 'owner', 'first@steps.example', id);
    // The number of blocks on TRON.
    await setNode(service.controlUrl, 19);
    try {
      const view = see(await View.open(at(), `${merchant}/p/${id}`, { account }));
      await view.page.getByText('Receive your first delivery').waitFor();
      expect(await view.page.getByText('Your first delivery', { exact: true }).count()).toBe(0);
      const client = new EnergyClient({ baseUrl: at().api, merchant: id, apiKey: String(made['api_key']) });
      const receiver = service.accounts[2]?.address ?? '';
      const body = { receive_address: receiver, energy: 65_000, duration_sec: 3600 };
      await until(
        () => client.orders.create(body, { idempotencyKey: 'the-first' }).catch(() => undefined),
        START_LIMIT_MS,
        'an order being taken',
      );
      await view.heading('Home').waitFor();
      await view.page.getByText('Your first delivery', { exact: true }).waitFor();
      await view.page.getByText(/more blocks until it is final/).waitFor();
      // More while the solid head lags.
      expect(await view.page.locator('.block').count()).toBeGreaterThanOrEqual(19);
      await view.page.getByText('Saves 3.575 TRX once all of the energy is used').waitFor();
      expect(await view.axe()).toEqual([]);
      await view.page.getByRole('link', { name: /^Receipt to share/ }).click();
      await view.heading('Order the-first').waitFor();
      await view.page.locator('[data-print]').waitFor();

      await view.page.getByRole('link', { name: 'Home' }).first().click();
      await view.page.getByRole('link', { name: 'Extend the-first' }).click();
      await button(view, 'Show the price').click();
      await view.page.getByText(/^Price of 1 h more now/).waitFor();
      expect(await view.axe()).toEqual([]);
      const before = (await client.orders.get('the-first')).ends_at ?? '';
      const command = await view.page.locator('#extend pre').first().innerText();
      const env = { ...process.env, BASE_URL: at().api, MERCHANT: id, API_KEY: String(made['api_key']) };
      await run('sh', ['-c', command], { env });
      const after = (await client.orders.get('the-first')).ends_at ?? '';
      expect(Date.parse(after) - Date.parse(before)).toBe(3_600_000);
    } finally {
      await setNode(service.controlUrl, 4);
    }
  });
}

async function setNode(controlUrl: string, solidLag: number): Promise<void> {
  const answer = await fetch(`${controlUrl}/node`, { method: 'POST', body: JSON.stringify({ index: 0, solidLag }) });
  if (!answer.ok) throw new Error(`the chain refused: ${await answer.text()}`);
}
