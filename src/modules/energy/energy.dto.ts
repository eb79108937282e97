/** Requests that only the family's routes have, and its balance (docs/interface.md §25). */
import type { Balance } from '../billing/ledger.js';
import { IsText, Optional } from '../../platform/http/body/member-rules.js';
import { usdBalanceOf } from '../../domain/conversion.js';
import { toJsonInteger } from '../../domain/units.js';

export class EnergyOrderRequest {
  @IsText({ maxLength: 255, isLookupOnly: true, description: 'The Idempotency-Key of the rental.' })
  declare readonly key: string;
}

/** Only its form is validated, since there is no payment provider. */
export class TopupRequest {
  @Optional()
  @IsText({ maxLength: 32, description: 'The amount, as a decimal.' })
  declare readonly amount?: string;

  @Optional()
  @IsText({ maxLength: 16, description: 'USDT or USDC.' })
  declare readonly currency?: string;

  @Optional()
  @IsText({ maxLength: 2048, description: 'Page to show after the payment.' })
  declare readonly url_success?: string;

  @Optional()
  @IsText({ maxLength: 2048, description: 'Page to show after a failure.' })
  declare readonly url_error?: string;
}

export interface CreditsBalanceBody {
  /** Negative in debt. */
  readonly credits_balance: number;
  readonly usd_balance: string;
  readonly is_postpaid: boolean;
  /** 0 for prepaid, UNLIMITED_DEBT without a limit: these clients read an absent member as 0. */
  readonly debt_limit_credits: number;
  readonly can_execute_gas_operations: boolean;
  readonly gas_ops_min_credits: number;
  readonly timestamp: string;
}

/** The largest integer that JSON represents exactly. */
export const UNLIMITED_DEBT = Number.MAX_SAFE_INTEGER;
/** Each order is judged by its own price: with any credit left, one may be tried. */
export const LEAST_CREDITS = 1;

export function creditsBalanceBody({ balanceCredits, terms, availableCredits, readAt }: Balance): CreditsBalanceBody {
  const debtLimit = terms.kind === 'prepaid' ? 0n : terms.debtLimitCredits;
  return {
    credits_balance: toJsonInteger(balanceCredits),
    usd_balance: usdBalanceOf(balanceCredits),
    is_postpaid: terms.kind === 'postpaid',
    debt_limit_credits: debtLimit === undefined ? UNLIMITED_DEBT : toJsonInteger(debtLimit),
    can_execute_gas_operations: availableCredits === undefined || availableCredits >= BigInt(LEAST_CREDITS),
    gas_ops_min_credits: LEAST_CREDITS,
    timestamp: readAt.toISOString(),
  };
}
