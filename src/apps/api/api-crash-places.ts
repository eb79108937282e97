/**
 * Maps each crash point of the API to its place: around the statements that accept or extend an order, the wake-up and
 * the answer.
 */
import type { CrashPoint } from '../../platform/support/crash-point.js';
import { ExtensionsService } from '../../modules/orders/extensions.service.js';
import { OrdersService } from '../../modules/orders/orders.service.js';
import { WakeUps } from '../../platform/queue/jobs.js';
import { each, method, statement, type Place } from '../../platform/database/crash-places.js';

export type ApiPoint = Extract<CrashPoint, `accept.${string}` | `wake.${string}` | `answer.${string}`>;

export const API_PLACES: Readonly<Record<ApiPoint, Place>> = {
  'accept.before': statement('before', 'accept-order', 'extend-order'),
  'accept.after': statement('after', 'accept-order', 'extend-order'),
  'wake.before': method('before', WakeUps, 'wake'),
  'wake.after': method('after', WakeUps, 'wake'),
  'answer.before': each(method('after', OrdersService, 'create'), method('after', ExtensionsService, 'extend')),
};
