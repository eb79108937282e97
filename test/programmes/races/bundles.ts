// Races for the bandwidth of the pool: orders of energy, bandwidth and an activation take all of their parts or none.
import { randomUUID } from 'node:crypto';
import { makeCustomer } from '../../support/api/factory.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { recordsOf, tally, volley, type RaceCluster, type Row } from './cluster.js';

const PLENTY = 1_000_000_000_000n;
/** The least delegation, so that each order takes as much stake as any other. */
const PART_SUN = 1_000_000n;
const BUNDLE = { energy: 65_000, bandwidth: 1000 };

/** Every second order also activates its receiver, so that it takes from the slots of two wallets. */
const bundle = (cluster: RaceCluster, index: number): object =>
  index % 2 === 0
    ? { ...BUNDLE, receive_address: cluster.chain.receivers[5]! }
    : { ...BUNDLE, receive_address: newOwner().address, activate: true };

interface Stake {
  readonly energy: bigint;
  readonly bandwidth: bigint;
}

/** Stake of each resource that is free, or held by legs. */
async function wholeStake({ database }: RaceCluster): Promise<Stake> {
  const [row] = await database.query<Stake>(
    `SELECT (SELECT sum(free_sun) FROM pool_slot)::bigint
          + (SELECT coalesce(sum(amount_sun), 0) FROM leg WHERE kind <> 'bandwidth' AND status <> 'released')::bigint AS energy,
        (SELECT sum(free_bandwidth_sun) FROM pool_slot)::bigint
          + (SELECT coalesce(sum(amount_sun), 0) FROM leg WHERE kind = 'bandwidth' AND status <> 'released')::bigint AS bandwidth`,
  );
  return row!;
}

async function freeBandwidth({ database }: RaceCluster): Promise<bigint> {
  const [row] = await database.query<{ sun: bigint }>(`SELECT sum(free_bandwidth_sun)::bigint AS sun FROM pool_slot`);
  return row!.sun;
}

/** Leaves the pool this much bandwidth for sale, spread over its slots. Returns how much more it had. */
async function leaveBandwidth(cluster: RaceCluster, sun: bigint): Promise<bigint> {
  const before = await freeBandwidth(cluster);
  await cluster.database.query(
    `UPDATE pool_slot s SET free_bandwidth_sun = CASE WHEN n.place <= $1::bigint % n.slots THEN 1 ELSE 0 END + div($1::numeric, n.slots)::bigint
       FROM (SELECT wallet_id, slot_no, row_number() OVER (ORDER BY wallet_id, slot_no) AS place, count(*) OVER () AS slots
               FROM pool_slot JOIN pool_wallet w ON w.id = wallet_id WHERE w.role = 'pool') n
      WHERE s.wallet_id = n.wallet_id AND s.slot_no = n.slot_no`,
    [sun],
  );
  return before - sun;
}

/** Sends twice as many orders as the pool has bandwidth for: exactly that number succeeds, and the rest holds nothing. */
export async function lastBandwidth(cluster: RaceCluster, parallel: number): Promise<Row> {
  const customer = await makeCustomer(cluster.services, PLENTY);
  const fitting = parallel / 2;
  const spared = await leaveBandwidth(cluster, PART_SUN * BigInt(fitting));
  const before = await wholeStake(cluster);
  const answers = await volley(cluster, customer, parallel, (at, index) =>
    at.post('/v1/orders', bundle(cluster, index), { 'Idempotency-Key': randomUUID() }),
  );
  const after = await wholeStake(cluster);
  const left = await freeBandwidth(cluster);
  await cluster.database.query(
    `UPDATE pool_slot SET free_bandwidth_sun = free_bandwidth_sun + $1
      WHERE (wallet_id, slot_no) = (SELECT min(wallet_id), 1 FROM pool_slot JOIN pool_wallet w ON w.id = wallet_id WHERE w.role = 'pool')`,
    [spared],
  );
  const records = await recordsOf(cluster, customer.merchant);
  const say = (orders: number, sun: bigint, lost: Stake, statuses: string) =>
    `${orders.toString()} orders, ${sun.toString()} sun left, ${lost.energy.toString()} and ${lost.bandwidth.toString()} sun lost, ${statuses}`;
  const half = fitting.toString();
  const lost = { energy: before.energy - after.energy, bandwidth: before.bandwidth - after.bandwidth };
  return {
    race: 'bandwidth for half of them',
    done: `${parallel.toString()} at once`,
    wanted: say(fitting, 0n, { energy: 0n, bandwidth: 0n }, `${half} × 202, ${half} × 503 CAPACITY_UNAVAILABLE`),
    found: say(records.orders, left, lost, tally(answers)),
  };
}
