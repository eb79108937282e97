/** Where each crash point of the API lies: around the statement that takes an order, the wake-up and the answer. */
import type { INestApplicationContext } from '@nestjs/common';
import { ActivationService } from './accounts/activation.service.js';
import { around, type CrashPoint, type CrashTrap } from './base/crash-point.js';
import { OrdersService } from './orders/orders.service.js';
import { WakeUps } from './queue/jobs.js';
import { Database } from './store/database.js';
import { aroundStatements } from './store/statement-hook.js';

type Place = (app: INestApplicationContext, pass: () => void) => void;
export type ApiPoint = Extract<CrashPoint, `accept.${string}` | `wake.${string}` | `answer.${string}`>;

const ACCEPT = ['accept-order'];

export const API_PLACES: Readonly<Record<ApiPoint, Place>> = {
  'accept.before': (app, pass) => {
    aroundStatements(app.get(Database), ACCEPT, { before: pass });
  },
  'accept.after': (app, pass) => {
    aroundStatements(app.get(Database), ACCEPT, { after: pass });
  },
  'wake.before': (app, pass) => {
    around(app.get(WakeUps), 'wake', { before: pass });
  },
  'wake.after': (app, pass) => {
    around(app.get(WakeUps), 'wake', { after: pass });
  },
  'answer.before': (app, pass) => {
    around(app.get(OrdersService, { strict: false }), 'create', { after: pass });
    around(app.get(ActivationService, { strict: false }), 'create', { after: pass });
  },
};

/** Sets the trap where its point lies, if that is one of the API's. */
export function trapApi(app: INestApplicationContext, trap: CrashTrap | undefined): void {
  if (trap === undefined) return;
  (API_PLACES as Readonly<Partial<Record<string, Place>>>)[trap.point]?.(app, trap.pass);
}
