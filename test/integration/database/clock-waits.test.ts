// Waits of minutes that end something: a refund, an order shown to the operator, a disabled endpoint. Their age leaves
// out jumps of the database's clock, in both directions, and whether or not a worker has recorded the jump.
import 'reflect-metadata';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { sleep } from '../../../src/platform/support/clock.js';
import type { SenderConfig } from '../../../src/platform/config/sender-config.js';
import { DELEGATE_TYPE } from '../../../src/platform/chain/transaction-owner.js';
import { ClockWatch } from '../../../src/modules/fulfilment/loop/clock-watch.js';
import { MailClaims } from '../../../src/modules/notifications/mail-claims.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { EndpointWatch } from '../../../src/modules/sender/endpoint-watch.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  fixtureDatabaseUrl,
  mine,
  openFixture,
  orderOf,
  receivers,
  rent,
  START_LIMIT_MS,
  statusesOf,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';
import { openAsOwner } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { asAdmin } from '../../setup/admin.js';
import { installSteppedClock, stepClock } from '../../setup/stepped-clock.js';

const IMPATIENT = { UNRESOLVED_AFTER_SEC: '1' };
const STEPS = ['1 hour', '1 day', '31 days', '400 days'];

const step = (by: string) => asAdmin(fixtureDatabaseUrl(), (client) => stepClock(client, by));
const run = (text: string, params: unknown[] = []) =>
  asAdmin(fixtureDatabaseUrl(), (client) => client.query(text, params));

beforeAll(async () => {
  await openFixture();
  await asAdmin(fixtureDatabaseUrl(), installSteppedClock);
}, START_LIMIT_MS);

afterEach(async () => {
  jest.restoreAllMocks();
  await step('0');
  await run(`UPDATE clock_mark SET seen_at = clock_timestamp(), followed_at = NULL, jumped_at = NULL`);
  await clearFixture();
}, START_LIMIT_MS);

afterAll(closeFixture, START_LIMIT_MS);

async function openWatched(extra: Record<string, string> = {}): Promise<[SteppedWorker, () => Promise<unknown>]> {
  const worker = await SteppedWorker.open(extra);
  const watch = worker.part(ClockWatch);
  await watch.checkClock();
  return [worker, () => watch.checkClock()];
}

describe.each(STEPS)('a clock that steps %s ahead', (by) => {
  it('refunds no order that waits unsent, before and after a worker has seen the step', async () => {
    const [worker, checkClock] = await openWatched();
    const key = await rent(receivers[0]!);
    await worker.advance();
    await step(by);
    await worker.advance();
    await worker.advance();
    expect(await orderOf(key)).toMatchObject({ status: 'reserved', undoing: false });
    await checkClock();
    for (let round = 0; round < 3; round += 1) await worker.advance();
    expect(await orderOf(key)).toMatchObject({ status: 'reserved', undoing: false });
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine();
    await worker.followChain();
    expect((await orderOf(key)).status).toBe('delivered');
  });

  it('shows no order as unresolved whose transaction was sent just before', async () => {
    const [worker, checkClock] = await openWatched();
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    await step(by);
    await worker.advance();
    await checkClock();
    await worker.advance();
    expect(await orderOf(key)).toMatchObject({ status: 'placed', needs_attention: false });
  });
});

it('the limit of an unsent order counts from a step ahead', async () => {
  const [worker, checkClock] = await openWatched(IMPATIENT);
  const key = await rent(receivers[0]!);
  await step('31 days');
  await checkClock();
  await sleep(1100);
  for (let round = 0; round < 3; round += 1) await worker.advance();
  expect((await orderOf(key)).status).toBe('refunded');
});

it('an unsent order of a clock that was ahead is refunded after its limit, not after the step', async () => {
  const [worker, checkClock] = await openWatched(IMPATIENT);
  await step('1 hour');
  await checkClock();
  const key = await rent(receivers[0]!);
  await step('0');
  await checkClock();
  await sleep(1100);
  for (let round = 0; round < 3; round += 1) await worker.advance();
  expect((await orderOf(key)).status).toBe('refunded');
});

