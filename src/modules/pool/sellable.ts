/**
 * The most energy, or bandwidth, that the pool could deliver in one order now, by the rules of reserve_capacity. It
 * uses as many wallets as the order's price pays for, those with the most free stake first. Reads only.
 */
import { LEGS_MAX } from '../../domain/order-state.js';
import { legsAffordable, rentalPrice, type PriceRow } from '../../domain/price.js';
import { SUN_PER_TRX, type Energy, type Sun } from '../../domain/units.js';
import type { Database } from '../../platform/database/database.js';
import { TRANSACTIONS_PER_LEG } from './bandwidth.js';
import { DELEGATION_MIN_SUN, marginFor, sunForEnergy, sunOfOneEnergy, type EnergyRatio } from './energy-ratio.js';

/** Twice the wallets that an order may use, because a wallet's last seen stake is not its present stake. */
const WALLETS_READ = 2 * LEGS_MAX;

const SELLS = `role = 'pool' AND status = 'active' AND sells_until > clock_timestamp()`;

/**
 * $1: number of wallets to read for each resource; only their slots are read, which bounds the cost. $2: a leg's
 * transactions; a wallet that sells bandwidth may also have to deliver the energy beside it. $3: the least delegation.
 */
const FREE = {
  name: 'pool-sellable',
  text: `SELECT w.is_energy, s.free
           FROM ((SELECT id, true AS is_energy FROM pool_wallet WHERE ${SELLS} ORDER BY free_sun_seen DESC, id LIMIT $1)
                 UNION ALL
                 (SELECT id, false FROM pool_wallet WHERE ${SELLS} AND staked_bandwidth_sun > 0
                   ORDER BY staked_bandwidth_sun - delegated_bandwidth_sun DESC, id LIMIT $1)) w
           CROSS JOIN LATERAL (
             SELECT coalesce(sum(CASE WHEN w.is_energy THEN free_sun ELSE free_bandwidth_sun END), 0)::bigint AS free,
                    sum(free_transactions) AS transactions
               FROM pool_slot WHERE wallet_id = w.id) s
          WHERE s.transactions >= CASE WHEN w.is_energy THEN $2::bigint ELSE 2 * $2::bigint END AND s.free >= $3
          ORDER BY s.free DESC`,
};

/** Free stake of single wallets, largest first. */
export interface FreeStake {
  readonly energy: readonly bigint[];
  readonly bandwidth: readonly bigint[];
}

/** Returns the free stake of the wallets that sell. Wallets beyond the bound, with the least stake, are missing. */
export async function freeStake(database: Database): Promise<FreeStake> {
  const params = [WALLETS_READ, TRANSACTIONS_PER_LEG, DELEGATION_MIN_SUN];
  const rows = await database.query<{ is_energy: boolean; free: bigint }>(FREE, params);
  const of = (isEnergy: boolean) => rows.filter((row) => row.is_energy === isEnergy).map(({ free }) => free);
  return { energy: of(true), bandwidth: of(false) };
}

export interface SaleTerms {
  readonly row: PriceRow;
  /** Sun: cost of a leg's two transactions. */
  readonly floor: Sun;
  readonly ratio: EnergyRatio;
  readonly marginBps: number;
}

/**
 * Returns the most energy that one order of the row's longest duration could get from `free`, sorted largest first; 0
 * if none. With the row and the ratio of bandwidth in the place of those of energy: the most bandwidth. Pure.
 */
export function largestSale(free: readonly bigint[], { row, floor, ratio, marginBps }: SaleTerms): bigint {
  const margin = marginFor(row.durationMaxSec, marginBps);
  let [largest, held] = [0n, 0n];
  for (const [index, stake] of free.entries()) {
    held += stake;
    // Each leg's energy is rounded down.
    const most = energyWithin(held - BigInt(index) * sunOfOneEnergy(ratio), ratio, margin);
    const isPaidFor = legsAffordable(rentalPrice(most, row, floor), floor) > BigInt(index);
    if (most > largest && isPaidFor) largest = most;
  }
  return largest;
}

/** Returns the most energy whose delegation needs at most `stake`; 0 if none. */
function energyWithin(stake: bigint, ratio: EnergyRatio, marginBps: number): Energy {
  // A delegation is whole TRX.
  const wholeTrx = stake / SUN_PER_TRX;
  const exact =
    (wholeTrx * 10_000n * ratio.totalEnergyLimit) / ((10_000n + BigInt(marginBps)) * ratio.totalEnergyWeight);
  // Rounding up takes less than two energies' worth. The loop repeats each rounding to be certain.
  for (let amount = exact; amount > 0n && amount > exact - 4n; amount -= 1n) {
    if (sunForEnergy(amount as Energy, ratio, marginBps) <= stake) return amount as Energy;
  }
  return 0n as Energy;
}
