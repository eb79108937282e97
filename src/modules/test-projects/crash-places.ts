/** Maps each crash point of test orders to the statement around which it is placed. */
import type { TestOrderPoint } from '../../platform/support/crash-point.js';
import { statement, type Place } from '../../platform/database/crash-places.js';

const MOVES = ['place', 'deliver', 'settle', 'end'].map((move) => `${move}_test_order`).concat('set_test_order_aside');

export const TEST_ORDER_PLACES: Readonly<Record<TestOrderPoint, Place>> = {
  'test-claim.after': statement('after', 'claim_test_orders'),
  'test-move.before': statement('before', ...MOVES),
  'test-move.after': statement('after', ...MOVES),
  'test-refund.before': statement('before', 'refund_test_order'),
  'test-refund-entry.before': statement('before', 'ledger-insert-refund'),
  'test-refund-balance.before': statement('before', 'ledger-move-balance-by-refund'),
  'test-refund.after': statement('after', 'refund_test_order'),
};
