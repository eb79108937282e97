// How fast solid blocks are caught up with for deposits: two nodes that answer at once, blocks of 100 transactions, every
// tenth of which pays; with the transaction for each block in Postgres.
import { fork } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { HDKey } from '@scure/bip32';
import { newChainAccount } from '../packages/local/src/chain-account.js';
import { DepositAddresses, BlockFollower, openParts, openWorker } from './dist.js';
import type { Row } from './measure.js';
import type { Stage } from './stage.js';

const FIRST = 70_000_000;
const GOAL_PER_SEC = 20;
const AUTHOR = { actor: 'bench', reason: 'bench' };
const XPUB = HDKey.fromMasterSeed(pbkdf2Sync('bench', 'mnemonic', 2048, 64, 'sha512')).derive(
  "m/44'/195'/0'",
).publicExtendedKey;

interface Nodes {
  readonly ports: readonly [number, number];
  readonly firstId: string;
  readonly firstMs: number;
}

export async function depositRows(stage: Stage, blocks: number): Promise<Row[]> {
  const env = { ...stage.world.env, DEPOSIT_XPUB: XPUB, DEPOSIT_AUTO_MAX_USD: '100000000', LOG_LEVEL: 'warn' };
  const parts = await openParts(env);
  const addresses = parts.get(DepositAddresses);
  const paid = await accountFor(addresses);
  await parts.close();
  const child = fork(fileURLToPath(new URL('deposit-node.mjs', import.meta.url)), [], {
    env: {
      ...process.env,
      TOKEN: stage.world.token,
      PAYER: newChainAccount().address,
      PAID: paid,
      OTHERS: JSON.stringify(Array.from({ length: 100 }, () => newChainAccount().address)),
      FIRST: FIRST.toString(),
      COUNT: blocks.toString(),
    },
  });
  try {
    const nodes = await new Promise<Nodes>((resolve) => child.once('message', (message) => resolve(message as Nodes)));
    await stage.database.query(`UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3`, [
      FIRST,
      Buffer.from(nodes.firstId, 'hex'),
      new Date(nodes.firstMs),
    ]);
    for (const asset of ['TRX', 'USDT']) {
      await stage.database.query(
        `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ($1, '2023-11-14', 30000000)`,
        [asset],
      );
    }
    const urls = nodes.ports.map((port) => `http://127.0.0.1:${port.toString()}`).join(',');
    const worker = await openWorker({ ...env, TRON_FULL_NODE_URLS: urls, TRON_SOLIDITY_NODE_URLS: urls });
    try {
      const before = process.cpuUsage();
      const startedMs = performance.now();
      while (await worker.get(BlockFollower).pass());
      const seconds = (performance.now() - startedMs) / 1000;
      const { user, system } = process.cpuUsage(before);
      const [read] = await stage.database.query<{ block_number: bigint; deposits: number }>(
        `SELECT block_number, (SELECT count(*)::integer FROM deposit) AS deposits FROM deposit_cursor`,
      );
      if (Number(read?.block_number) !== FIRST + blocks || read?.deposits !== Math.floor(blocks / 10)) {
        throw new Error(`not all was read: ${JSON.stringify(read, String)}`);
      }
      const perSec = blocks / seconds;
      return [
        {
          what: 'blocks of 100 transactions caught up with for deposits, by two nodes',
          against: 'the goal of 20 a second',
          unit: '/s',
          ours: perSec,
          limit: GOAL_PER_SEC,
          ratio: perSec / GOAL_PER_SEC,
          goal: '> 1',
          spread: [perSec / GOAL_PER_SEC, perSec / GOAL_PER_SEC],
          note: `${blocks.toString()} blocks in ${seconds.toFixed(1)} s, ${(((user + system) / 1e6 / seconds) * 100).toFixed(0)} % of a core in the worker`,
        },
      ];
    } finally {
      await worker.close();
    }
  } finally {
    child.kill('SIGKILL');
  }
}

/** The first address of the account, of a project that the stage has. */
async function accountFor(addresses: InstanceType<typeof DepositAddresses>): Promise<string> {
  await addresses.useAccount({ number: FIRST, id: '00'.repeat(32), timestampMs: 0 }, AUTHOR);
  while ((await addresses.assignMissing()) > 0);
  const [first] = await addresses.list();
  if (first === undefined) throw new Error('no project has an address');
  return first.address;
}
