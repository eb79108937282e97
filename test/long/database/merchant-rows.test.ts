// The merchant console's view of the database: only rows of the project that its transaction names, and no internal
// data. Tested in SQL under its role, on every table that it may read.
import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { TABLE_GRANTS } from '../../../src/platform/database/grants.js';
import { MERCHANT_TABLES } from '../../../src/platform/database/merchant-grants.js';
import { planPolicies, policiesIn, wantedPolicies } from '../../../src/platform/database/row-policies.js';
import type { Database } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const [MINE, THEIRS] = [randomUUID(), randomUUID()];
const ROLE = 'energy_console_merchant';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = await openAsOwner(test.url);
});

afterAll(async () => {
  await database.source.destroy();
  await test.drop();
});

/** Tables in its declared grants, except `migrations`, which holds no project data. */
const READABLE = Object.entries(TABLE_GRANTS)
  .filter(([, by]) => by.console_merchant?.select !== undefined)
  .map(([table]) => table)
  .filter((table) => table !== 'migrations');
/** Tables of people and sessions: other tests cover them by audience. Of the audit log only ids are visible. */
const OF_PEOPLE = [
  'audit_log',
  ...['console_session', 'invitation', 'key_canary', 'mail_refusal', 'membership', 'notification', 'person'],
  ...['recovery_code', 'sign_in_guess'],
];
/** Tables without project data. */
const OF_ALL = ['clock_mark', 'deposit_cursor', 'deposit_token', 'market_state', 'price_row'];

const bytes = (length = 32): string => `'\\x${randomBytes(length).toString('hex')}'`;
const nextId = (
  (id) => (): string =>
    (id += 1).toString()
)(1000);

/** Inserts a row of the project with its dependencies. Triggers and foreign keys are off. */
const ROW_OF: Readonly<Record<string, (project: string) => readonly string[]>> = {
  api_key: (p) => [
    `INSERT INTO api_key (id, project_id, name, scopes, sealed) VALUES ('${p}', '${p}', 'k', '{read,quote,order,manage}', 'x')`,
  ],
  auto_delegation: (p) => [
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
     VALUES ('${p}', 'T', '${p}', 1, 1, 1, 1, 1)`,
  ],
  chain_tx: (p) => withOrder(p, (order) => transaction(order, nextId())),
  credit_account: (p) => [`INSERT INTO credit_account (project_id) VALUES ('${p}')`],
  credit_entry: (p) => [
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits) VALUES ('e${p}', '${p}', 'funding', 'topup', 1)`,
  ],
  deposit: (p) => [deposit(p, nextId())],
  deposit_address: (p) => [`INSERT INTO deposit_address VALUES ('T${p}', '${p}', 0, ${nextId()})`],
  deposit_return: (p) => {
    const id = nextId();
    return [
      deposit(p, id),
      `INSERT INTO deposit_return (deposit_id, to_address, txid, expires_at) VALUES (${id}, 'T', ${bytes()}, now())`,
    ];
  },
  event: (p) => [`INSERT INTO event (project_id, type, snapshot) VALUES ('${p}', 'key.created', '{}')`],
  event_position: (p) => [`INSERT INTO event_position (project_id, position) VALUES ('${p}', 1)`],
  explanation_request: (p) => [
    `INSERT INTO explanation_request (id, project_id, txid) VALUES ('${randomUUID()}', '${p}', ${bytes()})`,
  ],
  leg: (p) => withOrder(p, (order) => leg(order, nextId())),
  order_extension: (p) => [
    `INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8, ends_at)
     VALUES (${nextId()}, 1, '${p}', 'k', ${bytes()}, 1, 1, 1, 1, now())`,
  ],
  order_replay: (p) =>
    withOrder(p, (order) => `INSERT INTO order_replay (order_id, replays, last_at) VALUES (${order}, 1, now())`),
  orders: (p) => withOrder(p, () => 'SELECT'),
  project: (p) => [`INSERT INTO project (id, name, api_key_sealed) VALUES ('${p}', 'p', 'x')`],
  receiver_energy: (p) =>
    withOrder(
      p,
      (order) => `INSERT INTO receiver_energy (order_id, after_energy, after_block) VALUES (${order}, 1, 1)`,
    ),
  refused_request: (p) => [
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
     VALUES ('${p}', now(), 'r', 'GET', '/', 401, 'E', 'r', '::1')`,
  ],
  rental_use: (p) =>
    withOrder(p, (order) => `INSERT INTO rental_use (order_id, energy, calls, last_block) VALUES (${order}, 1, 1, 1)`),
  statement: (p) => [
    `INSERT INTO statement (project_id, number, month, ends_at, first_at, entries_to, rest_from, lines, opening_credits, charge_credits,
       refund_credits, compensation_credits, deposit_credits, topup_credits, adjustment_credits, closing_credits)
     VALUES ('${p}', 1, '2026-01-01', now(), now(), 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)`,
  ],
  webhook_delivery: (p) => {
    const id = randomUUID();
    return [
      endpoint(p, id),
      `INSERT INTO webhook_delivery (endpoint_id, cause, event_key, type, payload) VALUES ('${id}', 'test', 'e', 't', '{}')`,
    ];
  },
  webhook_endpoint: (p) => [endpoint(p, randomUUID())],
  webhook_act: (p) => [`INSERT INTO webhook_act (project_id, act, count) VALUES ('${p}', 'change', 1)`],
  webhook_state: (p) => {
    const id = randomUUID();
    return [endpoint(p, id), `INSERT INTO webhook_state (endpoint_id) VALUES ('${id}')`];
  },
};

function withOrder(project: string, further: (order: string) => string): string[] {
  const id = nextId();
  return [
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
     OVERRIDING SYSTEM VALUE VALUES (${id}, '${project}', 'k${id}', sha256(''), 'activation', 'reserved', 'T', 1, 1, 1, now())`,
    further(id),
  ];
}

