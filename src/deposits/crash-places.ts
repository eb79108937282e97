/** Where each crash point of reading deposits lies: around its statements and the blocks it reads. */
import type { INestApplicationContext } from '@nestjs/common';
import { around, type CrashTrap, type DepositPoint } from '../base/crash-point.js';
import { Database } from '../store/database.js';
import { aroundStatements } from '../store/statement-hook.js';
import { WitnessedBlocks } from './witnessed-blocks.js';

type Place = (app: INestApplicationContext, pass: () => void) => void;
type Side = 'before' | 'after';

/** After: once its transaction is committed. */
const statement =
  (side: Side, name: string): Place =>
  (app, pass) => {
    aroundStatements(app.get(Database, { strict: false }), [name], { [side]: pass });
  };

const reading =
  (side: Side): Place =>
  (app, pass) => {
    around(app.get(WitnessedBlocks, { strict: false }), 'read', { [side]: pass });
  };

export const DEPOSIT_PLACES: Readonly<Record<DepositPoint, Place>> = {
  'deposit-claim.before': statement('before', 'claim_deposit_cursor'),
  'deposit-claim.after': statement('after', 'claim_deposit_cursor'),
  'deposit-read.before': reading('before'),
  'deposit-read.after': reading('after'),
  'deposit-cursor.before': statement('before', 'move_deposit_cursor'),
  'deposit-known.before': statement('before', 'known_deposits'),
  'deposit-small.before': statement('before', 'credit_small_deposits'),
  'deposit-small.after': statement('after', 'credit_small_deposits'),
  'deposit-insert.before': statement('before', 'insert_deposits'),
  'deposit-insert.after': statement('after', 'insert_deposits'),
  'deposit-commit.before': statement('before', 'drop_reverted_deposits'),
  'deposit-commit.after': statement('after', 'drop_reverted_deposits'),
  'deposit-decide.before': statement('before', 'decide_deposit'),
  'deposit-decide.after': statement('after', 'decide_deposit'),
};

/** Sets the trap where its point lies, if that is one of deposits. */
export function trapDeposits(app: INestApplicationContext, trap: CrashTrap | undefined): void {
  if (trap === undefined) return;
  (DEPOSIT_PLACES as Readonly<Partial<Record<string, Place>>>)[trap.point]?.(app, trap.pass);
}
