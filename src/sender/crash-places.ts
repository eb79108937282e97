/** Where each crash point of the sender lies: around the statements and the requests of its parts. */
import type { INestApplicationContext } from '@nestjs/common';
import { around, type CrashTrap, type SenderPoint } from '../base/crash-point.js';
import { Database } from '../store/database.js';
import { aroundStatements } from '../store/statement-hook.js';
import { DeliveryAttempts } from './delivery-attempts.js';

type Place = (app: INestApplicationContext, pass: () => void) => void;
type Side = 'before' | 'after';

const statement =
  (side: Side, name: string): Place =>
  (app, pass) => {
    aroundStatements(app.get(Database, { strict: false }), [name], { [side]: pass });
  };

const attempt =
  (side: Side): Place =>
  (app, pass) => {
    around(app.get(DeliveryAttempts, { strict: false }), 'send', { [side]: pass });
  };

export const SENDER_PLACES: Readonly<Record<SenderPoint, Place>> = {
  'webhook-fresh.before': statement('before', 'take_fresh_deliveries'),
  'webhook-fresh.after': statement('after', 'take_fresh_deliveries'),
  'webhook-claim.after': statement('after', 'claim_endpoints'),
  'webhook-due.after': statement('after', 'due_deliveries'),
  'webhook-send.before': attempt('before'),
  'webhook-send.after': attempt('after'),
  'webhook-record.before': statement('before', 'record_attempt'),
  'webhook-record.after': statement('after', 'record_attempt'),
  'webhook-release.before': statement('before', 'release_endpoints'),
  'webhook-release.after': statement('after', 'release_endpoints'),
};

/** Sets the trap where its point lies, if that is one of the sender's. */
export function trapSender(app: INestApplicationContext, trap: CrashTrap | undefined): void {
  if (trap === undefined) return;
  (SENDER_PLACES as Readonly<Partial<Record<string, Place>>>)[trap.point]?.(app, trap.pass);
}
