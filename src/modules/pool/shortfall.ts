/**
 * Computes how much less of a resource is delegated to a receiver than open legs hold there. The figure is exact if no
 * transaction is pending, else two bounds. Surplus of one delegation of a pair must not hide a deficit of another.
 */
import { delegationKind, type Resource } from '../../domain/resource.js';
import { NodeError } from '../../platform/chain/errors.js';
import { solidHeadOf, type TronClient } from '../../platform/chain/tron.client.js';
import type { Database } from '../../platform/database/database.js';
import { solidDelegationSun } from '../../platform/chain/solid-delegations.js';

export interface WalletRow {
  readonly id: number;
  readonly address: string;
}

const LEGS = `SELECT l.id, l.amount_sun AS sun, d.status AS delivery, d.block_number AS delivered_in, r.status AS reclaim,
    r.block_number AS reclaimed_in
  FROM open_leg l JOIN open_chain_tx d ON d.leg_id = l.id AND d.purpose = 'delegate' AND d.status IN ('sending', 'included', 'solid')
  LEFT JOIN open_chain_tx r ON r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')
  WHERE l.wallet_id = $1 AND l.receive_address = $2 AND l.kind = $3
    AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')`;

/** New transactions have new ids, so the newest 5000 include the newest block that the records call solid. */
export const SOLID_HEIGHT = `SELECT coalesce(max(block_number), 0)::bigint AS height
  FROM (SELECT block_number, status FROM open_chain_tx ORDER BY id DESC LIMIT 5000) v WHERE status = 'solid'`;

type Status = 'sending' | 'included' | 'solid';

export interface HeldLeg {
  readonly sun: bigint;
  readonly delivery: Status;
  readonly delivered_in: bigint | null;
  readonly reclaim: Status | null;
  readonly reclaimed_in: bigint | null;
}

/** Neither is negative. They are equal unless a transaction of the pair is pending. */
export interface Shortfall {
  readonly least: bigint;
  readonly most: bigint;
}

/** The shortfall of a pair, and the open legs that it was computed from. */
export interface JudgedShortfall extends Shortfall {
  readonly wallet: WalletRow;
  readonly receiver: string;
  readonly legIds: readonly bigint[];
}

/** The pair to judge, at a solid block of at least this height. */
export interface JudgedPair {
  readonly wallet: WalletRow;
  readonly receiver: string;
  readonly resource: Resource;
  readonly leastHeight: bigint;
}

/**
 * Returns the sun that open legs hold from `wallet` to `receiver` beyond the delegated sun. Throws
 * ChainUnavailableError.
 */
export async function shortfallOf(
  database: Database,
  client: TronClient,
  { wallet, receiver, resource, leastHeight }: JudgedPair,
): Promise<JudgedShortfall> {
  return client.pool.ask('a delegation', async (node) => {
    // Read before the chain: the records then show each delegation that the chain can show as sent at least.
    const legs = await database.query<HeldLeg & { readonly id: bigint }>(LEGS, [
      wallet.id,
      receiver,
      delegationKind(resource),
    ]);
    const [known] = await database.query<{ height: bigint }>(SOLID_HEIGHT);
    const height = BigInt((await solidHeadOf(node)).number);
    if (height < (known?.height ?? 0n) || height < leastHeight) {
      throw new NodeError(node.name, 'unhealthy', 'its solid head is behind what the records call solid');
    }
    const sun = await solidDelegationSun(node, wallet.address, receiver, resource);
    const missing = shortfall(legs, sun, BigInt((await solidHeadOf(node)).number));
    return { ...missing, wallet, receiver, legIds: legs.map(({ id }) => id) };
  });
}

/** `sun`: delegated as of a solid block of at most `height`. */
export function shortfall(legs: readonly HeldLeg[], sun: bigint, height: bigint): Shortfall {
  let [certain, possible] = [0n, 0n];
  for (const leg of legs) {
    const delivered = standing(leg.delivery, leg.delivered_in, height);
    const reclaimed = leg.reclaim === null ? 'no' : standing(leg.reclaim, leg.reclaimed_in, height);
    if (delivered === 'no' || reclaimed === 'yes') continue;
    possible += leg.sun;
    if (delivered === 'yes' && reclaimed === 'no') certain += leg.sun;
  }
  const beyond = (held: bigint): bigint => (held > sun ? held - sun : 0n);
  return { least: beyond(certain), most: beyond(possible) };
}

/**
 * Returns whether the solid chain up to `height` holds the transaction. An included block at or below it may have been
 * replaced, hence `maybe`.
 */
function standing(status: Status, block: bigint | null, height: bigint): 'yes' | 'no' | 'maybe' {
  if (status === 'solid') return 'yes';
  return status === 'included' && block !== null && block > height ? 'no' : 'maybe';
}
