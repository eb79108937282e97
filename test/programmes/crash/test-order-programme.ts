// Kills a worker at every point of playing test orders. Afterwards each order must have the outcome of its address,
// each event once, and each due refund once.
import { TEST_ORDER_POINTS, type TestOrderPoint } from '../../../src/platform/support/crash-point.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { Merchant } from '../../../packages/local/src/merchant.js';
import { CrashCluster, type Death } from './cluster.js';
import { killAtEach, noteMissing, type TaskOptions, type TaskOutcome, type TaskProgramme } from './task-programme.js';

/** Each project may make sixty purchases a minute. */
const PROJECTS = 4;
const CREDITS = 1_000_000_000_000;
const DEATH_LIMIT_MS = 15_000;

/** Outcome of an order by address: final status, and events in order. */
const ENDS = {
  [TEST_ADDRESSES.delivered]: 'delivered order.created order.delivered order.settled order.ended',
  [TEST_ADDRESSES.refunded]: 'refunded order.created order.refunded',
  [TEST_ADDRESSES['unresolved then delivered']]:
    'delivered order.created order.unresolved order.delivered order.settled order.ended',
  [TEST_ADDRESSES['delivered late']]: 'delivered order.created order.delivered order.settled order.ended',
} as const;
const RECEIVERS = [...Object.keys(ENDS), TEST_ADDRESSES.refunded];

/** Lets time pass: orders are due, and the leases of dead workers have expired. */
const DUE = `UPDATE orders SET play_at = clock_timestamp() - interval '1 ms', lease_until = NULL WHERE play_at IS NOT NULL`;
const LEFT = `SELECT count(*)::integer AS left FROM orders WHERE play_at IS NOT NULL`;

const WRONG = `SELECT o.key, o.receive_address, o.status, o.settled, e.types, c.charged FROM orders o
    JOIN project p ON p.id = o.project_id AND p.test
    LEFT JOIN LATERAL (SELECT string_agg(type, ' ' ORDER BY id) AS types FROM event WHERE order_id = o.id) e ON true
    LEFT JOIN LATERAL (SELECT -sum(credits) AS charged FROM credit_entry WHERE order_id = o.id) c ON true
   WHERE NOT o.settled OR (o.status || ' ' || e.types) IS DISTINCT FROM $1::jsonb ->> o.receive_address
      OR c.charged IS DISTINCT FROM CASE o.status WHEN 'refunded' THEN 0 ELSE o.credits END`;

export async function testOrderProgramme(options: TaskOptions<TestOrderPoint>): Promise<TaskOutcome<TestOrderPoint>> {
  const cluster = await CrashCluster.open({ ...options, walletsTrx: [90_000] });
  try {
    const merchants: Merchant[] = [];
    while (merchants.length < PROJECTS) merchants.push(await testMerchant(cluster));
    let volleys = 0;
    const kill = async (point: TestOrderPoint, n: number): Promise<Death> => {
      const merchant = merchants[(volleys += 1) % PROJECTS]!;
      for (const receiver of RECEIVERS) {
        await cluster.buy(merchant, '/v1/orders', { receive_address: receiver, energy: 65_000, duration_sec: 60 });
      }
      await cluster.database.query(DUE);
      return cluster.killWorkerAt(point, n, DEATH_LIMIT_MS);
    };
    const hits = await killAtEach(options, kill, (when) => cluster.check(when));
    await playOut(cluster, options.finishLimitMs);
    noteMissing(cluster, options, hits);
    return { hits, violations: cluster.violations, made: volleys * RECEIVERS.length };
  } finally {
    await cluster.close();
  }
}

async function testMerchant({ service, merchant }: CrashCluster): Promise<Merchant> {
  const made = await service.cli('project', 'create', '--test', '--name', 'Crash', '--credits', CREDITS.toString());
  return new Merchant(merchant.baseUrl, String(made['merchant']), String(made['api_key']));
}

/** Lets an unharmed worker play all orders to their end. */
async function playOut(cluster: CrashCluster, limitMs: number): Promise<void> {
  const worker = await cluster.service.startWorker();
  const deadline = performance.now() + limitMs;
  let left = -1;
  while (left !== 0 && performance.now() < deadline) {
    await cluster.database.query(DUE);
    await sleep(300);
    left = (await cluster.database.query<{ left: number }>(LEFT))[0]?.left ?? -1;
  }
  await cluster.stopAndForget(worker);
  const wrong = await cluster.database.query(WRONG, [JSON.stringify(ENDS)]);
  cluster.violations.push(...wrong.slice(0, 10).map((row) => `at the end: ${JSON.stringify(row, textOf)}`));
  await cluster.check('at the end');
}

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

export const TEST_ORDER_TASK: TaskProgramme<TestOrderPoint> = {
  ...{ name: 'test orders', points: TEST_ORDER_POINTS, made: 'test orders', run: testOrderProgramme },
};