const leg = (order: string, id: string): string =>
  `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
   OVERRIDING SYSTEM VALUE VALUES (${id}, ${order}, 1, 'activation', 1, 'T', 1, 'reserved')`;
const transaction = (order: string, id: string): string =>
  `INSERT INTO chain_tx (leg_id, order_id, purpose, attempt, wallet_id, raw_data, txid, ref_block_number, expires_at, status)
   VALUES (${id}, ${order}, 'activate', 1, 1, 'raw${id}', sha256('raw${id}'), 1, now(), 'built')`;
const deposit = (project: string, id: string): string =>
  `INSERT INTO deposit (id, project_id, txid, kind, place, address, from_address, asset, amount, status, block_number, block_id, block_at)
   OVERRIDING SYSTEM VALUE VALUES (${id}, '${project}', ${bytes()}, 'native', 0, 'T', 'T', 'TRX', 1, 'pending', 1, ${bytes()}, now())`;
const endpoint = (project: string, id: string): string =>
  `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ('${id}', '${project}', 'https://a.example', 'x')`;

/** Runs `work` under the role, after the owner ran `before`. Rolls everything back. */
async function asMerchant<T>(
  before: readonly string[],
  project: string | undefined,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return asAdmin(test.url, async (client) => {
    await client.query('BEGIN');
    try {
      await client.query('SET LOCAL session_replication_role = replica');
      for (const statement of before) await client.query(statement);
      await client.query('SET LOCAL session_replication_role = origin');
      await client.query(`SET LOCAL ROLE ${ROLE}`);
      if (project !== undefined) await client.query(`SELECT set_config('energy.project', $1, true)`, [project]);
      return await work(client);
    } finally {
      await client.query('ROLLBACK');
    }
  });
}

/** Counts rows: count(*) needs SELECT on any one column. */
async function countOf(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]!.count;
}

const refusal = async (client: pg.Client, statement: string): Promise<string> =>
  client.query(statement).then(
    () => 'done',
    (error: unknown) => (error as pg.DatabaseError).code ?? String(error),
  );

