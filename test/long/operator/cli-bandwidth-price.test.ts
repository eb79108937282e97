// The operator's price of bandwidth, by the commands, on a real database.
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';

let database: TestDatabase;
let cli: Cli;

beforeAll(async () => {
  database = await createTestDatabase();
  cli = cliWith(settings(database.url));
});

afterAll(async () => {
  await database.drop();
});

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return asAdmin(database.url, async (client) => (await client.query(text)).rows);
}

it('sets the price of bandwidth beside that of energy, and neither changes the other', async () => {
  const row = ['--duration-max', '3600', '--yes'];
  const shown = async () => {
    const { prices } = (await cli('price', 'list', '--json')).json() as { prices: Record<string, unknown>[] };
    return prices.find((each) => each['duration_max_sec'] === 3600);
  };
  const before = await shown();
  expect(before).toMatchObject({ sun_per_bandwidth: null });
  const missing = await cli('price', 'set-bandwidth', '--duration-max', '3601', '--sun-per-bandwidth', '700', '--yes');
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('no price row of 3601 s')]);
  const set = await cli('price', 'set-bandwidth', ...row, '--sun-per-bandwidth', '700', '--json');
  expect(set.json()).toEqual({ duration_max_sec: 3600, sun_per_bandwidth: 700, sun_per_bandwidth_before: null });
  expect(await shown()).toEqual({ ...before, sun_per_bandwidth: 700 });
  expect((await cli('price', 'set', ...row, '--sun-per-energy', '46')).code).toBe(0);
  expect(await shown()).toEqual({ ...before, sun_per_energy: 46, sun_per_bandwidth: 700 });
  expect((await cli('price', 'set', ...row, '--sun-per-energy', '45')).code).toBe(0);
  expect((await cli('price', 'set-bandwidth', ...row)).code).toBe(0);
  expect(await shown()).toEqual(before);
  const acts = await rows(`SELECT detail FROM audit_log WHERE action = 'price.set-bandwidth' ORDER BY id`);
  expect(acts).toEqual([{ detail: { before: null, after: '700' } }, { detail: { before: '700', after: null } }]);
});
