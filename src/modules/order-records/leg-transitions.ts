/** Moves legs from state to state, and reserves capacity for further ones. */
import { LEGS_MAX, type LegKind, type TopUpCause } from '../../domain/order-state.js';
import type { Sun } from '../../domain/units.js';
import type { Queryable } from '../../platform/database/database.js';

/** Capacity for further legs of one kind. `slackSun` is what a leg may lack. */
export interface PartReservation {
  readonly kind: LegKind;
  readonly amountSun: bigint;
  readonly slackSun: Sun;
}

/** The order that gets further legs. */
export interface LegOwner {
  readonly id: bigint;
  readonly receiver: string;
}

/** The limit of legs counts from the existing ones: further legs of an order may be as many as those of a new one. */
const RESERVE = {
  name: 'reserve_further',
  text: `SELECT reserve_capacity($1, $2, $3, $4, $5,
    (SELECT coalesce(max(leg_no), 0) FROM open_leg WHERE order_id = $1)::integer + $6::integer)`,
};

const RESERVE_PARTS = {
  name: 'reserve_further_parts',
  text: `SELECT reserve_order($1, $3, $2::text[], $4::bigint[], $5::bigint[], array_fill($6::integer, ARRAY[cardinality($2::text[])]))`,
};

/** Reserves further legs, as many as a new order may have of each kind. Throws a refusal without capacity. */
export async function reserveFurther(
  tx: Queryable,
  { id, receiver }: LegOwner,
  parts: readonly PartReservation[],
): Promise<void> {
  const [first, ...more] = parts;
  if (first === undefined) return;
  if (more.length === 0) {
    await tx.query(RESERVE, [id, first.kind, receiver, first.amountSun, first.slackSun, LEGS_MAX]);
    return;
  }
  const [kinds, amounts] = [parts.map(({ kind }) => kind), parts.map(({ amountSun }) => amountSun)];
  await tx.query(RESERVE_PARTS, [id, kinds, receiver, amounts, parts.map(({ slackSun }) => slackSun), LEGS_MAX]);
}

const MARK_TOP_UP = {
  name: 'mark_top_up',
  text: `UPDATE open_leg SET top_up = true, top_up_cause = $3 WHERE order_id = $1 AND leg_no > $2 AND kind = $4 AND status = 'reserved'`,
};

interface NewTopUps {
  readonly afterLegNo: number;
  readonly kind: LegKind;
  readonly cause: TopUpCause | undefined;
}

/** Marks the reserved legs of a kind after `afterLegNo` as top-ups of a running rental. */
export async function markTopUps(
  tx: Queryable,
  orderId: bigint,
  { afterLegNo, kind, cause }: NewTopUps,
): Promise<void> {
  await tx.query(MARK_TOP_UP, [orderId, afterLegNo, cause ?? null, kind]);
}

const KEEP_AGE = {
  name: 'keep_leg_age',
  text: `UPDATE open_leg SET changed_at = least(changed_at, clock_timestamp() - $2 * interval '1 second')
    WHERE order_id = $1 AND status = 'reserved'`,
};

/** Dates an order's reserved legs back to an age of at least `ageSec`. */
export async function keepLegAge(tx: Queryable, orderId: bigint, ageSec: number): Promise<void> {
  await tx.query(KEEP_AGE, [orderId, ageSec]);
}

/**
 * An unsent leg of the later clock has an age of zero until the new clock catches up. It waits from now on, so that its
 * order is refunded in time if it cannot be delivered.
 */
const RESTART_WAITS = `UPDATE open_leg SET changed_at = clock_timestamp() WHERE id IN (
    SELECT id FROM open_leg WHERE status IN ('reserved', 'placed') AND changed_at > clock_timestamp()
     ORDER BY id LIMIT 20000 FOR NO KEY UPDATE SKIP LOCKED)`;

/** Dates unsent legs of a later clock to the present. */
export async function restartLegWaits(tx: Queryable): Promise<void> {
  await tx.query(RESTART_WAITS);
}

const RELEASE = {
  name: 'release_legs',
  text: `UPDATE open_leg SET status = 'released', changed_at = clock_timestamp()
    WHERE id = ANY ($1::bigint[]) AND status IN ('reserved', 'placed') RETURNING id, kind, wallet_id, amount_sun`,
};

export interface ReleasedLeg {
  readonly id: bigint;
  readonly kind: LegKind;
  readonly wallet_id: number;
  readonly amount_sun: bigint;
}

/** Releases legs that can no longer deliver. Returns those that were still open; the caller returns their capacity. */
export async function releaseLegs(tx: Queryable, legIds: readonly bigint[]): Promise<ReleasedLeg[]> {
  return tx.query<ReleasedLeg>(RELEASE, [legIds]);
}

/** TRON: energy of a delegation = floor(sun / 10^6 × TotalEnergyLimit / TotalEnergyWeight). */
const ACTIVATE = {
  name: 'activate_legs',
  text: `UPDATE open_leg SET status = 'active', active_at = $2, changed_at = clock_timestamp(),
      energy = CASE kind WHEN 'rental' THEN div(amount_sun::numeric * $3::numeric, 1000000 * $4::numeric)::bigint END,
      bandwidth = CASE kind WHEN 'bandwidth' THEN div(amount_sun::numeric * $5::numeric, 1000000 * $6::numeric)::bigint END
    WHERE id = ANY ($1::bigint[]) AND status = 'placed'`,
};

