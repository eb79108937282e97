// The last measured value of every figure: test/programmes/bench/latest.json, and the
// table generated from it in test/programmes/bench/README.md.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Row } from './measure.js';

/** A row with the conditions of its measurement. */
export interface Figure extends Row {
  /** Command that measures this row and the other rows of its part again. */
  readonly command: string;
  readonly conditions: string;
}

const FILE = new URL('latest.json', import.meta.url);
const PAGE = new URL('README.md', import.meta.url);
const HEAD = ['figure, beside its limit', 'goal', 'last measured', 'conditions', 'command'];
const PAGE_HEAD = ['figure, beside its limit', 'goal', 'measured', 'options', 'day'];
/** The parts of a name by which rows of one measurement differ: counts, steps, processes and consoles. */
const VARIANT = /\d[\d ]*|: \w+$|\b(?:API|worker|merchants|operators)\b/g;

export function readFigures(): Figure[] {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Figure[];
}

/** Replaces figures of the same name, keeps the others, and rewrites the table of the page. */
export function keepFigures(measured: readonly Figure[]): void {
  const byName = new Map(readFigures().map((figure) => [figure.what, figure]));
  for (const figure of measured) byName.set(figure.what, figure);
  const figures = [...byName.values()];
  writeFileSync(FILE, `${JSON.stringify(figures, null, 2)}\n`);
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(PAGE, page.replace(tableIn(page), pageTableOf(figures)));
}

/** Returns the measured commit, with a `+` if source files differ from it. */
export function measuredCode(): string {
  const git = (...words: string[]): string => execFileSync('git', words, { encoding: 'utf8' }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', 'src') === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}

export function tableIn(page: string): string {
  return /^\| figure[^]*?\n(?!\|)/m.exec(page)?.[0].trimEnd() ?? '';
}

export function tableOf(figures: readonly Figure[]): string {
  return [HEAD, HEAD.map(() => '---'), ...figures.map(cellsOf)].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns the page's table: of the figures with a goal, one row of each measurement. */
export function pageTableOf(figures: readonly Figure[]): string {
  const rows = figuresOfPage(figures).map((figure) => [
    nameOf(figure),
    figure.goal,
    summaryOf(figure),
    `\`${figure.command.replace('npm run bench -- ', '')}\``,
    figure.conditions.split(';')[0]!,
  ]);
  return [PAGE_HEAD, PAGE_HEAD.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns the newest figure with a goal of each measurement, and among those of one run the worst. */
function figuresOfPage(figures: readonly Figure[]): Figure[] {
  const chosen = new Map<string, Figure>();
  for (const figure of figures.filter(({ goal }) => goal !== '–' && goal !== 'report')) {
    const key = `${figure.what.replaceAll(VARIANT, '#')}; ${figure.against}`;
    const other = chosen.get(key);
    if (other === undefined || isNewerOrWorse(figure, other)) chosen.set(key, figure);
  }
  return [...chosen.values()];
}

function isNewerOrWorse(figure: Figure, other: Figure): boolean {
  const [day, otherDay] = [figure, other].map(({ conditions }) => conditions.slice(0, 10)) as [string, string];
  if (day !== otherDay) return day > otherDay;
  const [value, otherValue] = [figure, other].map(({ ratio, ours }) => ratio ?? ours) as [number, number];
  return /^[≥>]/.test(figure.goal) ? value < otherValue : value > otherValue;
}

function cellsOf(figure: Figure): string[] {
  return [nameOf(figure), figure.goal, valueOf(figure), figure.conditions, `\`${figure.command}\``];
}

function nameOf({ what, against }: Figure): string {
  return against === '–' ? what : `${what}; beside: ${against}`;
}

/** Returns the ratio, or else the value, with its spread, and the percentiles that the goal names. */
function summaryOf({ goal, ours, unit, ratio, spread, p50Ms, p99Ms }: Figure): string {
  const value = ratio === undefined || /[/]s$/.test(goal) ? `${round(ours)} ${unit}`.trimEnd() : '';
  const parts = [`${[value, ratio?.toFixed(2)].filter(Boolean).join(': ')}${rangeOf(spread)}`];
  if (goal.includes('p50') && p50Ms !== undefined) parts.push(`p50 ${round(p50Ms)} ms`);
  if (goal.includes('p99') && p99Ms !== undefined) parts.push(`p99 ${round(p99Ms)} ms`);
  return parts.join('; ');
}

function rangeOf([low, high]: Figure['spread']): string {
  return low === high ? '' : ` (${round(low)}–${round(high)})`;
}

function valueOf({ ours, limit, unit, ratio, spread, p50Ms, p99Ms, limitP99Ms, note }: Figure): string {
  const range = rangeOf(spread);
  const value = `${round(ours)} ${unit}`.trimEnd();
  const limited = limit === undefined ? '' : ` beside ${round(limit)} ${unit}`;
  const parts = [ratio === undefined ? value + range : `${value}${limited}: ${ratio.toFixed(2)}${range}`];
  const p50 = p50Ms === undefined ? '' : `p50 ${round(p50Ms)}, `;
  // pgbench reports no percentile: NaN, null in the file.
  const limitP99 = Number.isFinite(limitP99Ms) ? `, the limit’s ${round(limitP99Ms!)}` : '';
  if (p99Ms !== undefined) parts.push(`${p50}p99 ${round(p99Ms)} ms${limitP99}`);
  if (note !== undefined && note !== '') parts.push(note);
  return parts.join('; ');
}

function round(value: number): string {
  return value >= 100 || Number.isInteger(value) ? Math.round(value).toString() : value.toFixed(value >= 10 ? 1 : 2);
}
