// Leases and due times written while the database clock was an hour ahead: each counts as free or due afterwards.
import { randomUUID } from 'node:crypto';
import { BlockCursor } from '../../../src/platform/blocks/block-cursor.js';
import { AutoDelegationClaims } from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import type { SenderConfig } from '../../../src/platform/config/sender-config.js';
import { MailClaims } from '../../../src/modules/notifications/mail-claims.js';
import { Guesses } from '../../../src/modules/people/guesses.js';
import { DeliveryClaims } from '../../../src/modules/sender/delivery-claims.js';
import { DestinationSlots } from '../../../src/modules/sender/destination-slots.js';
import type { Database, Queryable } from '../../../src/platform/database/database.js';
import { SharedReading } from '../../../src/platform/database/shared-reading.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { ClockWatch } from '../../../src/modules/fulfilment/loop/clock-watch.js';
import { StartupGate } from '../../../src/modules/fulfilment/loop/startup-gate.js';
import { RESOURCES, type Resource } from '../../../src/domain/resource.js';
import { claimShortRentals, TOP_UP_REST_MAX_SEC } from '../../../src/modules/order-records/order-leases.js';
import { wakeOrdersFromAhead, wakePostponedOrders } from '../../../src/modules/order-records/order-schedule.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, settleOrder, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { openLog } from '../../support/log.js';

const SENDER = { sender: { leaseSec: 15 } } as SenderConfig;

let fixture: OrderFixture;
let database: Database;
let customer: Customer;
let projectId: string;

beforeAll(async () => {
  fixture = await openOrderFixture();
  database = fixture.api.database;
  customer = await makeCustomer(fixture.api);
  projectId = customer.merchant;
});

afterAll(() => fixture.close());

const run = (text: string, params: unknown[] = []) => database.query(text, params);

/** Returns the key of a new order. */
async function newOrder(): Promise<string> {
  const key = randomUUID();
  const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 600 };
  expect((await customer.post('/v1/orders', order, withKey(key))).status).toBe(202);
  return key;
}

async function isDue(key: string): Promise<boolean | undefined> {
  const text = `SELECT next_run_at <= clock_timestamp() AS due FROM open_orders WHERE key = $1`;
  return (await database.query<{ due: boolean }>(text, [key]))[0]?.due;
}

describe('a lease that is longer than it can be', () => {
  it('of a shared reading does not keep other processes from reading', async () => {
    let reads = 0;
    const reading = new SharedReading<number>(database, {
      name: 'leased by a later clock',
      refreshMs: 1000,
      readLimitMs: 2000,
      read: () => Promise.resolve((reads += 1)),
      encode: (value) => value,
      decode: (json) => (typeof json === 'number' && json > 0 ? json : undefined),
    });
    await run(
      `INSERT INTO market_state (name, value, measured_at, lease_until)
        VALUES ('leased by a later clock', 'null', 'epoch', clock_timestamp() + interval '1 hour')`,
    );
    await reading.refresh();
    expect([reads, reading.latest()?.value]).toEqual([1, 1]);
  });

  it('of a shared reading is respected while it is within its length', async () => {
    let reads = 0;
    const reading = new SharedReading<number>(database, {
      name: 'leased by another',
      refreshMs: 1000,
      readLimitMs: 600_000,
      read: () => Promise.resolve((reads += 1)),
      encode: (value) => value,
      decode: () => undefined,
    });
    await run(
      `INSERT INTO market_state (name, value, measured_at, lease_until)
        VALUES ('leased by another', 'null', 'epoch', clock_timestamp() + interval '5 minutes')`,
    );
    await reading.refresh();
    expect(reads).toBe(0);
  });

  it('of the deposit cursor passes the turn to another worker', async () => {
    const cursor = new BlockCursor(database);
    await cursor.start({ number: 100, id: '64'.padStart(64, '0'), timestampMs: Date.now() });
    await run(`UPDATE deposit_cursor SET fence = 7, lease_until = clock_timestamp() + interval '1 hour'`);
    expect(await cursor.claim(-1n)).toMatchObject({ block_number: 100n, fence: 8n });
    expect(await cursor.claim(-1n)).toBeUndefined();
  });

  it('of an endpoint passes it to another sender', async () => {
    const id = await endpoint();
    await run(
      `UPDATE webhook_state SET holder = $2, fence = 3, due_at = clock_timestamp() + interval '1 hour',
          lease_until = clock_timestamp() + interval '1 hour' WHERE endpoint_id = $1`,
      [id, randomUUID()],
    );
    expect(await new DeliveryClaims(database, SENDER).claim(100, 0)).toContainEqual({ id, fence: 4, isFailing: false });
  });

  it.each([
    ['undoing true', true],
    ['undoing false', false],
  ])('of an order makes it due although no worker saw the later clock (%s)', async (_name, undoing) => {
    const key = await newOrder();
    const lease = (by: string) =>
      run(
        `UPDATE open_orders SET undoing = $2, fence = fence + 1, lease_until = clock_timestamp() + $3::interval,
            next_run_at = clock_timestamp() + $3::interval WHERE key = $1`,
        [key, undoing, by],
      );
    const watch = new ClockWatch(database, fixture.api.config);
    await lease('30 seconds');
    await watch.checkClock();
    expect(await isDue(key)).toBe(false);
    await lease('1 hour');
    expect((await watch.checkClock()).setBackSec).toBe(0);
    expect(await isDue(key)).toBe(true);
  });

  it('of an auto-delegation lets another worker check it', async () => {
    const id = await autoDelegation();
    await run(
      `UPDATE auto_delegation SET lease_fence = fence, due_at = clock_timestamp() + interval '1 hour' WHERE id = $1`,
      [id],
    );
    const claims = new AutoDelegationClaims(database);
    expect((await claims.claimDue(10)).map((row) => row.id)).toContain(id);
    expect(await claims.claimDue(10)).toEqual([]);
  });

  it('of a notification lets another console mail it', async () => {
    const id = await notification();
    await run(
      `UPDATE notification SET lease_until = clock_timestamp() + interval '1 hour', due_at = clock_timestamp() WHERE membership_id = $1`,
      [id],
    );
    const claims = new MailClaims(database);
    expect((await claims.claim('operator')).map((claim) => claim.id)).toContain(id);
    expect(await claims.claim('operator')).toEqual([]);
  });
});

