// Typical tasks in the consoles over HTTP, in the consoles' own roles. Examples are creating a project, receiving
// credits, an order's history with its proof, the reason of a refund, and a price change after a preview.
import { createHash, randomBytes } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { credits } from '../../../src/domain/units.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { seedTestCanaries } from '../../support/cli.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { depositsOn } from '../../support/api/services.js';

const XPUB = HDKey.fromMasterSeed(randomBytes(64)).derive("m/44'/195'/3'").publicExtendedKey;
const RECEIVER = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const USD = 10_000_000;

let store: TestDatabase;
let operators: TestConsole;
let merchants: TestConsole;
let admin: Account;
let owner: Account;
let project: string;
let outsider: Account;
let other: string;

beforeAll(async () => {
  store = await createTestDatabase();
  await seedTestCanaries(store.url);
  operators = await openConsole(store.url, 'operator', { DEPOSIT_XPUB: XPUB });
  merchants = await openConsole(store.url, 'merchant', { DEPOSIT_XPUB: XPUB });
  const { database, app } = operators;
  const addresses = depositsOn(database, app);
  await addresses.useAccount({ number: 100n, id: 'ab'.repeat(32), timestampMs: Date.now() } as never, AUTHOR);
  admin = await operators.signedIn('admin');
  [project, other] = [await makeProject('=Shop, "one"'), await makeProject('Other')];
  owner = await merchants.signedIn('owner', project);
  outsider = await merchants.signedIn('owner', other);
});

afterAll(async () => {
  await merchants.close();
  await operators.close();
  await store.drop();
});

async function makeProject(name: string): Promise<string> {
  const made = await admin.browser.post('/api/operator/projects', { name, terms: 'prepaid', reason: 'a new customer' });
  expect([made.status, made.body.secret]).toEqual([201, expect.stringMatching(/^[0-9a-f]{48}$/)]);
  return made.body.project.id as string;
}

const of = (rest: string, id = project): string => `/api/projects/${id}${rest}`;

/** Changes rows as a worker would have, with triggers off. */
async function asLeft(...statements: readonly string[]): Promise<void> {
  await asAdmin(store.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    for (const statement of statements) await client.query(statement);
  });
}

let made = 0;
const txidOf = (raw: string): string => createHash('sha256').update(raw).digest('hex');

interface Seeded {
  readonly id: number;
  readonly key: string;
  readonly txid: string;
}

