// A worker's costs for auto-delegated addresses: by their number at equal use, and for five hundred used in one block.
import { forEachConcurrently } from '../../../src/platform/support/concurrency.js';
import { newChainAccount, type ChainAccount } from '../../../packages/local/src/chain-account.js';
import { cpuMs } from './cpu.js';
import { median, percentile, type Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

const WAIT_LIMIT_MS = 120_000;
const AT_ONCE = 16;
const SUN = 1_000_000;
const SPENDING_SUN = 1000 * SUN;
/** Covers everything that the callers do here. */
const CALLERS_ENERGY = 5_000_000;
const CALLERS = 10;
/** Addresses shared by the other auto-delegations, each with the energy of one rental. */
const SHARED = 300;
const SHARED_ENERGY = 65_000;
const SIZES = [10, 10_000, 100_000] as const;
const DAY_SEC = 86_400;
const USED = 500;
const KEEP = 130_000;
const LATER = `clock_timestamp() + random() * interval '600 seconds'`;

/** One project per auto-delegation, over the given addresses in turn. All were checked a moment ago. */
const FILL = `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
    daily_cap_credits, idle_after_sec, used_at, checked_at, check_at)
  SELECT gen_random_uuid(), ($1::text[])[1 + n % array_length($1::text[], 1)], $2, 1000, 1, 3600, 1, 86400, now(), now(), ${LATER}
  FROM generate_series(1, $3::integer) n`;

/** Distributed over these projects, and checked when their address is used. */
const SET = `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
    daily_cap_credits, idle_after_sec, used_at)
  SELECT p, a, p, $3, $4, 3600, 1000000000000000, 86400, now() FROM unnest($2::text[]) WITH ORDINALITY u(a, n),
    LATERAL (SELECT ($1::uuid[])[1 + n % array_length($1::uuid[], 1)]) t(p)
  ON CONFLICT (project_id, address) DO UPDATE SET keep_energy = excluded.keep_energy, refill_below = excluded.refill_below,
    fence = auto_delegation.fence + 1, due_at = NULL, check_at = NULL`;

/** Measures on a cluster with main-net block times. */
export async function autoDelegationRows(cluster: BenchCluster, rounds: number, blocks: number): Promise<Row[]> {
  const callers = await accounts(cluster, CALLERS);
  const shared = await accounts(cluster, SHARED);
  const worker = await cluster.service.startWorker({ LOG_LEVEL: 'info' });
  await rentFor(cluster, callers, CALLERS_ENERGY);
  await rentFor(cluster, shared, SHARED_ENERGY);
  const perBlock = new Map<number, number[]>(SIZES.map((size) => [size, []]));
  const parts: Record<'worker' | 'Postgres', number[]>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, size] of SIZES.entries()) {
      await fill(cluster, { callers, shared, size });
      const used = await whileUsed(cluster, worker.pid, callers, blocks);
      perBlock.get(size)!.push(used.worker + used.Postgres);
      parts[index] ??= { worker: [], Postgres: [] };
      parts[index].worker.push(used.worker);
      parts[index].Postgres.push(used.Postgres);
    }
  }
  await cluster.database.query('DELETE FROM auto_delegation');
  await worker.stop();
  const [few, ...more] = SIZES.map((size) => perBlock.get(size)!);
  return more.map((many, index) => {
    const ratios = many.map((ms, round) => ms / few![round]!);
    const share = (which: 'worker' | 'Postgres', at: number) => median(parts[at]![which]).toFixed(0);
    return {
      what: `CPU of a worker and its Postgres for a block in which ${CALLERS.toString()} are used, ${SIZES[index + 1]!.toString()} auto-delegations`,
      against: `the same with ${SIZES[0].toString()}`,
      unit: 'ms',
      ours: median(many),
      limit: median(few!),
      ratio: median(ratios),
      goal: 'ratio ≤ 1.50',
      spread: [Math.min(...ratios), Math.max(...ratios)],
      note: `worker ${share('worker', index + 1)} beside ${share('worker', 0)}, Postgres ${share('Postgres', index + 1)} beside ${share('Postgres', 0)}`,
    };
  });
}

