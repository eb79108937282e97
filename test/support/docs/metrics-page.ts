/** Reads docs/metrics.md. */
import { readFileSync } from 'node:fs';

interface DocumentedMetric {
  readonly name: string;
  readonly process: string;
  readonly kind: string;
  readonly meaning: string;
}

/** A line of a metric. The worker is not named; `_total` names a counter, and any other metric is a gauge. */
export const METRIC_LINE =
  /^- `(\w+)`(?: \((api|sender|console|backup|both|histogram)(?:, (histogram))?\))?: (\S.*)$/gm;

/** Returns every metric that docs/metrics.md lists. */
export function documentedMetrics(): readonly DocumentedMetric[] {
  const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
  return [...page.matchAll(METRIC_LINE)].map(([, name = '', first, second, meaning = '']) => {
    const isHistogram = first === 'histogram' || second === 'histogram';
    const kind = isHistogram ? 'histogram' : name.endsWith('_total') ? 'counter' : 'gauge';
    return { name, process: first === undefined || first === 'histogram' ? 'worker' : first, kind, meaning };
  });
}
