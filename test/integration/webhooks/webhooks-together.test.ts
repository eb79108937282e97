// Deliveries that start or end together: their slots at a host, and the records of their outcomes.
import { DeliveryClaims, type ClaimedEndpoint, type DueDelivery } from '../../../src/modules/sender/delivery-claims.js';
import { DeliveryRecords, type Outcome } from '../../../src/modules/sender/delivery-records.js';
import { DestinationSlots } from '../../../src/modules/sender/destination-slots.js';
import { openDeliveryFixture, type DeliveryFixture } from '../../support/webhooks/delivery-fixture.js';
import { untilWaiting } from '../../setup/waiting.js';

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterEach(() => fixture.endAll());
afterAll(() => fixture.close());

describe('slots of a host', () => {
  const MAKE = `INSERT INTO webhook_destination (name, free_at)
    VALUES ($1, clock_timestamp() + interval '900 milliseconds') RETURNING free_at::text AS at`;

  /** Returns the ms by which the end of the last slot has moved since `from`. */
  async function takenSince(name: string, from: string): Promise<number> {
    const [row] = await fixture.database.query<{ ms: number }>(
      `SELECT round(extract(epoch FROM free_at - $2::timestamptz) * 1000)::int AS ms FROM webhook_destination
        WHERE name = $1`,
      [name, from],
    );
    return row!.ms;
  }

  it('are 50 ms apart for all that ask together, in their order, and end after a second', async () => {
    const slots = new DestinationSlots(fixture.database);
    const [waits, others] = await Promise.all([
      Promise.all(Array.from({ length: 30 }, async () => slots.reserve('host together'))),
      Promise.all(Array.from({ length: 3 }, async () => slots.reserve('host other'))),
    ]);
    expect(waits.map((wait) => wait !== undefined)).toEqual(waits.map((_, index) => index < 20));
    const given = waits.slice(0, 20).map(Number);
    expect(given).toEqual([...given].sort((one, other) => one - other));
    // Slots that had begun when the answer was written have the wait 0.
    const open = given.filter((wait) => wait > 0);
    for (const [index, wait] of open.slice(1).entries()) expect(wait - open[index]!).toBeCloseTo(50, 3);
    expect(others.every((wait) => wait !== undefined)).toBe(true);
  });

  it('are reserved only if they begin within the second', async () => {
    const slots = new DestinationSlots(fixture.database);
    const [made] = await fixture.database.query<{ at: string }>(MAKE, ['host left']);
    const waits = await Promise.all(Array.from({ length: 30 }, async () => slots.reserve('host left')));
    const given = waits.filter((wait) => wait !== undefined).length;
    expect(given).toBeGreaterThanOrEqual(2);
    expect(given).toBeLessThanOrEqual(20);
    const taken = await takenSince('host left', made!.at);
    // Slots that nobody uses would slow the host down. A machine that took longer than 900 ms begins later.
    if (given < 20) expect(taken).toBe(given * 50);
    else expect(taken).toBeGreaterThanOrEqual(1000);
  });

  it('follow those that another sender takes at the same time', async () => {
    const slots = new DestinationSlots(fixture.database);
    const { asked, from } = await fixture.database.transaction(async (tx) => {
      const [made] = await tx.query<{ at: string }>(MAKE, ['host new']);
      const both = Promise.all([slots.reserve('host new'), slots.reserve('host new')]);
      await untilWaiting(fixture.database, 1);
      return { asked: both, from: made!.at };
    });
    expect((await asked).every((wait) => wait !== undefined)).toBe(true);
    expect(await takenSince('host new', from)).toBe(100);
  });
});