/** Inserts a delivered or refunded rental. */
async function rental(
  status: 'delivered' | 'refunded',
  of_ = project,
  more: { energy?: number; duration?: number; price?: number } = {},
): Promise<Seeded> {
  made += 1;
  const id = 5000 + made;
  const raw = `raw ${id.toString()}`;
  const { energy = 65_000, duration = 3600, price = 3_900_000 } = more;
  const credits_ = Math.ceil((price * 0.3 * 10_000_000) / 1_000_000);
  const error =
    status === 'refunded' ? `'SUPPLIER_REFUSED', 'The delegation expired before any block took it.'` : 'NULL, NULL';
  const isDelivered = status === 'delivered';
  await asLeft(
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits, trx_usd_e8,
       request_id, created_at, settled, error_code, error, delivered_at, ends_at, delivered_energy)
     OVERRIDING SYSTEM VALUE VALUES (${id.toString()}, '${of_}', 'order-${id.toString()}', sha256(''), 'rental', '${status}', '${RECEIVER}', ${energy.toString()},
       ${duration.toString()}, ${price.toString()}, ${credits_.toString()}, 30000000, 'req-${id.toString()}', clock_timestamp() - interval '10 seconds', true, ${error},
       ${isDelivered ? `now(), now() + interval '41 minutes', ${energy.toString()}` : 'NULL, NULL, NULL'})`,
    `INSERT INTO pool_wallet (id, address, role, permission_id, key_address) OVERRIDING SYSTEM VALUE
     VALUES (${id.toString()}, 'TPool${id.toString()}', 'pool', 2, 'T')`,
    `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status)
     OVERRIDING SYSTEM VALUE VALUES (${id.toString()}, ${id.toString()}, 1, 'rental', ${id.toString()}, '${RECEIVER}', 1000000, ${energy.toString()}, '${isDelivered ? 'active' : 'released'}')`,
    `INSERT INTO chain_tx (leg_id, order_id, purpose, attempt, wallet_id, raw_data, txid, ref_block_number, expires_at, status, sent_at, block_number, block_id, block_at, evidence, fee_sun)
     VALUES (${id.toString()}, ${id.toString()}, 'delegate', 1, ${id.toString()}, '${raw}', '\\x${txidOf(raw)}', 1, now(), '${isDelivered ? 'solid' : 'dead'}', now(),
       ${isDelivered ? `777, '\\x${'cd'.repeat(32)}', now(), NULL, 345` : `NULL, NULL, NULL, '{"expiresAtMs": 1}', NULL`})`,
    `INSERT INTO event (project_id, order_id, type, position, payload, at, chain_at) VALUES ('${of_}', ${id.toString()}, 'order.${status}', ${id.toString()},
       '{"id":"evt_${id.toString()}","type":"order.${status}","position":${id.toString()},"timestamp":"2026-11-24T00:00:00.000Z","data":{}}', (SELECT created_at + interval '3.4 seconds' FROM orders WHERE id = ${id.toString()}), now())`,
    `INSERT INTO credit_entry (entry_key, project_id, order_id, contra, kind, credits) VALUES ('charge:${id.toString()}', '${of_}', ${id.toString()}, 'revenue', 'charge', ${(-credits_).toString()})`,
    ...(isDelivered
      ? []
      : [
          `INSERT INTO credit_entry (entry_key, project_id, order_id, contra, kind, credits) VALUES ('refund:${id.toString()}', '${of_}', ${id.toString()}, 'revenue', 'refund', ${credits_.toString()})`,
        ]),
  );
  return { id, key: `order-${id.toString()}`, txid: txidOf(raw) };
}

const CHAIN_STATE = `INSERT INTO market_state (name, value) VALUES ('chain',
  '{"energyFeeSun":"100","transactionFeeSunPerByte":"1000","createAccountFeeSun":"1100000","totalEnergyLimit":"1","totalEnergyWeight":"1"}')
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

