// Rules of a round that can be checked from the records, or from records and chain. Each returns its violations.
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';
import type { ChaosCluster } from './cluster.js';
import { TRUE_PRICE } from './exchanges.js';

/** Terms never change in a round, and nothing is charged back. So a balance below the floor was overcharged. */
export async function balancesBelowFloor(read: ReadRows): Promise<string[]> {
  const rows = await read<{ project: string; balance: string }>(
    `SELECT project_id AS project, balance_credits::text AS balance FROM credit_account WHERE balance_credits < floor_credits`,
    [],
  );
  return rows.map(({ project, balance }) => `I8 project ${project} stands at ${balance} credits`);
}

/** Compares recorded blocks and times with the chain's own blocks: nothing may have ended early by them. */
export async function blocksUnlikeTheChain(cluster: ChaosCluster, run: string, read: ReadRows): Promise<string[]> {
  const rows = await read<{ number: number; id: string; ms: string }>(
    `SELECT DISTINCT t.block_number::int AS number, encode(t.block_id, 'hex') AS id,
        round(extract(epoch FROM t.block_at) * 1000)::text AS ms
      FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE o.key LIKE $1 AND t.status = 'solid'`,
    [`${run}-%`],
  );
  const wrong: string[] = [];
  for (const { number, id, ms } of rows) {
    const block = await cluster.block(number);
    if (block.id === id && block.timestampMs === Number(ms)) continue;
    wrong.push(
      `I6 block ${number.toString()} is ${id} of ${ms} in the records, ${block.id} of ${block.timestampMs.toString()} on chain`,
    );
  }
  return wrong;
}

/** No order may have a rate that no honest exchange quoted. */
export async function ratesNotQuoted(run: string, read: ReadRows): Promise<string[]> {
  const rows = await read<{ key: string; rate: string }>(
    `SELECT key, trx_usd_e8::text AS rate FROM orders WHERE key LIKE $1 AND abs(trx_usd_e8 - $2::bigint) * 5 > $2::bigint`,
    [`${run}-%`, Math.round(TRUE_PRICE * 1e8)],
  );
  return rows.map(({ key, rate }) => `I8 order ${key} was sold at a rate of ${rate}`);
}
