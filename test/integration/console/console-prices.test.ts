// Saving a price in the operators' console: each doubt names the member of the request that it is about.
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { seedTestCanaries } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let test: TestDatabase;
let operators: TestConsole;
let admin: Account;

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  operators = await openConsole(test.url, 'operator');
  admin = await operators.signedIn('admin');
  await operators.database.query(`UPDATE price_row SET sun_per_bandwidth = 500 WHERE duration_max_sec = 600`);
});

afterAll(async () => {
  await operators.close();
  await test.drop();
});

interface Doubted {
  readonly msg: string;
  readonly details: readonly { readonly field: string; readonly msg: string }[];
}

async function doubtedFields(change: object): Promise<string[]> {
  const { status, body } = await admin.browser.post('/api/operator/prices', { ...change, reason: 'cheaper' });
  expect([status, body.error]).toEqual([400, 'INVALID_REQUEST']);
  const { msg, details } = body as Doubted;
  expect(msg.startsWith(`${details[0]!.field}: `)).toBe(true);
  return details.map(({ field }) => field);
}

const SEEN = { before_sun_per_energy: 45 };

it.each([
  ['energy', { duration_max_sec: 3600, sun_per_energy: 37, ...SEEN }, ['sun_per_energy']],
  ['bandwidth', { duration_max_sec: 3600, sun_per_energy: 45, sun_per_bandwidth: 400, ...SEEN }, ['sun_per_bandwidth']],
  [
    'both',
    { duration_max_sec: 3600, sun_per_energy: 37, sun_per_bandwidth: 400, ...SEEN },
    ['sun_per_energy', 'sun_per_bandwidth'],
  ],
  ['the duration', { duration_max_sec: 31_536_000, sun_per_energy: 20_000 }, ['duration_max_sec']],
])('names the member of a doubtful price: %s', async (_case, change, fields) => {
  expect(await doubtedFields(change)).toEqual(fields);
});

it('saves a doubtful price by force', async () => {
  const change = { duration_max_sec: 3600, sun_per_energy: 45, sun_per_bandwidth: 400, ...SEEN };
  const saved = await admin.browser.post('/api/operator/prices', { ...change, reason: 'cheaper', force: true });
  expect(saved.status).toBe(200);
});