describe('credits that arrive', () => {
  it('are paid in at an address that the account’s key derives again, together with what it accepts', async () => {
    const { status, body } = await owner.browser.get(of('/deposit-address'));
    expect([status, body]).toEqual([
      200,
      {
        address: expect.stringMatching(/^T[1-9A-HJ-NP-Za-km-z]{33}$/),
        network: 'TRON (TRC20)',
        accepts: [
          { asset: 'TRX', minimum: '10.000000', from_contracts: false },
          { asset: 'USDT', contract: expect.stringMatching(/^T/), minimum: '5.000000' },
        ],
        checked_at: expect.any(String),
      },
    ]);
    await asLeft(`UPDATE deposit_address SET address = 'T${'1'.repeat(33)}' WHERE project_id = '${other}'`);
    expect((await outsider.browser.get(of('/deposit-address', other))).status).toBe(500);
  });

  it('are shown as they come, with their status in words, and in the balance of days', async () => {
    await operators.app.get(Ledger).topUp(project, credits(100 * USD), 'bank-1', AUTHOR);
    const before = await owner.browser.get(of('/arrivals'));
    expect(before.body).toEqual({ position: 0, events: [], balance: { credits: 100 * USD, usd: '100.000000' } });
    const [address] = await merchants.database.query<{ address: string }>(
      'SELECT address FROM deposit_address WHERE project_id = $1',
      [project],
    );
    await asLeft(
      `INSERT INTO deposit (project_id, txid, kind, place, address, from_address, asset, amount, status, reason, block_number, block_id, block_at)
       VALUES ('${project}', '\\x${'d1'.repeat(32)}', 'native', 0, '${address!.address}', '${RECEIVER}', 'TRX', 12500000, 'pending', 'not_solid', 7, '\\x${'d2'.repeat(32)}', now()),
              ('${project}', '\\x${'d3'.repeat(32)}', 'log', 1, '${address!.address}', '${RECEIVER}', 'USDT', 1000000, 'pending', 'below_minimum', 8, '\\x${'d2'.repeat(32)}', now()),
              ('${other}', '\\x${'d4'.repeat(32)}', 'log', 1, 'T', '${RECEIVER}', 'USDT', 1000000, 'credited', NULL, 8, '\\x${'d2'.repeat(32)}', now())`,
      `INSERT INTO event_position (project_id, position) VALUES ('${project}', 1)`,
      `INSERT INTO event (project_id, type, position, payload) VALUES ('${project}', 'deposit.pending', 1, '{"id":"evt_1","type":"deposit.pending","timestamp":"2026-11-24T10:00:00.000Z"}')`,
    );
    const arrived = await owner.browser.get(of('/arrivals?after=0'));
    expect(arrived.body).toMatchObject({
      position: 1,
      events: [{ type: 'deposit.pending', position: 1, timestamp: '2026-11-24T10:00:00.000Z' }],
    });
    const { body } = await owner.browser.get(of('/deposits'));
    expect(body.items).toMatchObject([
      { asset: 'USDT', status: 'pending', reason: 'below_minimum', says: expect.stringContaining('below the minimum') },
      { asset: 'TRX', amount: '12.500000', says: expect.stringContaining('final') },
    ]);
    expect((await owner.browser.get(of('/deposits?status=held'))).body.items).toEqual([]);
    expect((await owner.browser.get(of('/deposits/new?since=Yzk'))).status).toBe(200);
    const csv = await owner.browser.get(of('/deposits.csv?status=pending'));
    expect(csv.headers['content-type']).toContain('text/csv');
    expect(csv.text.trim().split('\r\n')).toHaveLength(3);
  });
});

it('a deposit that is given back is shown as such to its project and to operators, and so is the payment of it', async () => {
  const txid = `'\\x${'e5'.repeat(32)}'`;
  await asLeft(
    `INSERT INTO deposit (id, project_id, txid, kind, place, address, from_address, asset, amount, status, credits, rate_e8, block_number, block_id, block_at)
     OVERRIDING SYSTEM VALUE VALUES (9001, '${project}', '\\x${'e4'.repeat(32)}', 'native', 0, 'TDeposit', '${RECEIVER}', 'TRX', 40000000, 'credited', 120000000, 30000000, 9, '\\x${'d2'.repeat(32)}', now())`,
    `INSERT INTO deposit_return (deposit_id, to_address, txid, expires_at) VALUES (9001, '${RECEIVER}', ${txid}, now())`,
  );
  const service = '/api/operator/deposits?status=credited';
  const says = async (text: string): Promise<void> => {
    for (const [who, path] of [
      [owner, of('/deposits?status=credited')],
      ...[of('/deposits?status=credited'), service, `${service}&project=${project}`].map(
        (each) => [admin, each] as const,
      ),
    ] as const) {
      const items = (await who.browser.get(path)).body.items as { id: string; says: string }[];
      const said = `Its credits were deducted from your balance again. ${text}`;
      expect([path, items.find(({ id }) => id === 'dep_9001')?.says]).toEqual([path, said]);
    }
  };
  await says('It is being returned to the sender; the transaction is not on chain yet.');
  await asLeft(
    `INSERT INTO deposit_movement (txid, kind, place, address, asset, amount, counterparty, block_number, block_at)
     VALUES (${txid}, 'native', 0, 'TDeposit', 'TRX', -40000000, '${RECEIVER}', 10, now())`,
  );
  await says('It was returned to the sender; the transaction is on chain.');
});

