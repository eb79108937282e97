// Speed of reading solid blocks for deposits and of searching them, with two nodes that answer immediately: catching
// up, and reading again next to new blocks. One block in ten pays; each has its transaction in Postgres.
import { fork } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { INestApplicationContext } from '@nestjs/common';
import { HDKey } from '@scure/bip32';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { BlockFollower, DepositAddresses, DepositTerms, openParts, openWorker, Rescan } from './dist.js';
import type { Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

const FIRST = 70_000_000;
const GOAL_PER_SEC = 20;
const BLOCK_SEC = 3;
const MONTH_BLOCKS = 30 * 28_800;
/** Interval of new blocks during the second reading. */
const NEW_BLOCK_MS = 300;
const AUTHOR = { actor: 'bench', reason: 'bench' };
const XPUB = HDKey.fromMasterSeed(pbkdf2Sync('bench', 'mnemonic', 2048, 64, 'sha512')).derive(
  "m/44'/195'/0'",
).publicExtendedKey;

interface Nodes {
  readonly ports: readonly [number, number];
  readonly firstId: string;
  readonly firstMs: number;
}

interface Chain {
  readonly first: number;
  readonly blocks: number;
  /** Per block. */
  readonly transactions: number;
}

/** A worker that has read up to the chain's first block. */
interface Reading {
  readonly worker: INestApplicationContext;
  /** Settings with the chain's nodes. */
  readonly env: NodeJS.ProcessEnv;
  /** Sets the newest block of the nodes. */
  readonly goOn: (newest: number) => void;
}

export async function depositRows(cluster: BenchCluster, blocks: number): Promise<Row[]> {
  const env = { ...cluster.service.env, DEPOSIT_XPUB: XPUB, DEPOSIT_AUTO_MAX_USD: '100000000', LOG_LEVEL: 'warn' };
  const parts = await openParts(env);
  const paid = await accountFor(parts.get(DepositAddresses));
  await parts.close();
  for (const asset of ['TRX', 'USDT']) {
    await cluster.database.query(
      `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ($1, '2023-11-14', 30000000)`,
      [asset],
    );
  }
  const usual = { first: FIRST, blocks, transactions: 100 };
  const full = { first: 2 * FIRST, blocks: Math.ceil(blocks / 5), transactions: 500 };
  const rows: Row[] = [];
  for (const chain of [usual, full]) {
    await withChain(cluster, chain, { ...env, PAID: paid }, async (reading) => {
      rows.push(await catchUp(cluster, chain, reading));
      if (chain === usual) rows.push(await readAgain(chain, reading));
    });
  }
  return rows;
}

async function withChain(
  cluster: BenchCluster,
  { first, blocks, transactions }: Chain,
  env: NodeJS.ProcessEnv,
  work: (reading: Reading) => Promise<void>,
): Promise<void> {
  const child = fork(fileURLToPath(new URL('deposit-node.mjs', import.meta.url)), [], {
    env: {
      ...process.env,
      TOKEN: cluster.service.token,
      PAYER: newChainAccount().address,
      PAID: env['PAID'],
      OTHERS: JSON.stringify(Array.from({ length: 100 }, () => newChainAccount().address)),
      FIRST: first.toString(),
      COUNT: (blocks + newBlocksOf(blocks)).toString(),
      NEWEST: (first + blocks).toString(),
      TRANSACTIONS: transactions.toString(),
    },
  });
  try {
    const nodes = await new Promise<Nodes>((resolve) => child.once('message', (message) => resolve(message as Nodes)));
    await cluster.database.query(
      `UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3, lease_until = NULL`,
      [first, Buffer.from(nodes.firstId, 'hex'), new Date(nodes.firstMs)],
    );
    await cluster.database.query(`UPDATE reconcile_state SET scanned_to = $1`, [first]);
    const urls = nodes.ports.map((port) => `http://127.0.0.1:${port.toString()}`).join(',');
    const own = { ...env, TRON_FULL_NODE_URLS: urls, TRON_SOLIDITY_NODE_URLS: urls };
    const worker = await openWorker(own);
    try {
      await work({ worker, env: own, goOn: (newest) => child.send(newest) });
    } finally {
      await worker.close();
    }
  } finally {
    child.kill('SIGKILL');
  }
}

async function catchUp(
  cluster: BenchCluster,
  { first, blocks, transactions }: Chain,
  { worker }: Reading,
): Promise<Row> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  const follower = worker.get(BlockFollower);
  // The first pass takes the turn, so that this worker also runs the search.
  await follower.runPass();
  await Promise.all([untilOver(() => follower.runPass()), untilOver(() => follower.runSearch())]);
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(before);
  const [read] = await cluster.database.query<{ block_number: bigint; scanned_to: bigint; deposits: number }>(
    `SELECT block_number, scanned_to, (SELECT count(*)::integer FROM deposit WHERE block_number > $1) AS deposits
       FROM deposit_cursor, reconcile_state`,
    [first],
  );
  const isRead = [read?.block_number, read?.scanned_to].every((to) => Number(to) === first + blocks);
  if (!isRead || read?.deposits !== Math.floor(blocks / 10)) {
    throw new Error(`not all was read: ${JSON.stringify(read, (_, value: unknown) => String(value))}`);
  }
  const isUsual = transactions === 100;
  const cpuSec = (user + system) / 1e6;
  return rowOf({
    what: `blocks of ${transactions.toString()} transactions caught up with for deposits, by two nodes`,
    against: isUsual ? 'the goal of 20 a second' : 'a block every 3 s',
    perSec: blocks / seconds,
    limit: isUsual ? GOAL_PER_SEC : 1 / BLOCK_SEC,
    note: `${blocks.toString()} blocks in ${seconds.toFixed(1)} s; a block every 3 s takes ${((cpuSec / blocks / BLOCK_SEC) * 100).toFixed(1)} % of a core of the worker`,
  });
}

