/** Places each crash point of auto-delegations around its statement. */
import type { RefillPoint } from '../../platform/support/crash-point.js';
import { statement, type Place } from '../../platform/database/crash-places.js';

export const REFILL_PLACES: Readonly<Record<RefillPoint, Place>> = {
  'use-mark.before': statement('before', 'mark_auto_delegations_used'),
  'use-mark.after': statement('after', 'mark_auto_delegations_used'),
  'refill-claim.after': statement('after', 'claim_auto_delegations_due'),
  'refill-legs.after': statement('after', 'legs_to_auto_delegations'),
  'refill-buy.before': statement('before', 'buy_for_auto_delegation'),
  'refill-buy.after': statement('after', 'buy_for_auto_delegation'),
  'refill-extend.before': statement('before', 'extend_for_auto_delegation'),
  'refill-extend.after': statement('after', 'extend_for_auto_delegation'),
  'refill-record.before': statement('before', 'record_auto_delegation_check'),
  'refill-record.after': statement('after', 'record_auto_delegation_check'),
};
