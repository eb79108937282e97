// A database clock that jumps a month ahead for a moment. Neither a running process nor a newly started one deletes,
// disables or closes anything because of it. Work that the later clock postponed is due once the clock is set back.
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { until } from '../../../packages/local/src/wait.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { AutoDelegationClaims } from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import { pruneNonces } from '../../../src/modules/auth/nonce-retention.js';
import type { Config } from '../../../src/platform/config/config.js';
import type { SenderConfig } from '../../../src/platform/config/sender-config.js';
import { holdNumbering } from '../../../src/modules/events/numbering-lock.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { pruneEvents } from '../../../src/modules/events/retention.js';
import { ClockWatch } from '../../../src/modules/fulfilment/loop/clock-watch.js';
import { Pruning } from '../../../src/modules/fulfilment/loop/pruning.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Guesses } from '../../../src/modules/people/guesses.js';
import { Sessions } from '../../../src/modules/people/sessions.js';
import { EndpointWatch } from '../../../src/modules/sender/endpoint-watch.js';
import { StatementClosing } from '../../../src/modules/statements/statement-closing.js';
import { ConfirmedClock } from '../../../src/platform/database/confirmed-clock.js';
import type { Database } from '../../../src/platform/database/database.js';
import { makeCustomer, openAsOwner } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { installSteppedClock, stepClock } from '../../setup/stepped-clock.js';

const SENDER = { deliveriesDays: 30 } as SenderConfig;
const STEPS = ['1 hour', '1 day', '31 days', '400 days'];

let fixture: OrderFixture;
/** A process that ran before the clock jumped. */
let early: Database;
let projectId: string;

beforeAll(async () => {
  fixture = await openOrderFixture();
  early = fixture.api.database;
  await asAdmin(fixture.env['DATABASE_URL']!, installSteppedClock);
  projectId = (await makeCustomer(fixture.api)).merchant;
  await seed();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await step('0');
  await asAdmin(fixture.env['DATABASE_URL']!, (client) =>
    client.query(`UPDATE clock_mark SET followed_at = NULL, jumped_at = NULL`),
  );
});

afterAll(() => fixture.close());

const step = (by: string) => asAdmin(fixture.env['DATABASE_URL']!, (client) => stepClock(client, by));

/** Runs every job that deletes, disables or closes by age once. */
async function clean(database: Database): Promise<void> {
  const log = openLog('silent');
  const pruning = new Pruning(database, retaining(), new Metrics(), log);
  await pruning.pruneOnce();
  await pruneEvents(database, 30, 1000);
  await pruneNonces(database, 1000);
  await new EndpointWatch(database, SENDER, new Metrics(), log).runTasks();
  const closing = new StatementClosing(database, new Metrics(), log);
  for (let steps = 0; steps < 20; steps += 1) await closing.runStep();
  await new Guesses(database, Buffer.alloc(32, 7)).deleteExpired();
  await new Sessions(database).deleteExpired();
}

function retaining(): Config {
  const retention = { ...fixture.api.config.retention, broadcastsDays: 30, eventsDays: 30, ordersDays: 30 };
  return { retention } as Config;
}

const KEPT = `SELECT
    (SELECT count(*)::int FROM event WHERE payload IS NOT NULL) AS events,
    (SELECT count(*)::int FROM webhook_delivery) AS deliveries,
    (SELECT count(*)::int FROM webhook_endpoint WHERE disabled_at IS NULL) AS endpoints,
    (SELECT count(*)::int FROM request_nonce) AS nonces,
    (SELECT count(*)::int FROM refused_request) AS refused,
    (SELECT count(*)::int FROM sign_in_guess) AS guesses,
    (SELECT count(*)::int FROM console_session) AS sessions,
    (SELECT count(*)::int FROM statement_month) AS months`;

const kept = async (): Promise<object> => (await early.query<object>(KEPT))[0]!;
const ALL = { events: 3, deliveries: 2, endpoints: 1, nonces: 2, refused: 2, guesses: 1, sessions: 1, months: 0 };