describe('the history of an order', () => {
  it('tells in one sentence how the order stands, with its times, money, proof and request', async () => {
    await asLeft(CHAIN_STATE);
    const { key, txid } = await rental('delivered');
    const { status, body } = await owner.browser.get(of(`/orders/${key}`));
    expect([status, body.sentence]).toEqual([
      200,
      expect.stringMatching(/^Delivered in 3\.4 s; ends (?:in 4[01] min|at )/),
    ]);
    expect(body.order).toMatchObject({ key, status: 'delivered', charged: { usd: '1.170000' } });
    expect(body.timeline).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ what: 'Delivered', at: expect.any(String), chain_at: expect.any(String) }),
        expect.objectContaining({ what: 'Delegation in block 777', txid, block_number: 777 }),
      ]),
    );
    expect(body.money).toMatchObject({
      burning_trx: '6.500000',
      burning_as_of: 'now',
      price_trx: '3.900000',
      entries: [{ kind: 'charge', amount: { usd: '-1.170000' }, txids: [txid] }],
    });
    expect(body.proof).toEqual([
      expect.objectContaining({
        purpose: 'delegate',
        txid,
        block_number: 777,
        block_id: 'cd'.repeat(32),
        check: expect.stringContaining(txid),
      }),
    ]);
    expect(body).not.toHaveProperty('receiver_energy');
    expect(body.proof[0].owner_address).toMatch(/^TPool/);
    expect(body.request).toMatchObject({
      key_name: 'primary',
      idempotency_key: key,
      is_own_key: false,
      replays: 0,
      request_id: expect.stringMatching(/^req-/),
    });
    expect(body.raw).toMatchObject({ key, status: 'delivered', delegations: [{ txid }] });
    expect(body.curl).toContain('CC-HMAC-SHA256-REQ-V1');
    // Internal data stays internal.
    expect(body).not.toHaveProperty('operator');
    for (const secret of ['"fee_sun"', '345', '"evidence"', '"wallet_id"'])
      expect(JSON.stringify(body.proof)).not.toContain(secret);
  });

  it('has what the receiver could use before and after, each where it was read', async () => {
    const { key, id } = await rental('delivered');
    const read = async () => (await owner.browser.get(of(`/orders/${key}`))).body.receiver_energy as unknown;
    await asLeft(
      `INSERT INTO receiver_energy (order_id, after_energy, after_block) VALUES (${id.toString()}, 65012, 778)`,
    );
    expect(await read()).toEqual({ after: { energy: 65_012, block_number: 778 } });
    await asLeft(`UPDATE receiver_energy SET before_energy = 0, before_block = 775 WHERE order_id = ${id.toString()}`);
    expect(await read()).toEqual({
      before: { energy: 0, block_number: 775 },
      after: { energy: 65_012, block_number: 778 },
    });
    expect((await outsider.browser.get(of(`/orders/${key}`, other))).status).toBe(404);
  });

  it('also shows legs, attempts and evidence to operators, and records the look in the audit log', async () => {
    const { key, id } = await rental('refunded');
    const { body } = await admin.browser.get(of(`/orders/${key}`));
    expect(body.operator).toMatchObject({
      standing: expect.stringContaining('Proven dead'),
      project: { id: project, name: '=Shop, "one"' },
      legs: [{ leg_no: 1, status: 'released' }],
      attempts: [{ status: 'dead', evidence: { expiresAtMs: 1 } }],
    });
    expect((await admin.browser.get(of(`/orders/${id.toString()}`))).body.order.key).toBe(key);
    const views = await merchants.database.query(
      `SELECT FROM audit_log WHERE action = 'console.look' AND subject = $1`,
      [project],
    );
    expect(views.length).toBeGreaterThan(0);
  });

  it('tells why the order was refunded, in the order of events', async () => {
    const { key, txid } = await rental('refunded');
    const { status, body } = await owner.browser.get(of(`/orders/${key}/refund`));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      summary: 'The delegation expired before any block took it.',
      error_code: 'SUPPLIER_REFUSED',
      refunded: { usd: '1.170000' },
      advice: expect.stringContaining('new Idempotency-Key'),
    });
    const said = body.evidence.map(({ says }: { says: string }) => says);
    expect(said).toEqual([
      'Accepted; $1.170000 charged.',
      `Delegation ${txid} was sent.`,
      `Delegation ${txid} can no longer be included: it has expired, and no final block up to its expiration contains it.`,
      '$1.170000 returned: the full charge.',
      'The order is refunded; this is final.',
    ]);
    expect((await owner.browser.get(of(`/orders/${(await rental('delivered')).key}/refund`))).status).toBe(404);
  });

  it('is visible to the project of the order alone', async () => {
    const { key } = await rental('delivered', other);
    for (const rest of [`/orders/${key}`, `/orders/${key}/refund`]) {
      expect((await owner.browser.get(of(rest))).status).toBe(404);
      expect((await owner.browser.get(of(rest, other))).status).toBe(404);
    }
    expect((await outsider.browser.get(of(`/orders/${key}`, other))).status).toBe(200);
  });
});

