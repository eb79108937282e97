/** Maps each crash point of the sender to the statement or method around which it is placed. */
import type { SenderPoint } from '../../platform/support/crash-point.js';
import { method, statement, type Place } from '../../platform/database/crash-places.js';
import { DeliveryAttempts } from './delivery-attempts.js';

export const SENDER_PLACES: Readonly<Record<SenderPoint, Place>> = {
  'webhook-fresh.before': statement('before', 'take_fresh_deliveries'),
  'webhook-fresh.after': statement('after', 'take_fresh_deliveries'),
  'webhook-claim.after': statement('after', 'claim_endpoints'),
  'webhook-due.after': statement('after', 'due_deliveries'),
  'webhook-send.before': method('before', DeliveryAttempts, 'send'),
  'webhook-send.after': method('after', DeliveryAttempts, 'send'),
  'webhook-record.before': statement('before', 'record_attempt', 'record_accepted'),
  'webhook-record.after': statement('after', 'record_attempt', 'record_accepted'),
  'webhook-release.before': statement('before', 'release_endpoints'),
  'webhook-release.after': statement('after', 'release_endpoints'),
};