describe.each(STEPS)('a clock %s ahead', (by) => {
  it('destroys nothing in a process that ran before', async () => {
    await clean(early);
    expect(await kept()).toEqual(ALL);
    await step(by);
    await clean(early);
    await clean(early);
    expect(await kept()).toEqual(ALL);
  });

  it('destroys nothing in a process that starts after the jump', async () => {
    await step(by);
    const late = await openAsOwner(fixture.env['DATABASE_URL']!);
    try {
      await clean(late);
    } finally {
      await late.source.destroy();
    }
    expect(await kept()).toEqual(ALL);
  });

  it('destroys nothing if the machine’s own clock jumped with it, before or after the process began', async () => {
    const watch = new ClockWatch(early, fixture.api.config);
    const clock = new ConfirmedClock(early);
    expect(await clock.now()).toBeInstanceOf(Date);
    await watch.checkClock();
    await step(by);
    const { now } = await new ConfirmedClock(early).read();
    const ahead = now.getTime() - Date.now();
    const real = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => real() + ahead);
    expect((await clock.read()).doubt).toBe('jumped');
    expect((await watch.checkClock()).jumpedSec).toBeGreaterThan(3000);
    const late = await openAsOwner(fixture.env['DATABASE_URL']!);
    try {
      await clean(late);
    } finally {
      await late.source.destroy();
    }
    expect(await kept()).toEqual(ALL);
  });
});

it('a process that starts after a clock was corrected trusts it an hour after the jump', async () => {
  const watch = new ClockWatch(early, fixture.api.config);
  await watch.checkClock();
  await step('31 days');
  await watch.checkClock();
  await step('0');
  expect((await watch.checkClock()).setBackSec).toBeGreaterThan(86_400);
  expect((await new ConfirmedClock(early).read()).doubt).toBe('jumped');
  await early.query(`UPDATE clock_mark SET jumped_at = jumped_at - interval '61 minutes'`);
  expect((await new ConfirmedClock(early).read()).doubt).toBeUndefined();
});

it('an outage of the database is no jump of its clock', async () => {
  const watch = new ClockWatch(early, fixture.api.config);
  const monotonic = performance.now.bind(performance);
  let passedMs = 0;
  const pass = async (ms: number): Promise<void> => {
    passedMs += ms;
    await step(`${passedMs.toString()} milliseconds`);
  };
  jest.spyOn(performance, 'now').mockImplementation(() => monotonic() + passedMs);
  await watch.checkClock();
  await pass(300_000);
  await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT FROM clock_mark FOR UPDATE');
    await expect(watch.checkClock()).rejects.toThrow('lock timeout');
    await client.query('ROLLBACK');
  });
  await pass(10_000);
  expect((await watch.checkClock()).jumpedSec).toBe(0);
});

it('a process waits if no worker followed the clock for long before its start, and otherwise does not', async () => {
  await early.query(`UPDATE clock_mark SET followed_at = clock_timestamp() - interval '2 hours'`);
  expect((await new ConfirmedClock(early).read()).doubt).toBe('was not followed');
  await early.query(`UPDATE clock_mark SET followed_at = clock_timestamp() - interval '20 minutes'`);
  expect((await new ConfirmedClock(early).read()).doubt).toBeUndefined();
});

it('work postponed by a clock an hour ahead is due once it is set back, and a later day’s spending counts today', async () => {
  const watch = new ClockWatch(early, fixture.api.config);
  const claims = new AutoDelegationClaims(early);
  const { rows } = await asAdmin(fixture.env['DATABASE_URL']!, (client) =>
    client.query<{ id: string }>(
      `INSERT INTO auto_delegation (project_id, api_key_id, address, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
        SELECT $1, id, 'T11111111111111111111111111111111Z', 130000, 65000, 300, 0, 3600 FROM api_key WHERE project_id = $1 LIMIT 1 RETURNING id`,
      [projectId],
    ),
  );
  await step('90 seconds');
  await watch.checkClock();
  // Workers read the clock every ten seconds, so the later clock runs on after its last reading.
  await sleep(2000);
  await early.query(`UPDATE auto_delegation SET due_at = clock_timestamp()`);
  await early.query(
    `UPDATE webhook_delivery SET attempts = 3, next_at = clock_timestamp() + interval '10 minutes' WHERE status = 'pending'`,
  );
  await early.query(`UPDATE webhook_state SET due_at = clock_timestamp()`);
  await early.query(
    `UPDATE credit_account SET spent_on = (clock_timestamp() AT TIME ZONE 'UTC')::date + 31, spent_credits = 5 WHERE project_id = $1`,
    [projectId],
  );
  await step('0');
  await watch.checkClock();
  expect((await claims.claimDue(10)).map((row) => row.id.toString())).toEqual(rows.map(({ id }) => id));
  const [late] = await early.query(
    `SELECT bool_and(d.next_at < clock_timestamp() + interval '11 minutes') AS deliveries,
        (SELECT bool_and(due_at <= clock_timestamp()) FROM webhook_state) AS endpoints,
        (SELECT spent_on = (clock_timestamp() AT TIME ZONE 'UTC')::date FROM credit_account WHERE project_id = $1) AS spending
       FROM webhook_delivery d WHERE d.status = 'pending' AND d.next_at > clock_timestamp() - interval '1 hour'`,
    [projectId],
  );
  expect(late).toEqual({ deliveries: true, endpoints: true, spending: true });
});

