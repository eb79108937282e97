// Alert rules and dashboard use only metrics that the metrics page lists.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { documentedMetrics } from '../../support/docs/metrics-page.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

const documented = new Set(documentedMetrics().map(({ name }) => name));
/** Exported by Prometheus itself and by its client library. */
const GIVEN = new Set(['up', 'nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes']);
/** PromQL keywords and label names, which look like metrics. */
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

test('documents every metric once, with its meaning', () => {
  const rows = [...read('docs/metrics.md').matchAll(/^- `[a-z_]+`.*$/gm)].map(([row]) => row);
  expect(rows.length).toBeGreaterThan(50);
  expect(documentedMetrics()).toHaveLength(rows.length);
  expect(documented.size).toBe(rows.length);
});

test('every alert uses metrics that the processes export', () => {
  expect(rules.length).toBeGreaterThan(40);
  for (const [, name, expression] of rules) {
    const unknown = metricsOf(expression!).filter((metric) => !documented.has(metric) && !GIVEN.has(metric));
    expect({ name, unknown }).toEqual({ name, unknown: [] });
  }
});

test('every panel uses metrics that the processes export', () => {
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const unknown = expressions.flatMap(metricsOf).filter((name) => !documented.has(name) && !GIVEN.has(name));
  expect(unknown).toEqual([]);
});

test('a test of its rule triggers every alert', () => {
  const provoked = read('docker/alerts.test.yml');
  for (const [, name] of rules) expect(provoked).toContain(`name: ${name!} fires`);
});

const { groups } = parse(read('docker/alerts.yml')) as {
  groups: { name: string; rules: { alert: string; annotations: { runbook_url: string } }[] }[];
};
const linked = groups.flatMap(({ name: group, rules: own }) =>
  own.map(({ alert, annotations }) => ({ group, alert, url: annotations.runbook_url })),
);
/** Returns the entries of a page of alerts, by their headings. */
function entriesOf(group: string): Map<string, string> {
  const page = read(`docs/operating/alerts/${group}.md`);
  const entries = page.split(/^## /m).slice(1);
  return new Map(entries.map((entry) => [/^\w+/.exec(entry)![0], entry]));
}

test('every alert links its documentation entry', () => {
  expect(linked).toHaveLength(rules.length);
  for (const { group, alert, url } of linked) {
    expect({ alert, url }).toEqual({ alert, url: `docs/operating/alerts/${group}.md#${alert.toLowerCase()}` });
  }
});

test('every alert has an entry with meaning, diagnosis and remedy, and is in the index', () => {
  const index = read('docs/operating/alerts/README.md');
  for (const { group, alert } of linked) {
    const entry = entriesOf(group).get(alert) ?? '';
    expect({ alert, entry }).toEqual({ alert, entry: expect.stringMatching(/^- \*\*Means\*\*: ./m) as string });
    expect({ alert, entry }).toEqual({ alert, entry: expect.stringMatching(/^- \*\*Look\*\*/m) as string });
    expect({ alert, entry }).toEqual({ alert, entry: expect.stringMatching(/\*\*do\*\*: ./im) as string });
    expect(index).toContain(`[${alert}](${group}.md#${alert.toLowerCase()})`);
  }
});

test('the pages of alerts have no entry of a removed alert', () => {
  const entries = groups.flatMap(({ name }) => [...entriesOf(name).keys()]);
  expect(entries.sort()).toEqual(linked.map(({ alert }) => alert).sort());
});
