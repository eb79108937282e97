// Kills a worker at every point of refilling auto-delegated addresses, while they are used and their rentals end.
// Afterwards each must have its energy, and every charge a purchase.
import { REFILL_POINTS, type RefillPoint } from '../../src/base/crash-point.js';
import { sleep } from '../../src/base/clock.js';
import { Stage, type Death } from './stage.js';
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
  const stage = await Stage.open({ ...options, walletsTrx: [200_000, 200_000, 200_000] });
  const addresses = stage.world.accounts.map(({ address }) => address);
  try {
    await stage.database.query(SET, [stage.merchant.id, addresses]);
    const using = new AbortController();
    const users = keepUsing(stage, using.signal);
    let hits: ReadonlyMap<RefillPoint, number>;
    try {
      const kill = async (point: RefillPoint, n: number): Promise<Death> => {
        await stage.database.query(FREE);
        return stage.killWorkerAt(point, n, DEATH_LIMIT_MS);
      };
      hits = await killAtEach(options, kill, (when) => check(stage, when));
    } finally {
      using.abort();
      await users;
    }
    await allSupplied(stage, options.finishLimitMs);
    const [bought] = await stage.database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM order_key WHERE key LIKE 'auto\\_%'`,
    );
    await stage.database.query('DELETE FROM auto_delegation');
    await stage.startSending();
    await stage.finish(options.finishLimitMs);
    noteMissing(stage, options, hits);
    return { hits, violations: stage.violations, made: bought?.count ?? 0 };
  } finally {
    await stage.close();
  }
}

/** Every address calls the token periodically. */
async function keepUsing(stage: Stage, signal: AbortSignal): Promise<void> {
  const { wallet, token, accounts } = stage.world;
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

async function check(stage: Stage, when: string): Promise<void> {
  await stage.check(when);
  const twice = await stage.database.query(TWICE);
  if (twice.length > 0) stage.violations.push(`${when}: two open orders ${JSON.stringify(twice)}`);
}

/** Lets an unharmed worker refill every address. */
async function allSupplied(stage: Stage, limitMs: number): Promise<void> {
  const { wallet, accounts } = stage.world;
  const worker = await stage.world.startWorker();
  await stage.database.query(FREE);
  const deadline = performance.now() + limitMs;
  let short = [...accounts];
  while (short.length > 0 && performance.now() < deadline) {
    await sleep(200);
    const each = await Promise.all(short.map(({ address }) => wallet.energyOf(address)));
    short = short.filter((_, index) => each[index]!.limit - each[index]!.used < BELOW);
  }
  if (short.length > 0) stage.violations.push(`${short.length.toString()} addresses stayed without energy`);
  await stage.stopAndForget(worker);
}

export const REFILL_TASK: TaskProgramme<RefillPoint> = {
  ...{ name: 'refills', points: REFILL_POINTS, made: 'purchases', run: refillProgramme },
};
