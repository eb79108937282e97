// The check that due webhook deliveries are attempted: violations, and states that only resemble one.
import type { Database } from '../../../src/platform/database/database.js';
import { DELIVERIES_ATTEMPTED } from '../../../src/modules/verify/delivery-checks.js';
import { runRecordCheck } from '../../../src/modules/verify/record-check.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { openWebhookFixture, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';

interface Delivery {
  readonly id: bigint;
  readonly position: bigint;
}

let fixture: WebhookFixture;
let database: Database;

beforeAll(async () => {
  fixture = await openWebhookFixture();
  database = fixture.api.database;
});

afterAll(() => fixture.close());

it('`verify` names an endpoint with a due delivery and no sender, and no other', async () => {
  const verified = async (id: string): Promise<readonly unknown[]> => {
    const { checks, unmade } = await verifyRecords(database);
    expect(unmade.map(({ check }) => check)).not.toContain('deliveries-attempted');
    const found = checks.find(({ check }) => check === 'deliveries-attempted')!.findings;
    return found.filter(({ subject }) => subject === `webhook ${id}`).map(({ facts }) => facts['position']);
  };
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer, { types: ['project.frozen', 'project.unfrozen'] });
  await fixture.happen(customer);
  const [first, second] = await database.query<Delivery>(
    'SELECT id, position FROM webhook_delivery WHERE endpoint_id = $1 ORDER BY id',
    [id],
  );
  const change = (what: string): Promise<unknown> =>
    database.query(`UPDATE webhook_state SET ${what} WHERE endpoint_id = '${id}'`);
  const dueFor = (delivery: Delivery, minutes: number): Promise<unknown> =>
    database.query(`UPDATE webhook_delivery SET next_at = now() - $2 * interval '1 minute' WHERE id = $1`, [
      delivery.id,
      minutes,
    ]);
  // No sender has claimed the endpoint yet.
  expect(await verified(id)).toEqual([]);
  await dueFor(second!, 16);
  await change('due_at = NULL');
  expect(await verified(id)).toEqual([second!.position.toString()]);
  const byReports = await database.transaction(async (tx) => {
    await tx.query('SET LOCAL ROLE energy_reports');
    return runRecordCheck(tx, DELIVERIES_ATTEMPTED, { settleWithinSec: 900, findingsMax: 1 });
  });
  expect(byReports.findings).toMatchObject([{ subject: `webhook ${id}` }]);
  await change(`lease_until = now() + interval '1 minute', due_at = now() + interval '1 minute'`);
  expect(await verified(id)).toEqual([]);
  // Due a moment ago; long ago; or scheduled later than its deliveries are due.
  await change(`lease_until = now() - interval '1 second', due_at = now() - interval '1 second'`);
  expect(await verified(id)).toEqual([]);
  for (const due of [`now() - interval '16 minutes'`, `now() + interval '1 hour'`, 'NULL']) {
    await change(`due_at = ${due}`);
    expect(await verified(id)).toEqual([second!.position.toString()]);
  }
  // A failing endpoint is still probed.
  await change('failures = 3');
  expect(await verified(id)).toEqual([second!.position.toString()]);
  await dueFor(first!, 17);
  expect(await verified(id)).toEqual([first!.position.toString()]);
  await dueFor(first!, 0);
  await database.query(`UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'owner' WHERE id = $1`, [
    id,
  ]);
  expect(await verified(id)).toEqual([]);
  await customer.post(`/v1/webhooks/${id}`, { enabled: true });
  await change('due_at = NULL');
  expect(await verified(id)).toEqual([second!.position.toString()]);
  await customer.request('DELETE', `/v1/webhooks/${id}`);
  expect(await verified(id)).toEqual([]);
});