it('a webhook that has failed for minutes is not disabled by a clock that stays a month ahead', async () => {
  const id = randomUUID();
  await run(
    `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, 'https://a.example', '\\x00')`,
    [id, customer.merchant],
  );
  await run(`INSERT INTO webhook_state (endpoint_id) VALUES ($1) ON CONFLICT DO NOTHING`, [id]);
  await run(
    `UPDATE webhook_state SET failures = 3, failing_since = clock_timestamp() - interval '1 minute' WHERE endpoint_id = $1`,
    [id],
  );
  const [, checkClock] = await openWatched();
  await step('31 days');
  await checkClock();
  // An hour later the clock is trusted again.
  await run(`UPDATE clock_mark SET jumped_at = jumped_at - interval '61 minutes'`);
  const ahead = 31 * 86_400_000;
  const real = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => real() + ahead);
  const database = await openAsOwner(fixtureDatabaseUrl());
  const watch = new EndpointWatch(database, { deliveriesDays: 30 } as SenderConfig, new Metrics(), openLog('silent'));
  try {
    await watch.runTasks();
  } finally {
    await database.source.destroy();
  }
  const [row] = await api.database.query(
    `SELECT disabled_at IS NULL AS enabled, failing_told_at IS NOT NULL AS told FROM webhook_endpoint WHERE id = $1`,
    [id],
  );
  expect(row).toEqual({ enabled: true, told: true });
});

it('a mail that has failed for minutes has failed no longer by a clock a day ahead', async () => {
  const id = await failingNotification();
  const [, checkClock] = await openWatched();
  const failingSec = async (): Promise<number> => {
    await run(`UPDATE notification SET due_at = clock_timestamp(), lease_until = NULL WHERE membership_id = $1`, [id]);
    const claims = await new MailClaims(api.database).claim('operator');
    return claims.find((claim) => claim.id === id)!.failing_sec!;
  };
  expect(await failingSec()).toBeGreaterThanOrEqual(60);
  await step('1 day');
  expect(await failingSec()).toBeLessThan(3600);
  await checkClock();
  expect(await failingSec()).toBeLessThan(3600);
});

it('an unrecorded delegation keeps its grace time', async () => {
  const [worker, checkClock] = await openWatched({ POOL_ORPHAN_GRACE_SEC: '600' });
  const raw = randomBytes(64);
  const txid = createHash('sha256').update(raw).digest();
  await run(
    `INSERT INTO orphan_tx (txid, wallet_id, type, by_own_key, receive_address, amount_sun, raw_data, block_number, block_id, block_at)
      SELECT $1, id, $2, true, $3, 1000000, $4, 1, $1, clock_timestamp() FROM pool_wallet WHERE role = 'pool' LIMIT 1`,
    [txid, DELEGATE_TYPE, receivers[0]!, raw],
  );
  const isJudged = async (): Promise<boolean> => {
    await worker.reclaims().reclaim();
    const [row] = await api.database.query<{ gone: boolean }>(
      `SELECT gone_at IS NOT NULL AS gone FROM orphan_tx WHERE txid = $1`,
      [txid],
    );
    return row!.gone;
  };
  await step('1 day');
  expect(await isJudged()).toBe(false);
  await checkClock();
  expect(await isJudged()).toBe(false);
  await step('0');
  await run(`UPDATE orphan_tx SET seen_at = clock_timestamp() - interval '20 minutes' WHERE txid = $1`, [txid]);
  await run(`UPDATE clock_mark SET seen_at = clock_timestamp(), followed_at = clock_timestamp(), jumped_at = NULL`);
  expect(await isJudged()).toBe(true);
});

async function failingNotification(): Promise<bigint> {
  const person = await run(
    `INSERT INTO person (audience, email, password_hash, address_proven_at)
      VALUES ('operator', $1, '', clock_timestamp()) RETURNING id`,
    [`${randomUUID()}@example.com`],
  );
  const membership = await run(
    `INSERT INTO membership (person_id, audience, role) VALUES ($1, 'operator', 'admin') RETURNING id`,
    [(person.rows[0] as { id: string }).id],
  );
  const { id } = membership.rows[0] as { id: string };
  await run(
    `INSERT INTO notification (membership_id, audience, kinds, failures, failing_since)
      VALUES ($1, 'operator', '{fault}', 2, clock_timestamp() - interval '1 minute')`,
    [id],
  );
  return BigInt(id);
}
