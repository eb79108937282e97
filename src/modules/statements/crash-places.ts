/** Maps each crash point of closing months to the statement around which it is placed. */
import type { StatementPoint } from '../../platform/support/crash-point.js';
import { statement, type Place } from '../../platform/database/crash-places.js';

export const STATEMENT_PLACES: Readonly<Record<StatementPoint, Place>> = {
  'statement-cut.before': statement('before', 'cut_statement_month'),
  'statement-cut.after': statement('after', 'cut_statement_month'),
  'statement-close.before': statement('before', 'close_statement'),
  'statement-pass.before': statement('before', 'pass_statement_project'),
  'statement-close.after': statement('after', 'close_statement'),
  'statement-end.before': statement('before', 'end_statement_month'),
  'statement-end.after': statement('after', 'end_statement_month'),
};