/** Uses five hundred addresses in one block, `rounds` times; each then needs a refill. */
export async function refillRow(cluster: BenchCluster, rounds: number): Promise<Row> {
  const used = await accounts(cluster, USED);
  await cluster.service.startWorker({ LOG_LEVEL: 'info' });
  await rentFor(cluster, used, SHARED_ENERGY);
  const took: number[] = [];
  const bought: number[] = [];
  let inTime = 0;
  let sent = 0;
  const blocks: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const keep = KEEP + round * SHARED_ENERGY;
    const addresses = used.map(({ address }) => address);
    await cluster.database.query(SET, [cluster.tenants.map(({ id }) => id), addresses, keep, keep]);
    const [before] = await cluster.database.query<{ id: bigint }>('SELECT max(id) AS id FROM orders');
    const calls = await signedCalls(cluster, used);
    await nextBlock(cluster);
    await forEachConcurrently(calls, AT_ONCE, (send) => send());
    const seenAtMs = await nextBlock(cluster);
    const refills = await refillsAfter(cluster, before!.id);
    blocks.push(new Set(refills.map((refill) => refill.used_block)).size);
    for (const refill of refills) {
      took.push(refill.sent_at.getTime() - seenAtMs);
      bought.push(refill.bought_at.getTime() - seenAtMs);
      sent += 1;
      if (refill.block_number - refill.used_block <= 2n) inTime += 1;
    }
  }
  const all = rounds * USED;
  return {
    what: `${USED.toString()} addresses of 200 projects used in one block → their refills broadcast`,
    against: '–',
    unit: 'ms',
    ours: median(took),
    limit: undefined,
    ratio: undefined,
    goal: 'all in the next two blocks',
    spread: [Math.min(...took), Math.max(...took)],
    p50Ms: percentile(took, 50),
    p99Ms: percentile(took, 99),
    note: `${inTime.toString()} of ${all.toString()} stood in the next two blocks, ${sent.toString()} were bought, p50 ${percentile(bought, 50).toFixed(0)}, p99 ${percentile(bought, 99).toFixed(0)} ms; uses in ${blocks.join(', ')} block`,
  };
}

/** Creates accounts funded by the bank. */
async function accounts(cluster: BenchCluster, count: number): Promise<ChainAccount[]> {
  const made = Array.from({ length: count }, newChainAccount);
  const { wallet, bank } = cluster.service;
  await forEachConcurrently(made, AT_ONCE, async ({ address }) => {
    const transfer = { owner_address: bank.address, to_address: address, amount: SPENDING_SUN };
    await wallet.send('createtransaction', transfer, bank);
  });
  await nextBlock(cluster);
  await nextBlock(cluster);
  return made;
}

/** Rents energy for the receivers and waits until all orders are settled. */
async function rentFor(cluster: BenchCluster, receivers: readonly ChainAccount[], energy: number): Promise<void> {
  await forEachConcurrently([...receivers.entries()], AT_ONCE, async ([index, { address }]) => {
    const body = { receive_address: address, energy, duration_sec: DAY_SEC };
    const { status, text } = await cluster.send(cluster.request(cluster.tenant(index), 'POST', '/v1/orders', body));
    if (status !== 202) throw new Error(`an order was answered ${status.toString()}: ${text}`);
  });
  await settled(cluster);
}

async function settled(cluster: BenchCluster): Promise<void> {
  await until(async () => {
    const [row] = await cluster.database.query<{ open: boolean }>(
      'SELECT EXISTS (SELECT FROM orders WHERE NOT settled) AS open',
    );
    return row?.open === false;
  }, 'settling');
}

interface Filling {
  readonly callers: readonly ChainAccount[];
  readonly shared: readonly ChainAccount[];
  readonly size: number;
}

