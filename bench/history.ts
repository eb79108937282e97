// What grows with history would show here: a worker's recurring work and its start, where millions of orders have ended and
// where a few have (FEW), in turn.
import type { INestApplicationContext } from '@nestjs/common';
import { asAdmin } from '../test/setup/admin.js';
import { BlockFollower, buildTransaction, openWorker, PoolSync, Reconciler } from './dist.js';
import { median, type Row } from './measure.js';
import type { Stage } from './stage.js';

/** Of each look at what was judged before, a thousand in turn, all but one in twenty finds as many as among millions. */
export const FEW = 20_000;
/** Every fifth order is an activation. */
const ACTIVATIONS_OF = 5;
const BATCH = 100_000;
const LOAD_LIMIT_MS = 3_600_000;
/** Orders in a range of the archive. */
const RANGE = 1_000_000;
/** Some blocks at each. */
const SEARCHES_MAX = 1000;
const AMOUNT_SUN = 7_000_000_000n;
/** As the service makes them: version 7, of ten days ago. */
const QUOTE_ID = `(lpad(to_hex((extract(epoch FROM now() - interval '10 days') * 1000)::bigint + g / 100), 12, '0')
  || '7' || substr(md5('a' || g), 1, 3) || '8' || substr(md5('b' || g), 1, 15))::uuid`;
/** A timestamp of six bytes ends each transaction, and makes each another one. */
const RAW = `CREATE FUNCTION pg_temp.raw(begin_hex text, n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT decode(begin_hex || string_agg(lpad(to_hex((((1600000000000 + n) >> (7 * i)) & 127) | CASE WHEN i < 5 THEN 128 ELSE 0 END), 2, '0'), '' ORDER BY i), 'hex')
    FROM generate_series(0, 5) i $$`;

/** On a schema of before the archive too, where there is nothing to say about it. */
const loadOf = (isArchived: boolean): string => {
  const [column, value] = isArchived ? [', archived', ', true'] : ['', ''];
  return `WITH made AS (
    INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun,
      credits, trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at, reclaimed_at, fence, judged${column})
    SELECT ($1::uuid[])[1 + g % array_length($1::uuid[], 1)], 'old-' || g, sha256(int8send(g)),
      CASE WHEN g % 2 = 0 THEN ${QUOTE_ID} END, k.kind, 'delivered', $4, k.energy, k.duration, 2925000, 1, 30000000,
      true, k.delivered, t.at, t.at, t.at + k.duration * interval '1 second', t.at + (k.duration + 3) * interval '1 second', 6, true${value}
    FROM generate_series($2::bigint, $3::bigint) g
    CROSS JOIN (SELECT now() - interval '10 days' AS at) t
    CROSS JOIN LATERAL (SELECT CASE WHEN g % ${ACTIVATIONS_OF.toString()} = 0 THEN 'activation' ELSE 'rental' END AS kind) kinds
    JOIN (VALUES ('rental', 65000, 3600, 65100), ('activation', NULL, NULL, NULL)) k (kind, energy, duration, delivered) ON k.kind = kinds.kind
    RETURNING id, project_id, key, kind, delivered_at, reclaimed_at),
  legs AS (
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at, closed_reason${column})
    SELECT id, 1, kind, CASE kind WHEN 'rental' THEN $5::int ELSE $6::int END, $4, ${AMOUNT_SUN.toString()},
      CASE kind WHEN 'rental' THEN 65100 END, 'reclaimed', delivered_at, delivered_at,
      CASE kind WHEN 'activation' THEN delivered_at END, CASE kind WHEN 'activation' THEN 'activated' END${value}
    FROM made RETURNING id, order_id, kind, wallet_id, active_at),
  txs AS (
    INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number,
      expires_at, block_number, block_id, block_at, sends, sent_at${column})
    SELECT l.order_id, l.id, p.purpose, 1, l.wallet_id, 'solid', sha256(r.raw), r.raw, decode(repeat('00', 65), 'hex'),
      1, l.active_at, 1, sha256('block'), l.active_at + p.after * interval '1 second', 1, l.active_at${value}
    FROM legs l JOIN (VALUES ('rental', 'delegate', $7, 0, 0), ('rental', 'reclaim', $8, 1, 3603), ('activation', 'activate', $9, 0, 0))
      AS p (kind, purpose, begin_hex, n, after) ON p.kind = l.kind
    CROSS JOIN LATERAL (SELECT pg_temp.raw(p.begin_hex, l.id * 2 + p.n) AS raw) r),
  keys AS (INSERT INTO order_key (project_id, key, order_id) SELECT project_id, key, id FROM made)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, created_at)
  SELECT 'charge:' || id, project_id, 'revenue', 'charge', -1, id, delivered_at FROM made`;
};

const TABLES = ['orders', 'leg', 'chain_tx', 'credit_entry', 'order_key'] as const;

/**
 * Orders that have ended and were judged, with their legs, transactions and entries, spread over the stage's projects; the
 * first `archived` of them in the archive.
 */
