/** The bodies of accounts (docs/interface.md §14, §15). */
import type { Balance } from '../billing/ledger.js';
import { IsTronAddress, Optional } from '../../platform/http/body/member-rules.js';
import type { Entries } from '../../platform/http/body/plain-values.js';
import { IsMetadata, IsReference, type Labelled } from '../orders/order-labels.js';
import { usdBalanceOf } from '../../domain/conversion.js';
import { toJsonInteger } from '../../domain/units.js';

export class ActivationRequest implements Labelled {
  @IsTronAddress('The address to activate.')
  declare readonly address: string;

  @Optional()
  @IsReference()
  declare readonly reference?: string;

  @Optional()
  @IsMetadata()
  declare readonly metadata?: Entries;
}

export interface BalanceBody {
  /** Negative in debt. */
  readonly credits_balance: number;
  readonly usd_balance: string;
  readonly is_postpaid: boolean;
  /** 0 for prepaid; absent if unlimited. */
  readonly debt_limit_credits?: number;
  /** Absent if unlimited. */
  readonly available_credits?: number;
  readonly timestamp: string;
}

export function balanceBody({ balanceCredits, terms, availableCredits, readAt }: Balance): BalanceBody {
  const debtLimit = terms.kind === 'prepaid' ? 0n : terms.debtLimitCredits;
  return {
    credits_balance: toJsonInteger(balanceCredits),
    usd_balance: usdBalanceOf(balanceCredits),
    is_postpaid: terms.kind === 'postpaid',
    ...(debtLimit !== undefined && { debt_limit_credits: toJsonInteger(debtLimit) }),
    ...(availableCredits !== undefined && { available_credits: toJsonInteger(availableCredits) }),
    timestamp: readAt.toISOString(),
  };
}