it('orders postponed by the clock of another server are due after the search for lost commits, but those that it holds', async () => {
  const [postponed, held] = [await newOrder(), await newOrder()];
  await run(
    `UPDATE open_orders SET undoing = true, next_run_at = clock_timestamp() + interval '50 minutes' WHERE key = $1`,
    [postponed],
  );
  await run(
    `UPDATE open_orders SET fence = fence + 1, lease_until = clock_timestamp() + interval '50 seconds',
        next_run_at = clock_timestamp() + interval '50 seconds' WHERE key = $1`,
    [held],
  );
  await run(
    `UPDATE reconcile_state SET search_mark = server_mark(), search_until = clock_timestamp() - interval '1 minute', scanned_at = clock_timestamp()`,
  );
  const [state] = await database.query<Parameters<StartupGate['checkServer']>[0]>(
    `SELECT server_mark, search_mark, search_until, server_mark() AS mark FROM reconcile_state`,
  );
  const client = fixture.api.app.get(TronClient, { strict: false });
  const gate = new StartupGate(database, client, fixture.api.config, openLog('silent'));
  expect(await gate.checkServer(state!)).toBe(true);
  expect([await isDue(postponed), await isDue(held)]).toEqual([true, false]);
});

describe('a due time of a later clock', () => {
  it.each([
    ['when the clock is set back', (tx: Queryable) => wakePostponedOrders(tx, 60), true],
    ['as long as the order waits', (tx: Queryable) => wakeOrdersFromAhead(tx, 60, 3601), false],
  ])('is now although a dead worker leased the order, %s', async (_, wake, endsRests) => {
    const [left, leased, resting] = [await newOrder(), await newOrder(), await newOrder()];
    const postpone = async (key: string, leaseSec: number | null): Promise<void> => {
      const [order] = await database.query<{ id: bigint }>('SELECT id FROM open_orders WHERE key = $1', [key]);
      await settleOrder(fixture.api, order!.id);
      await run(
        `UPDATE open_orders SET next_run_at = clock_timestamp() + interval '50 minutes',
            lease_until = clock_timestamp() + $2 * interval '1 second' WHERE id = $1`,
        [order!.id, leaseSec],
      );
    };
    await postpone(left, -1);
    await postpone(leased, 50);
    await postpone(resting, null);
    await database.transaction(wake);
    expect([await isDue(left), await isDue(leased)]).toEqual([true, false]);
    // A rest of this length is no sign of a later clock by itself.
    expect(await isDue(resting)).toBe(endsRests);
  });
});

