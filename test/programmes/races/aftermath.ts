// Checks after the races: the records of all participants, then their delivery by a worker, then the operator's
// `verify` against the chain.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sleep } from '../../../src/platform/support/clock.js';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import type { RaceCluster, Row } from './cluster.js';
import { envAs } from '../../setup/roles.js';

const run = promisify(execFile);
const DELIVERY_LIMIT_MS = 300_000;
const VERIFY_LIMIT_MS = 120_000;
const OUTPUT_MAX = 64 * 1024 * 1024;

/**
 * Checks rules over all participants: each balance equals its entries, no order is charged twice, no capacity is lost.
 */
export async function recordsOfAll(cluster: RaceCluster): Promise<Row> {
  const [row] = await cluster.database.query<{ drift: number; doubled: number; lost: bigint; orders: number }>(
    `SELECT (SELECT count(*)::int FROM orders) AS orders,
            (SELECT count(*)::int FROM credit_account a
               LEFT JOIN (SELECT project_id, sum(credits) AS sum FROM credit_entry GROUP BY 1) e USING (project_id)
              WHERE a.balance_credits <> coalesce(e.sum, 0)) AS drift,
            (SELECT count(*)::int FROM orders o
               FULL JOIN (SELECT order_id, count(*) AS times, -sum(credits) AS sum
                            FROM credit_entry WHERE kind = 'charge' AND entry_key NOT LIKE '%:ext:%' GROUP BY 1) e ON e.order_id = o.id
              WHERE o.id IS NULL OR e.order_id IS NULL OR e.times <> 1 OR e.sum <> o.credits) AS doubled,
            (SELECT sum(free_sun_seen) FROM pool_wallet)::bigint
              - (SELECT sum(free_sun) FROM pool_slot)::bigint
              - (SELECT coalesce(sum(amount_sun), 0) FROM leg WHERE kind <> 'bandwidth' AND status IN ('reserved', 'placed', 'active'))::bigint AS lost`,
  );
  return {
    race: 'records of everything above',
    done: `${row!.orders.toString()} orders`,
    wanted: '0 balances off their entries, 0 orders not charged once, 0 sun of capacity lost',
    found: `${row!.drift.toString()} balances off their entries, ${row!.doubled.toString()} orders not charged once, ${row!.lost.toString()} sun of capacity lost`,
  };
}

/** Lets a worker fulfil all remaining orders. Then `cli verify`, which allows no open order, must succeed. */
export async function deliveredAndVerified(cluster: RaceCluster): Promise<Row> {
  const worker = await startWorker(cluster);
  try {
    const deadline = performance.now() + DELIVERY_LIMIT_MS;
    let counts = await countsOf(cluster);
    while (counts.open > 0 && performance.now() < deadline) {
      await sleep(500);
      counts = await countsOf(cluster);
    }
    const say = (open: number, delivered: number, verdict: string): string =>
      `${open.toString()} left open, ${delivered.toString()} delivered and settled, verify: ${verdict}`;
    const { sold, refunded, settled } = counts;
    return {
      race: 'all of it delivered, then `cli verify`',
      done: `${(sold + refunded).toString()} orders, ${refunded.toString()} of them refunded`,
      wanted: say(0, sold, 'every rule holds'),
      found: say(counts.open, settled, await verdictOf(cluster)),
    };
  } finally {
    await worker.stop();
  }
}

export async function startWorker(cluster: RaceCluster): Promise<NodeProcess<true>> {
  return startNode<true>('dist/bundle/main.worker.js', {
    name: 'the worker',
    env: { ...envAs(cluster.env, 'worker'), LOG_LEVEL: 'info' },
    readyWhen: (line) => (line.includes('"msg":"working"') ? true : undefined),
  });
}

interface Counts {
  readonly open: number;
  readonly sold: number;
  readonly refunded: number;
  readonly settled: number;
}

async function countsOf(cluster: RaceCluster): Promise<Counts> {
  const [row] = await cluster.database.query<Counts>(
    `SELECT count(*) FILTER (WHERE NOT settled)::int AS open,
            count(*) FILTER (WHERE status <> 'refunded')::int AS sold,
            count(*) FILTER (WHERE status = 'refunded')::int AS refunded,
            count(*) FILTER (WHERE status = 'delivered' AND settled)::int AS settled
       FROM orders`,
  );
  if (row === undefined) throw new Error('the database answered nothing');
  return row;
}

/** Returns the verdict of the command; its exit code decides. */
async function verdictOf(cluster: RaceCluster): Promise<string> {
  const args = ['dist/bundle/main.cli.js', 'verify', '--full', '--settle-within', '0'];
  try {
    await run(process.execPath, args, {
      env: { ...process.env, ...cluster.env },
      timeout: VERIFY_LIMIT_MS,
      maxBuffer: OUTPUT_MAX,
    });
    return 'every rule holds';
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `${stdout ?? ''} ${stderr ?? String(error)}`.replaceAll(/\s+/g, ' ').slice(0, 2000);
  }
}
