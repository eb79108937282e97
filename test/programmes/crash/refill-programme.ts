// Kills a worker at every point of refilling auto-delegated addresses, while they are used and their rentals end.
// Afterwards each must have its energy, and every charge a purchase.
import { REFILL_POINTS, type RefillPoint } from '../../../src/platform/support/crash-point.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { CrashCluster, type Death } from './cluster.js';
import { killAtEach, noteMissing, type TaskOptions, type TaskOutcome, type TaskProgramme } from './task-programme.js';

const DEATH_LIMIT_MS = 20_000;
const KEEP = 130_000;
const BELOW = 104_000;
const RENTED_SEC = 90;
const USE_MS = 1500;

/** Rentals are so short that they are extended and replaced continuously. */
const SET = `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
    daily_cap_credits, idle_after_sec, due_at)
  SELECT $1, a, $1, ${KEEP.toString()}, ${BELOW.toString()}, ${RENTED_SEC.toString()}, 1000000000000000, 86400, clock_timestamp()
    FROM unnest($2::text[]) a`;

/** Releases a dead worker's claims immediately, as if their lease had expired. */
const FREE = `UPDATE auto_delegation SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()`;

/** Finds two concurrent orders of one auto-delegation. */
const TWICE = `SELECT split_part(key, '_', 2) AS auto, count(*)::integer AS open FROM orders
  WHERE key LIKE 'auto\\_%' AND status IN ('reserved', 'placed') GROUP BY 1 HAVING count(*) > 1`;

export async function refillProgramme(options: TaskOptions<RefillPoint>): Promise<TaskOutcome<RefillPoint>> {
  const cluster = await CrashCluster.open({ ...options, walletsTrx: [200_000, 200_000, 200_000] });
  const addresses = cluster.service.accounts.map(({ address }) => address);
  try {
    await cluster.database.query(SET, [cluster.merchant.id, addresses]);
    const using = new AbortController();
    const users = keepUsing(cluster, using.signal);
    let hits: ReadonlyMap<RefillPoint, number>;
    try {
      const kill = async (point: RefillPoint, n: number): Promise<Death> => {
        await cluster.database.query(FREE);
        return cluster.killWorkerAt(point, n, DEATH_LIMIT_MS);
      };
      hits = await killAtEach(options, kill, (when) => check(cluster, when));
    } finally {
      using.abort();
      await users;
    }
    await allSupplied(cluster, options.finishLimitMs);
    const [bought] = await cluster.database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM order_key WHERE key LIKE 'auto\\_%'`,
    );
    await cluster.database.query('DELETE FROM auto_delegation');
    await cluster.startSending();
    await cluster.finish(options.finishLimitMs);
    noteMissing(cluster, options, hits);
    return { hits, violations: cluster.violations, made: bought?.count ?? 0 };
  } finally {
    await cluster.close();
  }
}

/** Every address calls the token periodically. */
async function keepUsing(cluster: CrashCluster, signal: AbortSignal): Promise<void> {
  const { wallet, token, accounts } = cluster.service;
  while (!signal.aborted) {
    for (const account of accounts) {
      const call = {
        owner_address: account.address,
        contract_address: token,
        function_selector: 'transfer(address,uint256)',
        parameter: '0'.repeat(128),
        fee_limit: 100_000_000,
      };
      await wallet.send('triggersmartcontract', call, account);
    }
    await sleep(USE_MS, signal);
  }
}

async function check(cluster: CrashCluster, when: string): Promise<void> {
  await cluster.check(when);
  const twice = await cluster.database.query(TWICE);
  if (twice.length > 0) cluster.violations.push(`${when}: two open orders ${JSON.stringify(twice)}`);
}

/** Lets an unharmed worker refill every address. */
async function allSupplied(cluster: CrashCluster, limitMs: number): Promise<void> {
  const { wallet, accounts } = cluster.service;
  const worker = await cluster.service.startWorker();
  await cluster.database.query(FREE);
  const deadline = performance.now() + limitMs;
  let short = [...accounts];
  while (short.length > 0 && performance.now() < deadline) {
    await sleep(200);
    const each = await Promise.all(short.map(({ address }) => wallet.energyOf(address)));
    short = short.filter((_, index) => each[index]!.limit - each[index]!.used < BELOW);
  }
  if (short.length > 0) cluster.violations.push(`${short.length.toString()} addresses stayed without energy`);
  await cluster.stopAndForget(worker);
}

export const REFILL_TASK: TaskProgramme<RefillPoint> = {
  ...{ name: 'refills', points: REFILL_POINTS, made: 'purchases', run: refillProgramme },
};
