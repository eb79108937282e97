/** Statements in API answers and events (docs/interface.md §29). */
import { toJsonInteger } from '../../domain/units.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import type { EntryKind } from './entries.dto.js';

export class StatementListQuery extends PageQuery {}

/** A statement in the database's JSON form; amounts are below 2^53 (docs/interface.md §1). */
export interface StatementJson {
  readonly number: number;
  /** First day of the month. */
  readonly month: string;
  readonly ends_at: string;
  readonly lines: number;
  readonly opening_credits: number;
  readonly charge_credits: number;
  readonly refund_credits: number;
  readonly compensation_credits: number;
  readonly deposit_credits: number;
  readonly topup_credits: number;
  readonly adjustment_credits: number;
  readonly closing_credits: number;
  readonly closed_at: string;
}

export interface StatementBody {
  readonly number: number;
  readonly month: string;
  readonly from: string;
  readonly to: string;
  readonly opening_credits: number;
  readonly closing_credits: number;
  readonly entries: number;
  readonly totals: Readonly<Record<EntryKind, number>>;
  readonly closed_at: string;
}

export function statementBody(statement: StatementJson): StatementBody {
  const { month } = statement;
  return {
    number: statement.number,
    month: month.slice(0, 7),
    from: new Date(month).toISOString(),
    to: new Date(statement.ends_at).toISOString(),
    opening_credits: statement.opening_credits,
    closing_credits: statement.closing_credits,
    entries: statement.lines,
    totals: {
      charge: statement.charge_credits,
      refund: statement.refund_credits,
      compensation: statement.compensation_credits,
      deposit: statement.deposit_credits,
      topup: statement.topup_credits,
      adjustment: statement.adjustment_credits,
    },
    closed_at: new Date(statement.closed_at).toISOString(),
  };
}

/** Returns a row in the form that events use. */
export function jsonOf(row: LedgerStatement): StatementJson {
  return {
    number: row.number,
    month: row.month,
    ends_at: row.endsAt.toISOString(),
    lines: toJsonInteger(row.lines),
    opening_credits: toJsonInteger(row.openingCredits),
    charge_credits: toJsonInteger(row.chargeCredits),
    refund_credits: toJsonInteger(row.refundCredits),
    compensation_credits: toJsonInteger(row.compensationCredits),
    deposit_credits: toJsonInteger(row.depositCredits),
    topup_credits: toJsonInteger(row.topupCredits),
    adjustment_credits: toJsonInteger(row.adjustmentCredits),
    closing_credits: toJsonInteger(row.closingCredits),
    closed_at: row.closedAt.toISOString(),
  };
}