export async function loadEnded(stage: Stage, count: number, archived: number): Promise<void> {
  const { database, world } = stage;
  const wallets = await database.query<{ id: number; address: string; role: string }>(
    `SELECT id, address, role FROM pool_wallet ORDER BY id`,
  );
  const [pool, activation] = ['pool', 'activation'].map((role) => wallets.find((wallet) => wallet.role === role)!);
  const receiver = world.accounts[0]!.address;
  const beginOf = (type: 'delegate' | 'undelegate' | 'activate', owner: string): string => {
    const terms = {
      permissionId: 2,
      reference: { number: 1, id: 'ab'.repeat(32), timestampMs: 0 },
      expiresAtMs: 1_600_000_060_000,
      timestampMs: 1_600_000_000_000,
    };
    const action =
      type === 'activate' ? { type, owner, receiver } : { type, owner, receiver, amountSun: AMOUNT_SUN as never };
    return buildTransaction(action, terms).rawData.toString('hex').slice(0, -12);
  };
  const ids = stage.tenants.map((tenant) => tenant.id);
  await database.transaction(async (tx) => {
    const run = (text: string, params: readonly unknown[] = []): Promise<unknown> =>
      tx.query({ text, query_timeout: LOAD_LIMIT_MS }, params);
    await run('SET LOCAL statement_timeout = 0');
    await run(`SET LOCAL idle_in_transaction_session_timeout = 0`);
    // What the triggers would look at is made right here.
    await run('SET LOCAL session_replication_role = replica');
    for (let id = 0; archived > 0 && id <= archived; id += RANGE) await run('SELECT add_archive_range($1)', [id]);
    await run(RAW);
    // What the service was opened with is as old as what follows: only entries of some minutes ago are judged for good.
    await run(`UPDATE credit_entry SET created_at = now() - interval '10 days'`);
    for (let from = 1; from <= count; from += BATCH) {
      const to = Math.min(count, from + BATCH - 1);
      await run(loadOf(to <= archived), [
        ...[ids, from, to, receiver, pool!.id, activation!.id],
        beginOf('delegate', pool!.address),
        beginOf('undelegate', pool!.address),
        beginOf('activate', activation!.address),
      ]);
      console.error(`  ${to.toString()} orders loaded`);
    }
    await run(`UPDATE credit_account a SET balance_credits = e.credits
      FROM (SELECT project_id, sum(credits) AS credits FROM credit_entry GROUP BY project_id) e WHERE e.project_id = a.project_id`);
  });
  await asAdmin(stage.world.databaseUrl, async (client) => {
    const run = async (text: string): Promise<void> => {
      const statement = { text, query_timeout: LOAD_LIMIT_MS };
      await client.query(statement);
    };
    for (const table of TABLES) await run(`VACUUM (ANALYZE) ${table}`);
    // What the load left behind is written out before anything is measured.
    await run('CHECKPOINT');
  });
}

/** One service and its worker's parts in this process, so that each part of its work is timed alone. */
class Side {
  private constructor(
    readonly stage: Stage,
    private readonly worker: INestApplicationContext,
  ) {}

  static async open(stage: Stage): Promise<Side> {
    const side = new Side(stage, await openWorker({ ...stage.world.env, LOG_LEVEL: 'error' }));
    // Until the ledger is judged up to its end: of a service that has always run it is.
    for (let before = -1n; ;) {
      await side.pass();
      const [row] = await stage.database.query<{ entries_to: bigint }>('SELECT entries_to FROM reconcile_state');
      if (row!.entries_to === before) break;
      before = row!.entries_to;
    }
    const found = await stage.database.query(`SELECT reason FROM sales_stop`);
    if (found.length > 0) throw new Error(`the fixture breaks a rule: ${JSON.stringify(found)}`);
    return side;
  }

  /** A pass of the reconciler, ms. */
  async pass(): Promise<number> {
    await this.stage.database.query(`UPDATE reconcile_state SET passed_at = NULL, lease_until = NULL`);
    // A pass is made at the head; a service that has run all along is there.
    for (let blocks = 0; blocks < SEARCHES_MAX && (await this.worker.get(BlockFollower).searchOn()); blocks += 1);
    return timed(() => this.worker.get(Reconciler).look());
  }

  /** A reading of every wallet, ms. */
  async sync(): Promise<number> {
    const wallets = await this.stage.database.query<{ address: string }>(`SELECT address FROM pool_wallet ORDER BY id`);
    return timed(async () => {
      for (const { address } of wallets) await this.worker.get(PoolSync).syncWallet(address);
    });
  }

  /** From the command until it says that it works, ms. */
  async start(): Promise<number> {
    let stop = (): Promise<void> => Promise.resolve();
    const ms = await timed(async () => {
      const process = await this.stage.world.startWorker({ LOG_LEVEL: 'info' });
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

/** `many` and `few` are loaded, and nothing else runs on them. */
export async function historyRows(
  many: Stage,
  few: Stage,
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
