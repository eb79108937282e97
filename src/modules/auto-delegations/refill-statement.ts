/** The database calls that buy for an auto-delegation. Each makes one numbered purchase, or leaves nothing behind. */
import { withDeadline } from '../../platform/support/clock.js';
import { messageOf } from '../../domain/errors.js';
import { STATEMENT_LIMIT_MS } from '../../platform/database/function-call.js';
import type { OrderTerms } from '../orders/purchase.js';
import { requestHash } from '../orders/request-hash.js';
import type { PricedTime } from '../quotes/direct-price.js';
import { isRefusal, type Database } from '../../platform/database/database.js';
import { isLeaseOver, type ClaimedAutoDelegation } from './auto-delegation-claims.js';

const BUY = {
  name: 'buy_for_auto_delegation',
  text: `SELECT created, order_id FROM buy_for_auto_delegation(p_auto => $1, p_fence => $2, p_number => $3, p_hash => $4,
    p_energy => $5, p_duration => $6, p_price => $7, p_credits => $8, p_rate => $9, p_amount => $10, p_leg_slack => $11,
    p_legs_max => $12, p_refusal => $13, p_request_id => $14, p_energy_fee => $15,
    p_expected_uses => $16, p_max_fee_limit => $17)`,
};

const EXTEND = {
  name: 'extend_for_auto_delegation',
  text: `SELECT created FROM extend_for_auto_delegation(p_auto => $1, p_fence => $2, p_number => $3, p_hash => $4,
    p_order => $5, p_duration => $6, p_price => $7, p_credits => $8, p_rate => $9, p_head => $10, p_longest => $11,
    p_refusal => NULL, p_request_id => $12, p_expected_uses => $13, p_fee_limit => $14,
    p_fee_limit_capped => $15)`,
};

/** The database's code when something has happened since the check that found the need. */
export const MOVED = 'AUTO_DELEGATION_MOVED';

/** The outcome of a purchase. `refused` is the database's code; then nothing was written. */
export type Bought = { readonly orderId: bigint | undefined } | { readonly refused: string };

export interface ExtensionTerms extends PricedTime {
  readonly orderId: bigint;
  readonly durationSec: number;
  readonly expectedUses: number;
  /** The time of the chain's head, against which the rental's end is checked. */
  readonly headAtMs: number;
}

/** Returns the key of an auto-delegation's next purchase. Callers cannot use keys of this form. */
export function nextKey({ id, purchases }: Pick<ClaimedAutoDelegation, 'id' | 'purchases'>): string {
  return `auto_${id.toString()}_${(purchases + 1n).toString()}`;
}

/** Orders `terms`. Throws database errors other than refusals. */
export async function buy(database: Database, claimed: ClaimedAutoDelegation, terms: OrderTerms): Promise<Bought> {
  const { receiveAddress, energy, durationSec = 0, expectedUses } = terms;
  const hash = requestHash({ kind: 'direct', receiveAddress, energy, durationSec, expectedUses });
  return outcomeOf(claimed, async () => {
    const [row] = await database.query<{ created: boolean; order_id: bigint }>(BUY, [
      ...[claimed.id, claimed.fence, claimed.purchases + 1n, hash, energy, durationSec, terms.priceSun, terms.credits],
      ...[terms.rate, terms.amountSun, terms.legSlackSun, terms.legsMax, null, nextKey(claimed), terms.energyFeeSun],
      expectedUses,
      terms.maxFeeLimitSun ?? null,
    ]);
    return { orderId: row?.created === true ? row.order_id : undefined };
  });
}

/** Extends one of the auto-delegation's own rentals. Throws as `buy`. */
export async function extend(
  database: Database,
  claimed: ClaimedAutoDelegation,
  terms: ExtensionTerms,
): Promise<Bought> {
  const { orderId, durationSec, expectedUses, priceSun, credits, rate, headAtMs, longestSec } = terms;
  const hash = requestHash({ kind: 'extension', orderKey: orderId.toString(), durationSec, expectedUses });
  return outcomeOf(claimed, async () => {
    await database.query(EXTEND, [
      ...[claimed.id, claimed.fence, claimed.purchases + 1n, hash, orderId, durationSec, priceSun, credits, rate],
      ...[new Date(headAtMs), longestSec, nextKey(claimed), expectedUses, terms.feeLimitSun],
      terms.isFeeLimitCapped,
    ]);
    return { orderId };
  });
}

async function outcomeOf(claimed: ClaimedAutoDelegation, statement: () => Promise<Bought>): Promise<Bought> {
  // After the lease, prices and readings are stale.
  if (isLeaseOver(claimed)) return { refused: MOVED };
  try {
    return await withDeadline(statement(), STATEMENT_LIMIT_MS, 'a purchase for an auto-delegation');
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { refused: messageOf(error) };
  }
}
