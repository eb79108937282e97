// Alert rules and dashboard against the table of metrics: nothing is watched that nobody shows.
import { readFileSync } from 'node:fs';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const documented = new Set([...read('docs/metrics.md').matchAll(/^\| `([a-z_]+)`/gm)].map((match) => match[1]!));
/** Shown by Prometheus itself and by its client library. */
const GIVEN = new Set(['up', 'nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes']);
/** Words of PromQL and names of labels, which look like metrics. */
const WORDS = new Set([
  'by',
  'on',
  'and',
  'or',
  'unless',
  'absent',
  'sum',
  'max',
  'min',
  'rate',
  'increase',
  'predict_linear',
  'clamp_min',
  'time',
  'count',
]);
const LABELS = /\b(?:by|on) \([^)]*\)|\{[^}]*\}|\[[^\]]*\]|histogram_quantile/g;

function metricsOf(expression: string): string[] {
  const names = expression.replace(LABELS, ' ').match(/[a-z_][a-z0-9_]*/g) ?? [];
  return names
    .filter((name) => !WORDS.has(name) && !/^e\d+$/.test(name))
    .map((name) => name.replace(/_(bucket|count|sum)$/, ''));
}

const rules = [...read('docker/alerts.yml').matchAll(/- alert: (\w+)\n\s+expr:([\s\S]*?)\n\s+(?:for|labels):/g)];
const dashboard = JSON.parse(read('docker/dashboard.json')) as { panels: { targets?: { expr: string }[] }[] };

test('every metric stands once in the page of metrics, with process, kind, unit and what it says', () => {
  const rows = [...read('docs/metrics.md').matchAll(/^\| `[a-z_]+` .*$/gm)].map(([row]) => row);
  expect(rows.length).toBeGreaterThan(50);
  const whole =
    /^\| `[a-z_]+` \| (api|worker|sender|console|backup|both) \| (counter|gauge|histogram) \| \w[^|]* \| \S[^|]* \|$/;
  expect(rows.filter((row) => !whole.test(row))).toEqual([]);
  expect(documented.size).toBe(rows.length);
});

test('every alert watches metrics that the processes show', () => {
  expect(rules.length).toBeGreaterThan(40);
  for (const [, name, expression] of rules) {
    const unknown = metricsOf(expression!).filter((metric) => !documented.has(metric) && !GIVEN.has(metric));
    expect({ name, unknown }).toEqual({ name, unknown: [] });
  }
});

test('every panel shows metrics that the processes show', () => {
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const unknown = expressions.flatMap(metricsOf).filter((name) => !documented.has(name) && !GIVEN.has(name));
  expect(unknown).toEqual([]);
});

test('every alert is provoked in a test of its rule, and named with what to do', () => {
  const [provoked, page] = [read('docker/alerts.test.yml'), read('docs/operating.md')];
  for (const [, name] of rules) {
    expect(provoked).toContain(`name: ${name!} fires`);
    expect(page).toMatch(new RegExp(`^\\|[^|]*\`${name!}\`[^|]*\\|`, 'm'));
  }
});
