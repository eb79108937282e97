/** Renders a report as CSV, and its figures under their published names. Pure. */
import { csvLine, type CsvCell } from '../../platform/support/csv.js';
import { decimal } from '../../domain/conversion.js';
import { marginSun, marginUsdE14, netCreditsOf, noFigures, type Figures, type Report } from './report-service.js';

/** Returns one record per row, with exact amounts and CRLF line ends. */
export function reportCsv({ by, rows }: Report): string {
  const heading = ['name', ...Object.keys(plainOf(noFigures()))];
  const lines = rows.map((row) => [
    ...[row.key ?? '', row.name ?? ''],
    ...Object.values(plainOf(row.figures)).map((cell): CsvCell =>
      typeof cell === 'string' ? { decimal: cell } : cell,
    ),
  ]);
  return [[by, ...heading], ...lines].map(csvLine).join('');
}

/** Returns the figures under their published names; figures with a fraction are text. */
export function plainOf(figures: Figures): Record<string, bigint | string> {
  return {
    revenue_credits: figures.revenueCredits,
    refunds_credits: figures.refundsCredits,
    compensations_credits: figures.compensationsCredits,
    net_credits: netCreditsOf(figures),
    topups_credits: figures.topupsCredits,
    adjustments_credits: figures.adjustmentsCredits,
    net_sun: figures.netSun,
    chain_cost_sun: figures.chainCostSun,
    chain_cost_unrated_sun: figures.unratedCostSun,
    chain_cost_usd: decimal(figures.chainCostUsdE14, 14),
    margin_sun: marginSun(figures),
    margin_usd: decimal(marginUsdE14(figures), 14),
    transactions: figures.transactions,
    transactions_without_cost: figures.transactionsWithoutCost,
    energy_seconds_sold: figures.energySec,
    free_top_up_energy: figures.freeTopUpEnergy,
    free_top_up_cost_sun: figures.freeTopUpCostSun,
    energy_milliseconds_idle: figures.idleEnergyMs,
    energy_milliseconds_recovering: figures.recoveringEnergyMs,
    milliseconds_measured: figures.measuredMs,
    bandwidth_seconds_sold: figures.bandwidthSec,
    free_top_up_bandwidth: figures.freeTopUpBandwidth,
  };
}
