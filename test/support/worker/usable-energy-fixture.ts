// Rentals of one receiver on the local chain, with real energy usage, for tests of the energy that stays usable.
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import type { Owner } from '../chain/order-chain.js';
import { api, type SteppedWorker, mine, orderOf, rent, useEnergy } from './fulfilment-fixture.js';

/** Chain time, in blocks of three seconds. */
export const SHORT_SEC = 300;
export const LONG_SEC = 3_600;
/** A call repeats a step of about 5 000 energy this often. */
const CALLS = 10;

const resourcesOf = (address: string) => api.app.get(TronClient).accountResources(address);

export async function usable(address: string): Promise<number> {
  const { energyLimit, energyUsed } = await resourcesOf(address);
  return Number(energyLimit - energyUsed);
}

/** Uses energy of the address in a block. Returns the amount used. */
export async function spend(caller: Owner, times = CALLS): Promise<number> {
  const before = Number((await resourcesOf(caller.address)).energyUsed);
  await useEnergy(caller, times);
  await mine();
  return Number((await resourcesOf(caller.address)).energyUsed) - before;
}

export async function settled(worker: SteppedWorker, to: string, energy: number, durationSec: number): Promise<string> {
  const key = await rent(to, energy, durationSec);
  await goOnUntil(worker, 'a settled rental', async () => (await orderOf(key)).settled);
  expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
  return key;
}

const ROUNDS_MAX = 60;

/** Makes blocks and lets the worker process them until `isSo` returns true. A slow machine needs more rounds. */
export async function goOnUntil(worker: SteppedWorker, what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await isSo()) return;
    await mine();
    await worker.followChain();
    await worker.advance();
    await worker.reclaimEnded();
  }
  throw new Error(`not seen: ${what}`);
}

export const isEmpty = async (text: string, address: string): Promise<boolean> =>
  (await api.database.query(text, [address])).length === 0;

/** Continues past the end of the short rentals until a block includes their reclaims. */
export async function endShort(worker: SteppedWorker, address: string): Promise<void> {
  await mine(SHORT_SEC / 3 + 1);
  await worker.followChain();
  await worker.reclaimEnded();
  const left = `SELECT 1 FROM orders WHERE receive_address = $1 AND duration_sec = ${SHORT_SEC.toString()} AND reclaimed_at IS NULL`;
  await goOnUntil(worker, 'the reclaims in a block', () => isEmpty(left, address));
}

/** Continues until every reclaim's leftover usage is weighed and every top-up is in a solid block. */
export async function makeUp(worker: SteppedWorker, address: string): Promise<void> {
  const due = `SELECT 1 FROM reclaim_usage u JOIN chain_tx t ON t.id = u.tx_id
    WHERE u.receive_address = $1 AND u.weighed_at IS NULL AND t.status IN ('included', 'solid')`;
  await goOnUntil(worker, 'every reclaim weighed', async () => {
    // Retries work that was postponed after a failure.
    await api.database.query(`UPDATE open_orders SET top_up_after = NULL`);
    await worker.topUp();
    return isEmpty(due, address);
  });
  const moving = `SELECT 1 FROM leg l JOIN chain_tx t ON t.leg_id = l.id WHERE l.receive_address = $1 AND l.top_up
    AND (l.status IN ('reserved', 'placed') OR t.status = 'included')`;
  const built = `SELECT 1 FROM leg WHERE receive_address = $1 AND top_up AND status = 'reserved'`;
  await goOnUntil(
    worker,
    'the top-up in a solid block',
    async () => (await isEmpty(moving, address)) && (await isEmpty(built, address)),
  );
}

interface LegRow {
  readonly status: string;
  readonly cause: string | null;
}

export const topUpsOf = (key: string): Promise<LegRow[]> =>
  api.database.query<LegRow>(
    `SELECT l.status, l.top_up_cause AS cause FROM leg l JOIN orders o ON o.id = l.order_id
      WHERE o.key = $1 AND l.top_up ORDER BY l.leg_no`,
    [key],
  );

/** Returns the usage rows of a receiver's reclaims: used energy, weighed or not, and the leftover. */
export const usageOf = (address: string) =>
  api.database.query<{ used: bigint; weighed: boolean; left: bigint | null }>(
    `SELECT used_energy AS used, weighed_at IS NOT NULL AS weighed, left_energy AS left FROM reclaim_usage
      WHERE receive_address = $1 ORDER BY tx_id`,
    [address],
  );

export async function expectSoundRecords(): Promise<void> {
  const report = await verifyRecords(api.database);
  expect(report.checks.flatMap(({ findings }) => findings)).toEqual([]);
}

/** Continues past the end of every rental of the receiver until all are reclaimed. */
export async function endAll(worker: SteppedWorker, address: string): Promise<void> {
  await mine(LONG_SEC / 3);
  await worker.followChain();
  await worker.reclaimEnded();
  const left = `SELECT 1 FROM leg WHERE receive_address = $1 AND status NOT IN ('reclaimed', 'released')`;
  await goOnUntil(worker, 'all reclaimed', () => isEmpty(left, address));
}