describe('a due time further ahead than any rest', () => {
  it('of the top-ups of a rental is now', async () => {
    const key = await newOrder();
    const [order] = await database.query<{ id: bigint }>('SELECT id FROM open_orders WHERE key = $1', [key]);
    await settleOrder(fixture.api, order!.id);
    const claim = async (restedSec: number, resource: Resource): Promise<boolean> => {
      const [after, standing] =
        resource === 'ENERGY'
          ? ['top_up_after', 'sun_per_energy_e6']
          : ['bandwidth_top_up_after', 'sun_per_bandwidth_e6'];
      await run(
        `UPDATE open_orders SET ${after} = clock_timestamp() + $2 * interval '1 second', ${standing} = 1,
            lease_until = NULL WHERE id = $1`,
        [order!.id, restedSec],
      );
      const short = { resource, shortBelowE6: 2n, endsAfter: new Date(0) };
      const claims = await claimShortRentals(database, 30, 100, short);
      return claims.some(({ id }) => id === order!.id);
    };
    for (const resource of RESOURCES) {
      const claimed = [
        await claim(TOP_UP_REST_MAX_SEC - 60, resource),
        await claim(TOP_UP_REST_MAX_SEC + 60, resource),
      ];
      expect(claimed).toEqual([false, true]);
    }
  });

  it('of an endpoint is now', async () => {
    const id = await endpoint();
    await run(`UPDATE webhook_state SET due_at = clock_timestamp() + interval '31 days' WHERE endpoint_id = $1`, [id]);
    expect((await new DeliveryClaims(database, SENDER).claim(100, 0)).map((claim) => claim.id)).toContain(id);
  });

  it('of a webhook’s host is now', async () => {
    const slots = new DestinationSlots(database);
    await run(
      `INSERT INTO webhook_destination (name, free_at) VALUES ('host far.example', clock_timestamp() + interval '1 hour')`,
    );
    expect(await slots.reserve('host far.example')).toBeLessThan(1000);
    expect(await slots.reserve('host far.example')).toBeLessThan(1000);
  });

  it.each([
    ['due_at', 'claimDue'],
    ['check_at', 'claimInRound'],
  ] as const)('of an auto-delegation (%s) is now', async (column, claim) => {
    const id = await autoDelegation();
    await run(`UPDATE auto_delegation SET due_at = NULL, check_at = NULL WHERE id = $1`, [id]);
    await run(`UPDATE auto_delegation SET ${column} = clock_timestamp() + interval '1 hour' WHERE id = $1`, [id]);
    expect((await new AutoDelegationClaims(database)[claim](10)).map((row) => row.id)).toContain(id);
  });

  it('of a notification is now, and mails of a later hour take no place in the present one', async () => {
    const id = await notification();
    await run(
      `UPDATE notification SET due_at = clock_timestamp() + interval '1 day',
          mailed_at = ARRAY(SELECT clock_timestamp() + n * interval '1 day' FROM generate_series(1, 6) n) WHERE membership_id = $1`,
      [id],
    );
    const claims = new MailClaims(database);
    const claim = (await claims.claim('operator')).find((one) => one.id === id);
    expect(claim).toBeDefined();
    expect(await claims.takePlace(claim!)).toBe(true);
  });

  it('of a window of guesses ends it', async () => {
    const guesses = new Guesses(database, Buffer.alloc(32, 7));
    for (let n = 0; n < 60; n += 1) await guesses.countInvitationGuess('203.0.113.7');
    await expect(guesses.countInvitationGuess('203.0.113.7')).rejects.toThrow();
    await run(`UPDATE sign_in_guess SET window_ends = clock_timestamp() + interval '1 day'`);
    await guesses.countInvitationGuess('203.0.113.7');
  });
});

async function endpoint(): Promise<string> {
  const id = randomUUID();
  await run(
    `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, 'https://a.example', '\\x00')`,
    [id, projectId],
  );
  await run(`INSERT INTO webhook_state (endpoint_id) VALUES ($1) ON CONFLICT DO NOTHING`, [id]);
  return id;
}

let addresses = 0;

async function autoDelegation(): Promise<bigint> {
  addresses += 1;
  const [row] = await database.query<{ id: bigint }>(
    `INSERT INTO auto_delegation (project_id, api_key_id, address, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
      SELECT $1, id, $2, 130000, 65000, 300, 0, 3600 FROM api_key WHERE project_id = $1 LIMIT 1 RETURNING id`,
    [projectId, `T${addresses.toString().padStart(33, '1')}`],
  );
  return row!.id;
}

async function notification(): Promise<bigint> {
  const [person] = await database.query<{ id: string }>(
    `INSERT INTO person (audience, email, password_hash, address_proven_at) VALUES ('operator', $1, '', clock_timestamp()) RETURNING id`,
    [`${randomUUID()}@example.com`],
  );
  const [membership] = await database.query<{ id: bigint }>(
    `INSERT INTO membership (person_id, audience, role) VALUES ($1, 'operator', 'admin') RETURNING id`,
    [person!.id],
  );
  await run(`INSERT INTO notification (membership_id, audience, kinds) VALUES ($1, 'operator', '{fault}')`, [
    membership!.id,
  ]);
  return membership!.id;
}
