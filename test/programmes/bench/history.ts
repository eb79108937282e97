// Measures if work grows with history: a worker's recurring work and its start, alternating between millions of ended
// orders and a few (FEW).
import type { INestApplicationContext } from '@nestjs/common';
import { ENDED_AMOUNT_SUN, ENDED_TABLES, insertEnded } from '../../support/database/ended-orders.js';
import { asAdmin } from '../../setup/admin.js';
import { BlockFollower, buildTransaction, openWorker, PoolSync, Reconciler } from './dist.js';
import { median, type Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

/** Large enough: of every look at a thousand judged records in turn, 95 % find as many as among millions. */
export const FEW = 20_000;
const BATCH = 100_000;
const LOAD_LIMIT_MS = 3_600_000;
/** Orders in a range of the archive. */
const RANGE = 1_000_000;
/** Most search steps before a pass; each step covers some blocks. */
const SEARCHES_MAX = 1000;
/**
 * Loads ended and judged orders with their legs, transactions and entries, spread over the cluster's projects. The first
 * `archived` of them go to the archive.
 */
export async function loadEnded(cluster: BenchCluster, count: number, archived: number): Promise<void> {
  const { database, service } = cluster;
  const wallets = await database.query<{ id: number; address: string; role: string }>(
    `SELECT id, address, role FROM pool_wallet ORDER BY id`,
  );
  const [pool, activation] = ['pool', 'activation'].map((role) => wallets.find((wallet) => wallet.role === role)!);
  const receiver = service.accounts[0]!.address;
  const beginOf = (type: 'delegate' | 'undelegate' | 'activate', owner: string): string => {
    const terms = {
      permissionId: 2,
      reference: { number: 1, id: 'ab'.repeat(32), timestampMs: 0 },
      expiresAtMs: 1_600_000_060_000,
      timestampMs: 1_600_000_000_000,
    };
    const action =
      type === 'activate'
        ? { type, owner, receiver }
        : { type, owner, receiver, amountSun: ENDED_AMOUNT_SUN as never, resource: 'ENERGY' as const };
    return buildTransaction(action, terms).rawData.toString('hex').slice(0, -12);
  };
  const begins = {
    delegate: beginOf('delegate', pool!.address),
    reclaim: beginOf('undelegate', pool!.address),
    activate: beginOf('activate', activation!.address),
  };
  const projects = cluster.tenants.map((tenant) => tenant.id);
  await database.transaction(async (tx) => {
    const run = (text: string, params: readonly unknown[] = []): Promise<unknown> =>
      tx.query({ text, query_timeout: LOAD_LIMIT_MS }, params);
    await run('SET LOCAL statement_timeout = 0');
    await run(`SET LOCAL idle_in_transaction_session_timeout = 0`);
    // The loaded rows already satisfy the triggers.
    await run('SET LOCAL session_replication_role = replica');
    for (let id = 0; archived > 0 && id <= archived; id += RANGE) await run('SELECT add_archive_range($1)', [id]);
    // Ages the opening entries like the following ones: only entries older than some minutes are judged for good.
    await run(`UPDATE credit_entry SET created_at = now() - interval '10 days'`);
    for (let from = 1; from <= count; from += BATCH) {
      const to = Math.min(count, from + BATCH - 1);
      await insertEnded(run, {
        ...{ projects, receiver, begins, from, to, isArchived: to <= archived },
        ...{ poolWallet: pool!.id, activationWallet: activation!.id },
      });
      console.error(`  ${to.toString()} orders loaded`);
    }
    await run(`UPDATE credit_account a SET balance_credits = e.credits
      FROM (SELECT project_id, sum(credits) AS credits FROM credit_entry GROUP BY project_id) e WHERE e.project_id = a.project_id`);
  });
  await asAdmin(cluster.service.databaseUrl, async (client) => {
    const run = async (text: string): Promise<void> => {
      const statement = { text, query_timeout: LOAD_LIMIT_MS };
      await client.query(statement);
    };
    for (const table of ENDED_TABLES) await run(`VACUUM (ANALYZE) ${table}`);
    // Writes out the dirty pages of the load before anything is measured.
    await run('CHECKPOINT');
  });
}

/** One service and its worker's services in this process, so that each part of its work is timed separately. */
class Side {
  private constructor(
    readonly cluster: BenchCluster,
    private readonly worker: INestApplicationContext,
  ) {}

  static async open(cluster: BenchCluster): Promise<Side> {
    const side = new Side(cluster, await openWorker({ ...cluster.service.env, LOG_LEVEL: 'error' }));
    // Runs passes until the ledger is judged to its end, as it is in a service that has always run.
    for (let before = -1n; ;) {
      await side.pass();
      const [row] = await cluster.database.query<{ entries_to: bigint }>('SELECT entries_to FROM reconcile_state');
      if (row!.entries_to === before) break;
      before = row!.entries_to;
    }
    const found = await cluster.database.query(`SELECT reason FROM sales_stop`);
    if (found.length > 0) throw new Error(`the fixture breaks a rule: ${JSON.stringify(found)}`);
    return side;
  }

  /** Returns the duration of a reconciler pass, ms. */
  async pass(): Promise<number> {
    await this.cluster.database.query(`UPDATE reconcile_state SET passed_at = NULL, lease_until = NULL`);
    // A pass runs at the head, where a service that has always run already is.
    for (let blocks = 0; blocks < SEARCHES_MAX && (await this.worker.get(BlockFollower).runSearch()); blocks += 1);
    return timed(() => this.worker.get(Reconciler).reconcile());
  }

  /** Returns the duration of reading every wallet, ms. */
  async sync(): Promise<number> {
    const wallets = await this.cluster.database.query<{ address: string }>(
      `SELECT address FROM pool_wallet ORDER BY id`,
    );
    return timed(async () => {
      for (const { address } of wallets) await this.worker.get(PoolSync).syncWallet(address);
    });
  }

  /** Returns the time from the start command until the worker is ready, ms. */
  async start(): Promise<number> {
    let stop = (): Promise<void> => Promise.resolve();
    const ms = await timed(async () => {
      const process = await this.cluster.service.startWorker({ LOG_LEVEL: 'info' });
      stop = () => process.stop();
    });
    await stop();
    return ms;
  }

  async close(): Promise<void> {
    await this.worker.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Measures both sides. `many` and `few` are loaded and otherwise idle. */
export async function historyRows(
  many: BenchCluster,
  few: BenchCluster,
  { rounds, label }: { readonly rounds: number; readonly label: string },
): Promise<Row[]> {
  const [ours, limit] = [await Side.open(many), await Side.open(few)];
  try {
    const row = async (what: string, work: (side: Side) => Promise<number>): Promise<Row> => {
      const [manyMs, fewMs]: [number[], number[]] = [[], []];
      await work(ours);
      await work(limit);
      for (let round = 0; round < rounds; round += 1) {
        manyMs.push(await work(ours));
        fewMs.push(await work(limit));
      }
      const ratios = manyMs.map((ms, index) => ms / fewMs[index]!);
      return {
        what: what + label,
        against: `the same with ${FEW.toLocaleString('en').replaceAll(',', ' ')}`,
        unit: 'ms',
        ours: median(manyMs),
        limit: median(fewMs),
        ratio: median(manyMs) / median(fewMs),
        goal: '≤ 1.50',
        spread: [Math.min(...ratios), Math.max(...ratios)],
      };
    };
    return [
      await row('a pass of the reconciler', (side) => side.pass()),
      await row('a reading of every wallet', (side) => side.sync()),
      await row('start of a worker', (side) => side.start()),
    ];
  } finally {
    await ours.close();
    await limit.close();
  }
}
