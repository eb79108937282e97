// A project's view of its ledger, and the cost of a page.
import type { Statement } from '../../../src/platform/database/database.js';
import { credits } from '../../../src/domain/units.js';
import { ORDER_ENTRIES } from '../../../src/modules/console/order-records.js';
import { LEDGER_PAGE } from '../../../src/modules/statements/ledger-list.js';
import { PROJECT_SETTING } from '../../../src/platform/database/merchant-grants.js';
import { roleNamed } from '../../../src/platform/database/roles.js';
import type { ApiKeys } from '../../../src/modules/projects/api-keys.js';
import { expectError } from '../../support/api/answers.js';
import { Customer, HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { apiKeysOn } from '../../support/api/services.js';

let fixture: ReconciliationFixture;
let keys: ApiKeys;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
  keys = apiKeysOn(fixture.database, fixture.api.app);
});
afterAll(() => fixture.close());

/** Returns an HMAC client of the same project. */
const signing = ({ merchant, apiKey }: Customer): HmacCustomer =>
  new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);

/** Inserts entries with the given times; the ledger itself dates entries now. */
async function enterAt(projectId: string, times: readonly string[]): Promise<void> {
  await fixture.database.query(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
     SELECT 'topup:at-' || $1 || '-' || n, $1::uuid, 'funding', 'topup', n, 'test', 'a test', t::timestamptz
       FROM unnest($2::text[]) WITH ORDINALITY AS v(t, n)`,
    [projectId, times],
  );
  await fixture.database.query(
    `UPDATE credit_account SET balance_credits = (SELECT sum(credits) FROM credit_entry WHERE project_id = $1) WHERE project_id = $1`,
    [projectId],
  );
}

it('shows each entry with its subject, rate and transaction, newest first', async () => {
  const { customer, api, database } = fixture;
  const reader = signing(customer);
  const id = await fixture.rent(fixture.service.accounts[0]!.address, 65_000, 3600);
  const [order] = await database.query<{ key: string; credits: bigint; txid: string }>(
    `SELECT o.key, o.credits, encode(t.txid, 'hex') AS txid FROM orders o JOIN chain_tx t ON t.order_id = o.id WHERE o.id = $1`,
    [id],
  );
  await api.ledger.compensate(id, credits(1000), AUTHOR);
  await api.ledger.adjust(customer.merchant, credits(-77), '=cmd', AUTHOR);
  const { status, body } = await reader.get('/v1/ledger');
  expect(status).toBe(200);
  const of = `rental of 65000 energy for 3600 s to ${fixture.service.accounts[0]!.address}`;
  const rate = { asset: 'TRX', usd_rate: expect.stringMatching(/^0\.\d{8}$/) };
  const [id_, created_at] = [expect.stringMatching(/^ent_\d+$/), expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/)];
  expect(body).toEqual({
    items: [
      { id: id_, kind: 'adjustment', description: 'Adjustment', credits: -77, created_at, reference: '=cmd' },
      {
        ...{ id: id_, kind: 'compensation', description: `Compensation for the ${of}`, credits: 1000, created_at },
        ...{ order_key: order!.key, ...rate },
      },
      {
        ...{ id: id_, kind: 'charge', description: `R${of.slice(1)}`, credits: -Number(order!.credits), created_at },
        ...{ order_key: order!.key, ...rate, txids: [order!.txid] },
      },
      {
        ...{ id: id_, kind: 'topup', description: 'Top-up', credits: 1_000_000_000, created_at },
        reference: `first-${customer.merchant}`,
      },
    ],
  });
});

it('is read page by page, each entry once, also within one microsecond, and between two times', async () => {
  const { merchant, apiKey } = await makeCustomer(fixture.api, 0n);
  const reader = signing(new Customer('', merchant, apiKey));
  const same = '2026-03-05T10:00:00.123456Z';
  // Neither ids nor milliseconds are in the order of the times.
  const times = ['2026-03-31T23:59:59.999999Z', same, same, '2026-03-05T10:00:00.123457Z', '2026-04-01T00:00:00Z'];
  await enterAt(merchant, times);
  const read = async (query: string): Promise<number[]> => {
    const found: number[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await reader.get(`/v1/ledger?limit=2${query}${cursor && `&cursor=${cursor}`}`);
      expect(status).toBe(200);
      found.push(...body.items.map((item: { credits: number }) => item.credits));
      if (body.next_cursor === undefined) return found;
      cursor = body.next_cursor as string;
    }
  };
  expect(await read('')).toEqual([5, 1, 4, 3, 2]);
  expect(await read('&from=2026-03-01&to=2026-04-01')).toEqual([1, 4, 3, 2]);
  expect(await read(`&from=${times[3]!}`)).toEqual([5, 1, 4]);
  expect(await read(`&to=${times[3]!}`)).toEqual([3, 2]);
  expect(await read('&from=2026-05-01')).toEqual([]);
  for (const wrong of ['cursor=bm8', 'from=yesterday', 'to=2026-02-30', 'from=2026-03-01T24:00:00Z', 'status=x'])
    expectError(await reader.get(`/v1/ledger?${wrong}`), 'INVALID_REQUEST');
});

it('is read only by HMAC, with a key that may read, and shows no other project', async () => {
  const { merchant, apiKey } = fixture.customer;
  const customer = signing(fixture.customer);
  const reader = await keys.create(merchant, { name: 'r', scopes: ['read'] }, AUTHOR);
  const buyer = await keys.create(merchant, { name: 'o', scopes: ['order', 'quote', 'manage'] }, AUTHOR);
  expectError(await new Customer(fixture.api.baseUrl, merchant, apiKey).get('/v1/ledger'), 'HMAC_REQUIRED');
  const { status, headers } = await customer.withKey(reader.apiKey).get('/v1/ledger');
  expect([status, headers['ratelimit-limit']]).toEqual([200, '600']);
  expectError(await customer.withKey(buyer.apiKey).get('/v1/ledger'), 'KEY_SCOPE');
  const other = await makeCustomer(fixture.api, 0n);
  expect((await signing(other).get('/v1/ledger')).body).toEqual({ items: [] });
});

it('a page reads as many rows deep in the past as at the top, among 200 000 entries', async () => {
  const { database, api } = fixture;
  const [busy, other] = [await makeCustomer(api, 0n), await makeCustomer(api, 0n)];
  for (const [{ merchant }, count] of [[busy, 180_000] as const, [other, 20_000] as const]) {
    // In slices, so that each statement stays within the service's limit on a slow machine too.
    for (let first = 1; first <= count; first += 10_000) {
      await database.query(
        `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
         SELECT 'topup:many-' || $1 || n, $1::uuid, 'funding', 'topup', 1, 'test', 'a test', '2026-01-01Z'::timestamptz + n * interval '1 minute'
           FROM generate_series($2::integer, $2 + 9999) n`,
        [merchant, first],
      );
    }
    await database.query(`UPDATE credit_account SET balance_credits = $2 WHERE project_id = $1`, [merchant, count]);
  }
  await database.query('ANALYZE credit_entry');
  /** Returns the most rows that a step of the plan touched, including filtered ones. */
  const touched = async (from: string, before: string): Promise<number> => {
    const text = `EXPLAIN (ANALYZE, FORMAT JSON) ${(LEDGER_PAGE as Statement).text}`;
    const params = [busy.merchant, from, before, 0n, 21];
    const [row] = await database.query<Explained>(text, params);
    const steps = stepsOf(row!['QUERY PLAN'][0]!.Plan);
    expect(steps.filter((step) => step['Relation Name'] === 'credit_entry').map((step) => step['Index Name'])).toEqual([
      'credit_entry_time',
    ]);
    return Math.max(...steps.map((step) => step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)));
  };
  for (const [from, before] of [
    ['-infinity', 'infinity'],
    ['2026-01-02', 'infinity'],
    ['-infinity', '2026-01-02'],
    ['2026-01-01T12:00:00Z', '2026-01-02'],
    ['2026-02-01', '2026-02-02'],
  ] as const)
    expect(await touched(from, before)).toBeLessThanOrEqual(21);
});

it.each([
  ['a page of the ledger', LEDGER_PAGE.text, ['-infinity', 'infinity', 0, 51]],
  ['the entries of an order', ORDER_ENTRIES, [['charge:1'], 1]],
])('%s finds the deposit of an entry by its place on chain, also for a console', async (_of, text, rest) => {
  const { merchant } = await makeCustomer(fixture.api, 0n);
  const [{ Plan: plan } = { Plan: undefined }] = await asAdmin(
    String(fixture.service.env['DATABASE_URL']),
    async (client) => {
      // A full table for the planner, with triggers off. The rows vanish with the connection.
      await client.query('BEGIN; SET LOCAL session_replication_role = replica');
      await client.query(
        `INSERT INTO deposit (project_id, address, txid, kind, place, asset, from_address, amount, block_number, block_id,
         block_at, status, seen_at, changed_at)
       SELECT $1, 'T', sha256(n::text::bytea), 'log', 0, 'USDT', 'T', 1, n, sha256('b'), now(), 'pending', now(), now()
         FROM generate_series(1, 5000) n`,
        [merchant],
      );
      await client.query('ANALYZE deposit');
      await client.query(
        `SET LOCAL ROLE ${roleNamed('console_merchant')}; SET LOCAL ${PROJECT_SETTING} = '${merchant}'`,
      );
      const { rows } = await client.query<Explained>(`EXPLAIN (FORMAT JSON) ${text}`, [merchant, ...rest]);
      return rows[0]!['QUERY PLAN'];
    },
  );
  const ofDeposits = stepsOf(plan!).filter((step) => step.Alias === 'd');
  expect(ofDeposits).toEqual([
    expect.objectContaining({
      'Index Name': 'deposit_txid_kind_place_key',
      'Index Cond': expect.stringContaining('txid = '),
    }),
  ]);
});

interface Explained {
  readonly 'QUERY PLAN': readonly { readonly Plan: Plan }[];
}

interface Plan {
  readonly Plans?: readonly Plan[];
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Alias?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
}

const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];
