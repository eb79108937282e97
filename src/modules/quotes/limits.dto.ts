/** The energy, bandwidth and durations on sale, and how much the pool can sell now (docs/interface.md §4). */
import type { BudgetName } from '../../platform/http/pipeline/route-options.js';

export interface DurationOnSale {
  readonly max_duration_sec: number;
  readonly sun_per_energy: number;
  readonly min_expected_uses?: number;
  readonly max_expected_uses: number;
  readonly min_energy?: number;
  readonly max_energy: number;
  readonly sun_per_bandwidth?: number;
  readonly min_bandwidth?: number;
  readonly max_bandwidth?: number;
}

export interface BudgetLimit {
  readonly requests: number;
  readonly window_sec: number;
}

export interface LimitsBody {
  readonly energy: { readonly min: number; readonly max: number };
  readonly duration_sec: { readonly min: number; readonly max: number; readonly default: number };
  readonly burn_price_sun_per_energy: number;
  readonly burn_price_sun_per_bandwidth?: number;
  readonly price_floor_sun: number;
  readonly durations: readonly DurationOnSale[];
  /** The same for every project; the budget of test orders is not included. */
  readonly rate_limits: Readonly<Record<Exclude<BudgetName, 'testOrders'>, BudgetLimit>>;
  readonly timestamp: string;
}