/** Fills up to `size` auto-delegations: those in use, and others in the slow cycle. */
async function fill(cluster: BenchCluster, { callers, shared, size }: Filling): Promise<void> {
  const { database } = cluster;
  const { id } = cluster.tenant(0);
  await database.query('DELETE FROM auto_delegation');
  await database.query(SET, [[id], callers.map(({ address }) => address), KEEP, 1]);
  await database.query({ text: FILL, query_timeout: WAIT_LIMIT_MS }, [
    shared.map(({ address }) => address),
    id,
    size - CALLERS,
  ]);
  await database.query({ text: 'VACUUM (ANALYZE) auto_delegation', query_timeout: WAIT_LIMIT_MS });
  await database.query({ text: 'CHECKPOINT', query_timeout: WAIT_LIMIT_MS });
  await nextBlock(cluster);
  await nextBlock(cluster);
}

/** Lets each caller use the token in this many blocks. Returns the CPU per block, ms. */
async function whileUsed(
  cluster: BenchCluster,
  worker: number,
  callers: readonly ChainAccount[],
  blocks: number,
): Promise<Record<'worker' | 'Postgres', number>> {
  await nextBlock(cluster);
  const backends = await cluster.database.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  const cpu = async () => [await cpuMs([worker]), await cpuMs(backends.map(({ pid }) => pid))] as const;
  const before = await cpu();
  for (let block = 0; block < blocks; block += 1) {
    const calls = await signedCalls(cluster, callers);
    await forEachConcurrently(calls, AT_ONCE, (send) => send());
    await nextBlock(cluster);
  }
  const after = await cpu();
  return { worker: (after[0] - before[0]) / blocks, Postgres: (after[1] - before[1]) / blocks };
}

/** Builds one token call for each caller, signed but not sent. */
async function signedCalls(cluster: BenchCluster, callers: readonly ChainAccount[]): Promise<(() => Promise<void>)[]> {
  const { wallet, token } = cluster.service;
  const calls: (() => Promise<void>)[] = [];
  await forEachConcurrently(callers, AT_ONCE, async (caller) => {
    const made = await wallet.post('wallet/triggersmartcontract', {
      visible: true,
      owner_address: caller.address,
      contract_address: token,
      function_selector: 'transfer(address,uint256)',
      parameter: '0'.repeat(128),
      fee_limit: 100 * SUN,
    });
    calls.push(async () => {
      await wallet.signAndSend(made['transaction'] as Readonly<Record<string, unknown>>, caller);
    });
  });
  return calls;
}

interface Refilled {
  readonly used_block: bigint;
  readonly block_number: bigint;
  readonly bought_at: Date;
  readonly sent_at: Date;
}

/** Returns the purchases after an order, once all are settled. */
async function refillsAfter(cluster: BenchCluster, orderId: bigint): Promise<Refilled[]> {
  await nextBlock(cluster);
  await nextBlock(cluster);
  await settled(cluster);
  return cluster.database.query<Refilled>(
    `SELECT a.used_block, t.block_number, o.created_at AS bought_at, min(b.sent_at) AS sent_at
       FROM orders o JOIN chain_tx t ON t.order_id = o.id AND t.purpose = 'delegate' AND t.status = 'solid'
       JOIN broadcast b ON b.chain_tx_id = t.id
       JOIN auto_delegation a ON o.key = 'auto_' || a.id || '_' || a.purchases
      WHERE o.id > $1 GROUP BY a.used_block, t.block_number, t.id, o.created_at`,
    [orderId],
  );
}

/** Waits for a new head and returns this machine's time. */
async function nextBlock(cluster: BenchCluster): Promise<number> {
  const { wallet } = cluster.service;
  const before = await wallet.headTime();
  await until(async () => (await wallet.headTime()) > before, 'a block', 20);
  return Date.now();
}

async function until(check: () => Promise<boolean>, what: string, everyMs = 200): Promise<void> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`${what} took longer than ${WAIT_LIMIT_MS.toString()} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
