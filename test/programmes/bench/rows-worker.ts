// The worker's throughput.
import { createHash, randomBytes } from 'node:crypto';
import secp256k1 from 'secp256k1';
import { cpuMs } from './cpu.js';
import { figure, median, type Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

const WAIT_LIMIT_MS = 300_000;

async function until(check: () => Promise<boolean>, what: string, everyMs = 100): Promise<void> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`${what} took longer than ${WAIT_LIMIT_MS.toString()} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

async function placeOrders(cluster: BenchCluster, count: number): Promise<void> {
  let next = 0;
  const placeSome = async (): Promise<void> => {
    while (next < count) {
      const tenant = cluster.tenant(next);
      next += 1;
      const body = { receive_address: cluster.sender, energy: 65_000, duration_sec: 3600 };
      const { status, text } = await cluster.send(cluster.request(tenant, 'POST', '/v1/orders', body));
      if (status !== 202 && status !== 200) throw new Error(`an order was answered ${status.toString()}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, placeSome));
}

/** Measures signing and two sequential bare inserts of equal durability: the minimum for a delegation. */
async function bareSigning(cluster: BenchCluster, count: number): Promise<number> {
  const key = randomBytes(32);
  const { database } = cluster;
  await database.query('CREATE TABLE IF NOT EXISTS bench_insert (id bigserial primary key, bytes bytea)');
  const startedAt = performance.now();
  const signSome = async (from: number): Promise<void> => {
    for (let index = from; index < count; index += 16) {
      const raw = randomBytes(220);
      const signed = secp256k1.ecdsaSign(createHash('sha256').update(raw).digest(), key);
      await database.query({ name: 'bench_insert', text: 'INSERT INTO bench_insert (bytes) VALUES ($1)' }, [raw]);
      await database.query({ name: 'bench_insert', text: 'INSERT INTO bench_insert (bytes) VALUES ($1)' }, [
        Buffer.from(signed.signature),
      ]);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, first) => signSome(first)));
  await database.query('DROP TABLE bench_insert');
  return count / ((performance.now() - startedAt) / 1000);
}

/**
 * Places orders without a worker, then starts one. Counts signed, recorded and broadcast delegations by the database's
 * clock.
 */
export async function delegationsPerSec(cluster: BenchCluster, rounds: number, perRound: number): Promise<Row> {
  const ours: number[] = [];
  const limits: number[] = [];
  const cpu = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    const [before] = await cluster.database.query<{ id: bigint | null }>('SELECT max(id) AS id FROM orders');
    await placeOrders(cluster, perRound);
    limits.push(await bareSigning(cluster, perRound));
    const worker = await cluster.service.startWorker({ LOG_LEVEL: 'info' });
    const parts = await partsOf(cluster, worker.pid);
    const usedBefore = await Promise.all(parts.map(async ({ pids }) => cpuMs(pids)));
    const sent = async (): Promise<{ sent: bigint; seconds: number }> => {
      const [row] = await cluster.database.query<{ sent: bigint; seconds: number }>(
        `SELECT count(DISTINCT b.chain_tx_id) AS sent,
                coalesce(extract(epoch FROM max(b.sent_at) - min(t.created_at)), 0)::float8 AS seconds
           FROM chain_tx t JOIN broadcast b ON b.chain_tx_id = t.id
          WHERE t.order_id > $1 AND t.purpose = 'delegate'`,
        [before?.id ?? 0n],
      );
      return row ?? { sent: 0n, seconds: 0 };
    };
    await until(async () => Number((await sent()).sent) >= perRound, 'the worker');
    for (const [index, { name, pids }] of parts.entries()) {
      const used = (await cpuMs(pids)) - (usedBefore[index] ?? 0);
      cpu.set(name, [...(cpu.get(name) ?? []), used / perRound]);
    }
    const { seconds } = await sent();
    ours.push(perRound / seconds);
    await until(async () => (await unfinished(cluster)) === 0, 'settling');
    await worker.stop();
  }
  const ratios = ours.map((value, index) => value / (limits[index] ?? Number.NaN));
  const row = figure(
    'one worker: delegations signed, recorded, broadcast',
    'signing + two bare inserts',
    '/s',
    '',
    ours,
  );
  const limit = figure('', '', '', '', limits).ours;
  return {
    ...row,
    limit,
    ratio: figure('', '', '', '', ratios).ours,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    goal: '≥ 0.40 and ≥ 150/s',
    note: `CPU of one: ${[...cpu].map(([name, values]) => `${name} ${median(values).toFixed(2)} ms`).join(', ')}`,
  };
}

/**
 * Returns the processes whose CPU a delegation uses. The worker counts from its ready message, when it has already
 * begun.
 */
async function partsOf(
  cluster: BenchCluster,
  worker: number,
): Promise<readonly { name: string; pids: readonly number[] }[]> {
  const backends = await cluster.database.query<{ pid: number }>('SELECT pid FROM pg_stat_activity');
  return [
    { name: 'worker', pids: [worker] },
    { name: 'local chain', pids: [cluster.service.devnetPid] },
    { name: 'Postgres', pids: backends.map(({ pid }) => pid) },
  ];
}

async function unfinished(cluster: BenchCluster): Promise<number> {
  const [row] = await cluster.database.query<{ open: bigint }>(
    `SELECT count(*) AS open FROM orders WHERE next_run_at IS NOT NULL AND NOT settled`,
  );
  return Number(row?.open ?? 0n);
}
