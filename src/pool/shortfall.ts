/**
 * How much less is delegated to a receiver than open legs hold there: exact where nothing is on its way, as two bounds
 * where something is. What one delegation of the same pair adds must not hide what another one lacks.
 */
import { NodeError } from '../chain/errors.js';
import { solidHeadOf, type TronClient } from '../chain/tron.client.js';
import type { Database } from '../store/database.js';
import { solidDelegationSun } from '../chain/solid-delegations.js';

export interface WalletRow {
  readonly id: number;
  readonly address: string;
}

const LEGS = `SELECT l.id, l.amount_sun AS sun, d.status AS delivery, d.block_number AS delivered_in, r.status AS reclaim,
    r.block_number AS reclaimed_in
  FROM open_leg l JOIN open_chain_tx d ON d.leg_id = l.id AND d.purpose = 'delegate' AND d.status IN ('sending', 'included', 'solid')
  LEFT JOIN open_chain_tx r ON r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')
  WHERE l.wallet_id = $1 AND l.receive_address = $2 AND l.kind = 'rental'
    AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')`;

/** New transactions have new ids, so the newest thousands hold the newest block the records call solid. */
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

/** Neither is negative. They are equal unless something of the pair is on its way. */
export interface Shortfall {
  readonly least: bigint;
  readonly most: bigint;
}

/** What is missing of a pair, and the open legs that this was found of. */
export interface JudgedShortfall extends Shortfall {
  readonly wallet: WalletRow;
  readonly receiver: string;
  readonly legIds: readonly bigint[];
}

/** What is judged: a pair, as of a solid block of this height or any later one. */
export interface JudgedPair {
  readonly wallet: WalletRow;
  readonly receiver: string;
  readonly leastHeight: bigint;
}

/** What open legs hold from `wallet` to `receiver` beyond all that is delegated. Throws ChainUnavailableError. */
export async function shortfallOf(
  database: Database,
  client: TronClient,
  { wallet, receiver, leastHeight }: JudgedPair,
): Promise<JudgedShortfall> {
  return client.pool.ask('a delegation', async (node) => {
    // Before the chain: whatever stands there by then is recorded as sent.
    const legs = await database.query<HeldLeg & { readonly id: bigint }>(LEGS, [wallet.id, receiver]);
    const [known] = await database.query<{ height: bigint }>(SOLID_HEIGHT);
    const height = BigInt((await solidHeadOf(node)).number);
    if (height < (known?.height ?? 0n) || height < leastHeight) {
      throw new NodeError(node.name, 'unhealthy', 'its solid head is behind what the records call solid');
    }
    const sun = await solidDelegationSun(node, wallet.address, receiver);
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

/** Whether a transaction is in the solid chain up to `height`. A block at or below it may not be the one that became solid. */
function standing(status: Status, block: bigint | null, height: bigint): 'yes' | 'no' | 'maybe' {
  if (status === 'solid') return 'yes';
  return status === 'included' && block !== null && block > height ? 'no' : 'maybe';
}
