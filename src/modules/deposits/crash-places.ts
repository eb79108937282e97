/** Places each crash point of the deposit reader around its statement or method. */
import type { DepositPoint } from '../../platform/support/crash-point.js';
import { method, statement, type Place } from '../../platform/database/crash-places.js';
import { WitnessedBlocks } from '../../platform/blocks/witnessed-blocks.js';

export const DEPOSIT_PLACES: Readonly<Record<DepositPoint, Place>> = {
  'deposit-claim.before': statement('before', 'claim_deposit_cursor'),
  'deposit-claim.after': statement('after', 'claim_deposit_cursor'),
  'deposit-read.before': method('before', WitnessedBlocks, 'read'),
  'deposit-read.after': method('after', WitnessedBlocks, 'read'),
  'deposit-cursor.before': statement('before', 'move_deposit_cursor'),
  'deposit-known.before': statement('before', 'known_deposits'),
  'deposit-small.before': statement('before', 'close_deposit_sum'),
  'deposit-small.after': statement('after', 'close_deposit_sum'),
  'deposit-insert.before': statement('before', 'insert_deposits'),
  'deposit-insert.after': statement('after', 'insert_deposits'),
  'deposit-commit.before': statement('before', 'reverted_deposits'),
  'deposit-commit.after': statement('after', 'reverted_deposits'),
  'deposit-decide.before': statement('before', 'decide_deposit'),
  'deposit-decide.after': statement('after', 'decide_deposit'),
};
