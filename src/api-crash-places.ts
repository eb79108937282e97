/** Where each crash point of the API lies: around the statement that takes an order, the wake-up and the answer. */
import { ActivationService } from './accounts/activation.service.js';
import type { CrashPoint } from './base/crash-point.js';
import { OrdersService } from './orders/orders.service.js';
import { WakeUps } from './queue/jobs.js';
import { each, method, statement, type Place } from './store/crash-places.js';

export type ApiPoint = Extract<CrashPoint, `accept.${string}` | `wake.${string}` | `answer.${string}`>;

export const API_PLACES: Readonly<Record<ApiPoint, Place>> = {
  'accept.before': statement('before', 'accept-order'),
  'accept.after': statement('after', 'accept-order'),
  'wake.before': method('before', WakeUps, 'wake'),
  'wake.after': method('after', WakeUps, 'wake'),
  'answer.before': each(method('after', OrdersService, 'create'), method('after', ActivationService, 'create')),
};