describe('a list of orders', () => {
  it('is read page by page by a cursor, within its filters, and tells how many orders came since', async () => {
    for (let count = 0; count < 3; count += 1) await rental('delivered');
    const first = await owner.browser.get(of('/orders?limit=2'));
    const second = await owner.browser.get(of(`/orders?limit=2&cursor=${first.body.next_cursor as string}`));
    const ids = [...first.body.items, ...second.body.items].map(({ id }: { id: number }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => b - a));
    expect(new Set(ids).size).toBe(4);
    const { newest } = first.body as { newest: string };
    expect((await owner.browser.get(of(`/orders/new?since=${newest}`))).body).toEqual({ count: 0 });
    const { key } = await rental('refunded');
    expect((await owner.browser.get(of(`/orders/new?since=${newest}`))).body).toEqual({ count: 1 });
    expect((await owner.browser.get(of(`/orders/new?since=${newest}&status=delivered`))).body).toEqual({ count: 0 });
    const refunded = await owner.browser.get(of('/orders?status=refunded&limit=1'));
    expect(refunded.body.items.map((line: { key: string }) => line.key)).toEqual([key]);
    expect((await owner.browser.get(of(`/orders?receiver=T&from=2026-01-01`))).body.items).toEqual([]);
    for (const query of ['cursor=nonsense', 'limit=101', 'status=gone', 'from=yesterday', 'unknown=1']) {
      expect([query, (await owner.browser.get(of(`/orders?${query}`))).status]).toEqual([query, 400]);
    }
  });

  it('is given as CSV of exactly its filter, in which no cell is a formula', async () => {
    await asLeft(
      `UPDATE orders SET key = '=HYPERLINK("x")' WHERE id = (SELECT max(id) FROM orders WHERE project_id = '${project}' AND status = 'refunded')`,
    );
    const csv = await owner.browser.get(of('/orders.csv?status=refunded'));
    const [head, ...lines] = csv.text.trim().split('\r\n');
    expect(head).toContain('receive_address');
    expect(lines.every((line) => line.includes('refunded'))).toBe(true);
    expect(csv.text).toContain(`"'=HYPERLINK(""x"")"`);
    expect((await owner.browser.get(of('/orders.csv', other))).status).toBe(404);
  });
});