async function untilOver(step: () => Promise<boolean>): Promise<void> {
  while (await step());
}

/** Reads earlier blocks again, while new ones arrive at ten times the speed of the main net. */
async function readAgain({ first, blocks }: Chain, { worker, env, goOn }: Reading): Promise<Row> {
  const operator = await openParts(env);
  try {
    const follower = worker.get(BlockFollower);
    const over = new AbortController();
    let [newest, mostBehind] = [first + blocks, 0];
    const follow = async (): Promise<void> => {
      while (!over.signal.aborted && newest < first + blocks + newBlocksOf(blocks)) {
        newest += 1;
        goOn(newest);
        await sleep(NEW_BLOCK_MS, over.signal);
        while (await follower.runPass());
        mostBehind = Math.max(mostBehind, newest - Number(await operator.get(DepositTerms).needReadTo()));
      }
    };
    const following = follow();
    const startedMs = performance.now();
    const { found } = await operator.get(Rescan).run({ from: first + 1, to: first + blocks });
    const seconds = (performance.now() - startedMs) / 1000;
    over.abort();
    await following;
    if (found > 0) throw new Error(`${found.toString()} deposits were missing`);
    const perSec = blocks / seconds;
    return rowOf({
      what: 'blocks of 100 transactions read again, beside a new one every 0.3 s',
      against: 'the goal of 20 a second',
      perSec,
      limit: GOAL_PER_SEC,
      note: `a month in ${(MONTH_BLOCKS / perSec / 3600).toFixed(1)} h; new blocks at most ${mostBehind.toString()} behind meanwhile`,
    });
  } finally {
    await operator.close();
  }
}

/** Number of blocks that arrive while the others are read again at the goal's speed. */
const newBlocksOf = (blocks: number): number => Math.ceil((blocks / GOAL_PER_SEC) * (1000 / NEW_BLOCK_MS));

function rowOf(measured: {
  readonly what: string;
  readonly against: string;
  readonly perSec: number;
  readonly limit: number;
  readonly note: string;
}): Row {
  const { perSec, limit, ...said } = measured;
  const ratio = perSec / limit;
  return { ...said, unit: '/s', ours: perSec, limit, ratio, goal: '> 1', spread: [ratio, ratio] };
}

/** Returns the first address of the account, assigned to a project of the cluster. */
async function accountFor(addresses: InstanceType<typeof DepositAddresses>): Promise<string> {
  await addresses.useAccount({ number: FIRST, id: '00'.repeat(32), timestampMs: 0 }, AUTHOR);
  while ((await addresses.assignMissing()) > 0);
  const [first] = await addresses.list();
  if (first === undefined) throw new Error('no project has an address');
  return first.address;
}