it('an event of a clock an hour ahead has waited no negative time for its position', async () => {
  const metrics = new Metrics();
  const numberer = new Numberer(early, metrics, openLog('silent'));
  const age = async (): Promise<number> =>
    (await metrics.registry.getSingleMetric('event_numbering_age_seconds')?.get())?.values[0]?.value ?? Number.NaN;
  await early.transaction(async (tx) => {
    expect(await holdNumbering(tx)).toBe(true);
    await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
      await client.query(`ALTER TABLE event DISABLE TRIGGER USER`);
      await client.query(`DELETE FROM event`);
      await client.query(
        `INSERT INTO event (project_id, type, at) VALUES ($1, 'project.frozen', clock_timestamp() + interval '1 hour')`,
        [projectId],
      );
      await client.query(`ALTER TABLE event ENABLE TRIGGER USER`);
    });
    let before = await age();
    numberer.start();
    // The age grows until the numberer has read the event; the reading sets it back.
    await until(
      async () => {
        const now = await age();
        const isRead = now < before;
        before = now;
        return isRead ? true : undefined;
      },
      60_000,
      'a reading of the event',
    );
    expect(before).toBeGreaterThanOrEqual(0);
  });
  await numberer.stop();
});

async function seed(): Promise<void> {
  const endpoint = randomUUID();
  await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    const run = (text: string, params: unknown[] = []) => client.query(text, params);
    await run(`ALTER TABLE event DISABLE TRIGGER USER`);
    await run(`DELETE FROM event`);
    await run(
      `INSERT INTO event (project_id, type, position, payload) SELECT $1, 'project.frozen', n, '{}' FROM generate_series(1, 3) n`,
      [projectId],
    );
    await run(`ALTER TABLE event ENABLE TRIGGER USER`);
    await run(
      `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, 'https://a.example', '\\x00')`,
      [endpoint, projectId],
    );
    await run(`INSERT INTO webhook_state (endpoint_id) VALUES ($1) ON CONFLICT DO NOTHING`, [endpoint]);
    await run(
      `UPDATE webhook_state SET failures = 3, failing_since = clock_timestamp() - interval '1 minute' WHERE endpoint_id = $1`,
      [endpoint],
    );
    await run(`DELETE FROM webhook_delivery`);
    await run(
      `INSERT INTO webhook_delivery (endpoint_id, event_key, type, cause, position, payload)
        SELECT $1, gen_random_uuid()::text, 'project.frozen', 'event', n, '{}' FROM generate_series(1, 2) n`,
      [endpoint],
    );
    await run(
      `INSERT INTO request_nonce (project_id, nonce, expires_at) SELECT $1, 'n' || n, clock_timestamp() + interval '10 minutes' FROM generate_series(1, 2) n`,
      [projectId],
    );
    await run(
      `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
        SELECT $1, clock_timestamp(), n::text, 'GET', '/', 401, 'X', '', '' FROM generate_series(1, 2) n`,
      [projectId],
    );
    await run(
      `INSERT INTO sign_in_guess (key, guesses, window_ends) VALUES ('\\x01', 1, clock_timestamp() + interval '1 hour')`,
    );
    const person = await run(
      `INSERT INTO person (audience, email, password_hash) VALUES ('operator', 'a@example.com', '') RETURNING id`,
    );
    await run(
      `INSERT INTO console_session (person_id, audience, token_hash, stage, source_address, user_agent) VALUES ($1, 'operator', '\\x01', 'signed_in', '', '')`,
      [(person.rows[0] as { id: string }).id],
    );
  });
  await fixture.api.ledger.topUp(projectId, 1000n as never, 'seed', { actor: 'test', reason: 'a test' });
  const [row] = await early.query<{ events: number }>(
    `SELECT count(*)::int AS events FROM event WHERE payload IS NOT NULL`,
  );
  ALL.events = row!.events;
}