describe('a change of a price', () => {
  it('is previewed before it is made: the sales of thirty days recomputed, and what is no longer worth renting', async () => {
    await asLeft(
      CHAIN_STATE,
      `INSERT INTO price_row VALUES (3600, 60), (86400, 80) ON CONFLICT (duration_max_sec) DO UPDATE SET sun_per_energy = excluded.sun_per_energy`,
    );
    const table = await admin.browser.get('/api/operator/prices');
    expect(table.body.rows).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ duration_max_sec: 3600, sun_per_energy: 60 })]),
    );
    const cheaper = await admin.browser.post('/api/operator/prices/preview', {
      duration_max_sec: 3600,
      sun_per_energy: 50,
    });
    expect([cheaper.status, cheaper.body.before_sun_per_energy]).toEqual([200, 60]);
    const { effect } = cheaper.body;
    expect(effect.orders).toBeGreaterThan(5);
    expect(effect.revenue_after.credits).toBe(Math.round((effect.revenue.credits * 50) / 60));
    expect(effect.projects[0]).toMatchObject({ name: expect.any(String), before: expect.any(Object) });
    expect(effect.not_worth_renting.orders).toBe(0);
    const dear = await admin.browser.post('/api/operator/prices/preview', {
      duration_max_sec: 3600,
      sun_per_energy: 100,
    });
    expect(dear.body.effect.not_worth_renting.orders).toBe(effect.orders);
    expect(dear.body.doubts.join(' ')).toContain('NOT_WORTH_RENTING');
    expect(dear.body.edges).toEqual([{ duration_max_sec: 3600, least_energy_before: expect.any(Number) }]);
  });

  it('is made with a reason, audited, and refused when another person was first or when it is a likely mistake', async () => {
    const save = (more: object) =>
      admin.browser.post('/api/operator/prices', {
        duration_max_sec: 3600,
        sun_per_energy: 55,
        before_sun_per_energy: 60,
        reason: 'market',
        ...more,
      });
    expect((await save({ before_sun_per_energy: 59 })).body.error).toBe('CONFLICT');
    expect((await save({ sun_per_energy: 1 })).status).toBe(400);
    expect((await save({ reason: ' ' })).status).toBe(400);
    const saved = await save({});
    expect(saved.body.rows).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ duration_max_sec: 3600, sun_per_energy: 55 })]),
    );
    const [act] = await operators.database.query(
      `SELECT actor, reason, detail FROM audit_log WHERE action = 'price.set' ORDER BY id DESC LIMIT 1`,
    );
    expect(act).toEqual({ actor: admin.email, reason: 'market', detail: { before: '60', after: '55' } });
    const support = await operators.signedIn('support');
    expect((await support.browser.post('/api/operator/prices', {})).status).toBe(403);
    expect((await support.browser.get('/api/operator/prices')).status).toBe(200);
    expect((await owner.browser.get('/api/operator/prices')).status).toBe(404);
  });
});

it('a project is created, listed and frozen by an admin, with a reason that is recorded', async () => {
  const list = await admin.browser.get('/api/operator/projects');
  expect(list.body.items.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['=Shop, "one"', 'Other']),
  );
  const times = list.body.items.map(({ created_at: at }: { created_at: string }) => at);
  expect(times).toEqual([...times].sort().reverse());
  expect(list.body.items.map(({ test }: { test?: true }) => test)).not.toContain(true);
  const frozen = await admin.browser.post(`/api/operator/projects/${other}/freeze`, { reason: 'asked by its owner' });
  expect(frozen.body).toMatchObject({ id: other, frozen: true });
  expect((await admin.browser.post(`/api/operator/projects/${other}/unfreeze`, { reason: 'over' })).body.frozen).toBe(
    false,
  );
  const acts = await operators.database.query<{ action: string }>(
    `SELECT action FROM audit_log WHERE subject = $1 AND actor = $2 ORDER BY id`,
    [other, admin.email],
  );
  expect(acts.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['project.create', 'project.freeze', 'project.unfreeze']),
  );
  const bad = { name: 'x', terms: 'postpaid', reason: 'y' };
  expect((await admin.browser.post('/api/operator/projects', bad)).status).toBe(400);
});