/** The network's numbers that turn stake into energy and bandwidth. */
interface StakeRatio {
  readonly totalEnergyLimit: bigint;
  readonly totalEnergyWeight: bigint;
  readonly totalNetLimit: bigint;
  readonly totalNetWeight: bigint;
}

/** Marks placed legs as active at block time `at`, with the energy or bandwidth of their stake at this ratio. */
export async function activateLegs(
  tx: Queryable,
  legIds: readonly bigint[],
  at: Date,
  ratio: StakeRatio,
): Promise<void> {
  const { totalEnergyLimit, totalEnergyWeight, totalNetLimit, totalNetWeight } = ratio;
  await tx.query(ACTIVATE, [legIds, at, totalEnergyLimit, totalEnergyWeight, totalNetLimit, totalNetWeight]);
}

/** Legs that waited for the activation of their receiver wait for themselves from now on. */
const START_WAITS = {
  name: 'start_leg_waits',
  text: `UPDATE open_leg SET changed_at = clock_timestamp() WHERE status = 'reserved' AND order_id IN (
    SELECT order_id FROM open_leg WHERE id = ANY ($1::bigint[]) AND kind = 'activation' AND status = 'active')`,
};

/** Restarts the age of the reserved legs of orders with an activation among these active legs. */
export async function startWaitsAfterActivation(tx: Queryable, legIds: readonly bigint[]): Promise<void> {
  await tx.query(START_WAITS, [legIds]);
}

const REVERT = {
  name: 'reverted_legs',
  text: `UPDATE open_leg SET status = 'placed', active_at = NULL, energy = NULL, bandwidth = NULL, changed_at = clock_timestamp()
    WHERE id = ANY ($1::bigint[]) AND status = 'active'`,
};

/** Returns active legs to `placed`, because their block was reverted. */
export async function revertLegs(tx: Queryable, legIds: readonly bigint[]): Promise<void> {
  await tx.query(REVERT, [legIds]);
}

const RECLAIM = {
  name: 'reclaimed_legs',
  text: `UPDATE open_leg SET status = 'reclaimed', changed_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND status = 'reclaiming'`,
};

/** Marks legs with solid undelegations as reclaimed. */
export async function markLegsReclaimed(tx: Queryable, legIds: readonly bigint[]): Promise<void> {
  await tx.query(RECLAIM, [legIds]);
}

const CLOSE = `UPDATE open_leg SET status = 'reclaimed', closed_at = $2, closed_by_txid = $3, closed_reason = $4, changed_at = clock_timestamp()
  WHERE id = ANY ($1::bigint[]) AND status IN ('active', 'reclaiming') RETURNING id`;

/** The evidence that a foreign act ended legs. */
export interface LegEvidence {
  /** By the chain's clock. */
  readonly at: Date;
  /** Id of the undelegation, in hex. */
  readonly txid: string | undefined;
  readonly reason: string | undefined;
}

/** Marks legs as reclaimed that a foreign act ended. Returns their number. */
export async function markLegsClosed(
  tx: Queryable,
  legIds: readonly bigint[],
  { at, txid, reason }: LegEvidence,
): Promise<number> {
  const act = txid === undefined ? null : Buffer.from(txid, 'hex');
  return (await tx.query(CLOSE, [legIds, at, act, reason ?? null])).length;
}

const KEEP_ACTIVATIONS = {
  name: 'keep_activations',
  text: `UPDATE open_leg SET status = 'reclaimed', closed_at = active_at, closed_reason = 'activated: nothing is to be reclaimed'
    WHERE order_id = ANY ($1::bigint[]) AND kind = 'activation' AND status = 'active'`,
};

/** Closes the final activations of these rentals. The database rejects one that is not final. */
export async function closeActivationsOf(tx: Queryable, orderIds: readonly bigint[]): Promise<void> {
  await tx.query(KEEP_ACTIVATIONS, [orderIds]);
}

/**
 * Closes final activations: nothing of them is ever reclaimed, and closed legs are not read again. It also covers
 * activations that a process of the previous version settled.
 */
const END_ACTIVATIONS = {
  name: 'pool_end_activations',
  text: `UPDATE open_leg l SET status = 'reclaimed', closed_at = l.active_at, closed_reason = 'activated: nothing is to be reclaimed'
    FROM (SELECT l.id FROM open_leg l JOIN open_orders o ON o.id = l.order_id
           WHERE l.wallet_id = $1 AND l.kind = 'activation' AND l.status = 'active' AND o.settled
           ORDER BY l.id LIMIT 5000 FOR NO KEY UPDATE OF l SKIP LOCKED) ended
    WHERE l.id = ended.id`,
};

/** Closes a wallet's final activations. */
export async function closeActivations(database: Queryable, walletId: number): Promise<void> {
  await database.query(END_ACTIVATIONS, [walletId]);
}