describe('row-level security', () => {
  it('is on every table that a merchants’ console reads, as declared, and affects no other role', async () => {
    expect(await policiesIn(database)).toEqual(
      wantedPolicies().sort((a, b) => (`${a.table} ${a.name}` < `${b.table} ${b.name}` ? -1 : 1)),
    );
    const secured = await database.query<{ name: string }>(
      `SELECT relname::text AS name FROM pg_class WHERE relrowsecurity AND relnamespace = 'public'::regnamespace`,
    );
    expect(secured.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(MERCHANT_TABLES)));
    expect(await planPolicies(database, true)).toEqual([]);
    expect(await planPolicies(database, false)).toEqual([]);
  });

  it('leaves only ids of the audit log readable', () => {
    expect(TABLE_GRANTS['audit_log']?.console_merchant?.select).toEqual({ only: ['id'] });
  });

  it('is checked below for every table that the role may read', () => {
    expect(READABLE.filter((table) => !OF_PEOPLE.includes(table)).sort()).toEqual(
      [...Object.keys(ROW_OF), ...OF_ALL].sort(),
    );
    expect(Object.keys(MERCHANT_TABLES).sort()).toEqual([...Object.keys(ROW_OF), ...OF_ALL].sort());
  });
});

describe.each(Object.keys(ROW_OF))('for %s', (table) => {
  const both = [...ROW_OF[table]!(MINE), ...ROW_OF[table]!(THEIRS)];

  it('the row of its project is seen, that of another project is not', async () => {
    expect(await asMerchant(both, MINE, (client) => countOf(client, table))).toBe(1);
    expect(await asMerchant(both, randomUUID(), (client) => countOf(client, table))).toBe(0);
  });

  it('no row is seen while no project is set, nor for an empty name', async () => {
    expect(await asMerchant(both, undefined, (client) => countOf(client, table))).toBe(0);
    expect(await asMerchant(both, '', (client) => countOf(client, table))).toBe(0);
  });

  it('no row of another project is changed or deleted', async () => {
    const access = MERCHANT_TABLES[table]!.access;
    const [column] =
      access.update !== undefined && access.update !== 'all' && 'only' in access.update ? access.update.only : [];
    if (column !== undefined) {
      const count = await asMerchant(both, MINE, async (client) => {
        const changed = await client
          .query(`UPDATE ${table} SET ${column} = DEFAULT`)
          .catch((error: unknown) => error as Error);
        return changed instanceof Error ? 0 : (changed.rowCount ?? 0);
      });
      expect(count).toBeLessThanOrEqual(1);
    }
    if (access.delete !== undefined) {
      expect(
        await asMerchant(both, MINE, async (client) => (await client.query(`DELETE FROM ${table}`)).rowCount),
      ).toBe(1);
    }
    if (access.insert !== undefined) expect(await insertedForAnother(table)).toBe('42501');
  });
});

/** Returns the error when the role inserts another project's row. */
async function insertedForAnother(table: string): Promise<string> {
  const statements = ROW_OF[table]!(THEIRS);
  return asMerchant(statements.slice(0, -1), MINE, (client) => refusal(client, statements.at(-1)!));
}

it('a merchants’ console sees the chain’s figures and the charged rate of the market, and no other reading', async () => {
  const before = [
    `DELETE FROM market_state`,
    `INSERT INTO market_state (name, value) VALUES ('chain', '{}'), ('sizing', '{"holder":"T"}'), ('trx-usd', '{}'), ('trx-usd-held', '{}')`,
  ];
  const names = await asMerchant(
    before,
    MINE,
    async (client) => (await client.query('SELECT name FROM market_state ORDER BY name')).rows,
  );
  expect(names).toEqual([{ name: 'chain' }, { name: 'trx-usd' }]);
});

it.each([
  ['a sealed API key', 'SELECT sealed FROM api_key'],
  ['the previous secret', 'SELECT previous_sealed FROM api_key'],
  ['a project’s primary key', 'SELECT api_key_sealed FROM project'],
  ['a webhook’s secret', 'SELECT secret_sealed FROM webhook_endpoint'],
  ['the cost of a transaction', 'SELECT fee_sun FROM chain_tx'],
  ['the evidence of a transaction', 'SELECT evidence FROM chain_tx'],
  ['the signature of a transaction', 'SELECT signature FROM chain_tx'],
  ['the delivering wallet', 'SELECT wallet_id FROM leg'],
  ['the reason for closing a leg', 'SELECT closed_reason FROM leg'],
  ['the operator of a booking', 'SELECT actor FROM credit_entry'],
  ['the stored payload of an event', 'SELECT snapshot FROM event'],
  ['the claim of an order', 'SELECT fence FROM orders'],
  ['the pool', 'SELECT address FROM pool_wallet'],
  ['the slots of the pool', 'SELECT FROM pool_slot'],
  ['the broadcasts', 'SELECT FROM broadcast'],
  ['unrecorded transactions', 'SELECT FROM orphan_tx'],
  ['explained findings', 'SELECT FROM explained_finding'],
  ['the balances of deposit addresses', 'SELECT FROM deposit_movement'],
])('a merchants’ console may not read %s', async (_what, statement) => {
  expect(await asMerchant([], MINE, (client) => refusal(client, statement))).toBe('42501');
});

