// The effect of the newest migration on a selling service, with tables of a million orders. The previous version serves
// before, during and after it, as an upgrade in docs/operating/upgrades.md begins.
import { buildsOfUpgrade } from '../upgrade/earlier-build.js';
import { loadEnded } from './history.js';
import { figure, percentile, type Row } from './measure.js';
import { BenchCluster } from './cluster.js';

const PER_SEC = 50;
/** Time before the migration, and after it. */
const BESIDE_MS = 20_000;
const WARM_UP_MS = 10_000;

interface Accepted {
  readonly atMs: number;
  readonly tookMs: number;
}

export async function migrationRows(orders: number, rounds: number): Promise<Row[]> {
  const { from, before, after, remove } = await buildsOfUpgrade();
  const took: number[] = [];
  const longest: { meanwhile: number[]; otherwise: number[] } = { meanwhile: [], otherwise: [] };
  const accepted: { meanwhile: number[]; otherwise: number[] } = { meanwhile: [], otherwise: [] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      const { migratedMs, meanwhile, otherwise } = await migrateUnderLoad(before.root, after.root, orders);
      took.push(migratedMs);
      longest.meanwhile.push(Math.max(...meanwhile));
      longest.otherwise.push(Math.max(...otherwise));
      accepted.meanwhile.push(...meanwhile);
      accepted.otherwise.push(...otherwise);
    }
  } finally {
    await remove();
  }
  const what = `${orders.toLocaleString('en').replaceAll(',', ' ')} orders, ${PER_SEC.toString()} accepted a second`;
  const worst = figure(`longest wait for an order while it migrates, ${what}`, '', 'ms', 'report', longest.meanwhile);
  return [
    { ...figure(`the newest migration, ${what}`, '–', 'ms', 'report', took), note: `from ${from}` },
    {
      ...worst,
      against: 'the longest before and after',
      limit: Math.max(...longest.otherwise),
      ratio: worst.ours / Math.max(...longest.otherwise),
      p50Ms: percentile(accepted.meanwhile, 50),
      p99Ms: percentile(accepted.meanwhile, 99),
      limitP99Ms: percentile(accepted.otherwise, 99),
      note: `none of ${accepted.meanwhile.length.toString()} was refused, nor of ${accepted.otherwise.length.toString()} before and after`,
    },
  ];
}

interface Migrated {
  readonly migratedMs: number;
  /** Latencies of orders that were sent or answered during the migration. */
  readonly meanwhile: readonly number[];
  readonly otherwise: readonly number[];
}

/** Migrates during purchases. Throws if an order is not accepted. */
async function migrateUnderLoad(build: string, after: string, orders: number): Promise<Migrated> {
  const cluster = await BenchCluster.open({ blockMs: 3000, solidLag: 3, build, hasEarlierSchema: true });
  try {
    await loadEnded(cluster, orders, 0);
    await cluster.service.startWorker({ LOG_LEVEL: 'info' });
    const over = new AbortController();
    const buying = buyOn(cluster, over.signal);
    const passed = (ms: number): Promise<unknown> => Promise.race([buying, pause(ms)]);
    await passed(WARM_UP_MS + BESIDE_MS);
    cluster.service.startFrom(after);
    const beganMs = performance.now();
    await cluster.service.cli('migrate');
    const endedMs = performance.now();
    await passed(BESIDE_MS);
    over.abort();
    const all = await buying;
    const warmMs = (all[0]?.atMs ?? 0) + WARM_UP_MS;
    const isMeanwhile = ({ atMs, tookMs }: Accepted): boolean => atMs < endedMs && atMs + tookMs > beganMs;
    const tookOf = (some: readonly Accepted[]): number[] => some.map(({ tookMs }) => tookMs);
    return {
      migratedMs: endedMs - beganMs,
      meanwhile: tookOf(all.filter(isMeanwhile)),
      otherwise: tookOf(all.filter((each) => !isMeanwhile(each) && each.atMs > warmMs)),
    };
  } finally {
    await cluster.close();
  }
}

/** Buys at a fixed rate, independent of answer times. */
async function buyOn(cluster: BenchCluster, stop: AbortSignal): Promise<readonly Accepted[]> {
  const accepted: Accepted[] = [];
  const orders = new Set<Promise<void>>();
  let failure: unknown;
  const from = performance.now();
  for (let n = 1; !stop.aborted && failure === undefined; n += 1) {
    const order = buy(cluster, n, accepted)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => orders.delete(order));
    orders.add(order);
    await pause(Math.max(1, from + (n * 1000) / PER_SEC - performance.now()));
  }
  await Promise.all(orders);
  if (failure !== undefined) throw failure as Error;
  return accepted;
}

async function buy(cluster: BenchCluster, n: number, accepted: Accepted[]): Promise<void> {
  const atMs = performance.now();
  const body = { receive_address: cluster.sender, energy: 65_000 };
  const { status, text } = await cluster.send(cluster.request(cluster.tenant(n), 'POST', '/v1/orders', body));
  if (status !== 202 && status !== 200) throw new Error(`an order was answered ${status.toString()}: ${text}`);
  accepted.push({ atMs, tookMs: performance.now() - atMs });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