describe('accepted deliveries that end together', () => {
  interface Held {
    readonly held: ClaimedEndpoint;
    readonly deliveries: readonly DueDelivery[];
  }

  /** Returns two endpoints with two due deliveries each, held by one sender. */
  async function openTwo(): Promise<{ records: DeliveryRecords; two: readonly [Held, Held] }> {
    const { app } = await fixture.openSender();
    const claims = app.get(DeliveryClaims);
    const ids: string[] = [];
    for (const path of ['/together', '/beside']) {
      const { customer, id } = await fixture.setUp(path);
      await fixture.fixture.happen(customer);
      ids.push(id);
    }
    await claims.makeNewDeliveriesDue();
    const all = await claims.claim(100, 0);
    const holdOf = async (id: string): Promise<Held> => {
      const held = all.find((each) => each.id === id)!;
      return { held, deliveries: await claims.readDue([{ ...held, room: 10, isFailing: false }], []) };
    };
    return { records: app.get(DeliveryRecords), two: [await holdOf(ids[0]!), await holdOf(ids[1]!)] };
  }

  const accepted = (answer: string): Outcome => ({
    status: 'delivered',
    delayMs: 0,
    answered: { fault: undefined, status: 200, answer, durationMs: 7 },
  });
  const recordAll = async (records: DeliveryRecords, { held, deliveries }: Held, answer = 'ok') =>
    Promise.allSettled(deliveries.map(async (delivery) => records.record(held, delivery, accepted(answer))));

  const stateOf = async (id: string) => {
    const [row] = await fixture.database.query(
      `SELECT failures, failing_since, refused_since, taken_at > clock_timestamp() - interval '1 minute' AS taken
         FROM webhook_state WHERE endpoint_id = $1`,
      [id],
    );
    return row;
  };

  it('are recorded with their endpoint, which works again', async () => {
    const { records, two } = await openTwo();
    const [{ held }] = two;
    await fixture.database.query(
      `UPDATE webhook_state SET failures = 5, failing_since = clock_timestamp(),
          refused_since = jsonb_build_object('project.frozen', clock_timestamp(), 'project.unfrozen', clock_timestamp(), 'order.created', 'earlier')
        WHERE endpoint_id = $1`,
      [held.id],
    );
    expect(two[0].deliveries.map(({ attempts }) => attempts)).toEqual([0, 0]);
    const recorded = await Promise.all(two.map(async (each) => recordAll(records, each)));
    const yes = { status: 'fulfilled', value: true };
    expect(recorded).toEqual([
      [yes, yes],
      [yes, yes],
    ]);
    for (const each of two) {
      expect(await fixture.rowsOf(each.held.id)).toMatchObject([
        { status: 'delivered', attempts: 1, fault: null, answer: 'ok' },
        { status: 'delivered', attempts: 1, fault: null, answer: 'ok' },
      ]);
    }
    expect(await stateOf(held.id)).toEqual({
      failures: 0,
      failing_since: null,
      refused_since: { 'order.created': 'earlier' },
      taken: true,
    });
  });

  it('are left to the sender that holds their endpoint by now', async () => {
    const { records, two } = await openTwo();
    const [lost, kept] = two;
    await fixture.database.query(`UPDATE webhook_state SET fence = fence + 1 WHERE endpoint_id = $1`, [lost.held.id]);
    const recorded = await Promise.all(two.map(async (each) => recordAll(records, each)));
    expect(recorded.flat().map((each) => (each.status === 'fulfilled' ? each.value : each.reason))).toEqual([
      ...[false, false],
      ...[true, true],
    ]);
    expect(await fixture.areAll(lost.held.id, 'pending')).toBe(true);
    expect(await fixture.areAll(kept.held.id, 'delivered')).toBe(true);
  });

  it('are recorded each alone if one of them cannot be', async () => {
    const { records, two } = await openTwo();
    // No text of Postgres contains a zero byte.
    const [broken, sound] = await Promise.all([recordAll(records, two[0], 'a\u0000b'), recordAll(records, two[1])]);
    expect(broken.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(sound).toEqual(two[1].deliveries.map(() => ({ status: 'fulfilled', value: true })));
    expect(await fixture.areAll(two[0].held.id, 'pending')).toBe(true);
  });

  it('of an earlier attempt change nothing once they are recorded', async () => {
    const { records, two } = await openTwo();
    const [first] = two;
    await recordAll(records, first);
    expect(await recordAll(records, first, 'late')).toEqual(
      first.deliveries.map(() => ({ status: 'fulfilled', value: false })),
    );
    expect(await fixture.rowsOf(first.held.id)).toMatchObject([{ answer: 'ok' }, { answer: 'ok' }]);
  });

  it('are not dropped with those that wait for a deleted endpoint', async () => {
    const { app } = await fixture.openSender();
    const { customer, id } = await fixture.setUp('/dropped');
    await fixture.fixture.happen(customer);
    const [first] = await fixture.rowsOf(id);
    const dropped = await fixture.database.transaction(async (tx) => {
      await tx.query(
        `UPDATE webhook_delivery SET status = 'delivered', attempts = 1, is_fresh = false, next_at = NULL,
            ended_at = clock_timestamp() WHERE id = $1`,
        [first!.id],
      );
      const dropping = app.get(DeliveryClaims).dropBatch(id);
      await untilWaiting(fixture.database, 1);
      return { dropping };
    });
    expect(await dropped.dropping).toBe(1);
    expect((await fixture.rowsOf(id)).map(({ status }) => status)).toEqual(['delivered', 'dropped']);
  });
});