it('shows the wallet that delivered an order to its own project alone', async () => {
  const [order, id] = [nextId(), nextId()];
  const before = [
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
     OVERRIDING SYSTEM VALUE VALUES (${order}, '${MINE}', 'k', sha256(''), 'rental', 'delivered', 'T', 1, 1, 1, now())`,
    `INSERT INTO pool_wallet (id, address, role, permission_id, key_address) OVERRIDING SYSTEM VALUE VALUES (77, 'TOwner', 'pool', 2, 'T')`,
    `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
     OVERRIDING SYSTEM VALUE VALUES (${id}, ${order}, 1, 'rental', 77, 'T', 1, 'active')`,
    `INSERT INTO chain_tx (leg_id, order_id, purpose, attempt, wallet_id, raw_data, txid, ref_block_number, expires_at, status)
     VALUES (${id}, ${order}, 'delegate', 1, 77, 'raw', sha256('raw'), 1, now(), 'sending')`,
  ];
  const legs = (project: string | undefined) =>
    asMerchant(
      before,
      project,
      async (client) => (await client.query(`SELECT project_order_legs(${order}) AS legs`)).rows,
    );
  expect(await legs(MINE)).toEqual([{ legs: [expect.objectContaining({ owner: 'TOwner' })] }]);
  for (const project of [THEIRS, undefined]) expect((await legs(project))[0]?.legs ?? null).toBeNull();
});

it('shows the state of a deposit’s return to its own project alone', async () => {
  const [unpaid, paid] = [nextId(), nextId()];
  const returned = (id: string): string =>
    `INSERT INTO deposit_return (deposit_id, to_address, txid, expires_at) VALUES (${id}, 'TCustomer', sha256('${id}'), now())`;
  const moved = (id: string, kind: string): string =>
    `INSERT INTO deposit_movement (txid, kind, place, address, asset, amount, counterparty, block_number, block_at)
     SELECT sha256('${id}'), '${kind}', 0, address, asset, -1, ${kind === 'fee' ? 'NULL' : `'TCustomer'`}, 1, now() FROM deposit WHERE id = ${id}`;
  const before = [
    ...[unpaid, paid].flatMap((id) => [deposit(MINE, id), returned(id)]),
    // A failed transaction leaves only its fee.
    ...[moved(unpaid, 'fee'), moved(paid, 'native')],
  ];
  const states = (project: string | undefined) =>
    asMerchant(
      before,
      project,
      async (client) =>
        (await client.query(`SELECT * FROM project_deposit_returns('{${unpaid},${paid}}') ORDER BY deposit_id`)).rows,
    );
  expect(await states(MINE)).toEqual([
    { deposit_id: unpaid, is_paid: false },
    { deposit_id: paid, is_paid: true },
  ]);
  for (const project of [THEIRS, undefined]) expect(await states(project)).toEqual([]);
});

it('shows every row to any other role', async () => {
  for (const role of ['api', 'worker', 'cli', 'console_operator', 'reports']) {
    const count = await asAdmin(test.url, async (client) => {
      await client.query('BEGIN; SET LOCAL session_replication_role = replica');
      for (const statement of [...ROW_OF['orders']!(MINE), ...ROW_OF['orders']!(THEIRS)]) await client.query(statement);
      await client.query(`SET LOCAL ROLE energy_${role}`);
      const found = await countOf(client, 'orders');
      await client.query('ROLLBACK');
      return found;
    });
    expect([role, count]).toEqual([role, 2]);
  }
});
