/** Formats a report as tables of 80 columns and as JSON. */
import { grouped, trxText, usdText } from '../../domain/text.js';
import { decimal, trxOf } from '../../domain/conversion.js';
import { divHalfUp, type Credits } from '../../domain/units.js';
import { plainOf } from '../reports/report-csv.js';
import {
  marginSun,
  marginUsdE14,
  type Figures,
  type Report,
  type ReportBy,
  type ReportRow,
} from '../reports/report-service.js';
import { creditsText, fields, table } from './format.js';

const HOUR_SEC = 3600n;
const HOUR_MS = 3_600_000n;
const NAME_MAX = 15;
const OF_NONE: Readonly<Record<ReportBy, string>> = { day: '–', project: 'no project', wallet: 'no wallet' };

export function reportText(report: Report, from: string, to: string): string {
  const { by, rows, total, standing } = report;
  const shown = rows.filter(({ figures }) => isShown(figures));
  if (shown.length === 0)
    return [`No activity from ${from} to ${to} (UTC).`, '', ...standingLines(standing)].join('\n');
  const all: (readonly [string, Figures])[] = [
    ...shown.map((row) => [nameOf(row, by), row.figures] as const),
    ...(shown.length > 1 ? [['total', total] as const] : []),
  ];
  return [
    `From ${from} to ${to} (UTC). Amounts are in dollars unless TRX is named:`,
    '',
    table(
      [by, 'revenue', 'refunds', 'compens.', 'burnt TRX', 'margin', 'margin TRX'],
      all.map(([name, each]) => [
        name,
        usd(each.revenueCredits),
        usd(each.refundsCredits),
        usd(each.compensationsCredits),
        amount(each.chainCostSun, 1_000_000n),
        amount(marginUsdE14(each), 100_000_000_000_000n),
        amount(marginSun(each), 1_000_000n),
      ]),
    ),
    '',
    'In energy-hours:',
    '',
    by === 'project'
      ? table(
          [by, 'sold'],
          all.map(([name, each]) => [name, hours(each.energySec, HOUR_SEC)]),
        )
      : table(
          [by, 'sold', 'idle', 'recovering', 'hours read'],
          all.map(([name, each]) => [
            name,
            hours(each.energySec, HOUR_SEC),
            hours(each.idleEnergyMs, HOUR_MS),
            hours(each.recoveringEnergyMs, HOUR_MS),
            grouped(decimal(divHalfUp(each.measuredMs * 10n, HOUR_MS), 1)),
          ]),
        ),
    '',
    ...bandwidthLines(all, by),
    ...remarks(total),
    ...standingLines(standing),
  ].join('\n');
}

/** Returns the bandwidth sold; nothing for an operator who sells none. */
function bandwidthLines(all: readonly (readonly [string, Figures])[], by: ReportBy): string[] {
  if (all.every(([, { bandwidthSec }]) => bandwidthSec === 0n)) return [];
  const rows = all.map(([name, each]) => [name, hours(each.bandwidthSec, HOUR_SEC)]);
  return ['In hours of one unit of bandwidth:', '', table([by, 'sold'], rows), ''];
}

export function reportJson(report: Report, from: string, to: string): Record<string, unknown> {
  const { by, rows, total, standing } = report;
  return {
    from,
    to,
    by,
    rows: rows.map(({ key, name, figures }) => ({
      [by]: key,
      ...(by === 'project' && { name: name ?? null }),
      ...plainOf(figures),
    })),
    total: plainOf(total),
    owed_credits: standing.owedCredits,
    debts_credits: standing.debtsCredits,
    deposits_held: standing.held.map(({ asset, amount: units, rateE8 }) => ({
      asset,
      amount: trxOf(units),
      usd: rateE8 === undefined ? null : worth(units, asset, rateE8),
    })),
  };
}

function standingLines({ owedCredits, debtsCredits, held }: Report['standing']): string[] {
  return [
    fields([
      ['Owed to projects', creditsText(owedCredits as Credits)],
      ['Owed by projects', debtsCredits === 0n ? null : creditsText(debtsCredits as Credits)],
      ...held.map(({ asset, amount: units, rateE8 }): [string, string] => [
        `Deposits held, ${asset}`,
        `${amount(units, 1_000_000n)}${rateE8 === undefined ? '' : ` (${worth(units, asset, rateE8)} USD)`}`,
      ]),
    ]),
  ];
}

function remarks({ transactionsWithoutCost, unratedCostSun, ...free }: Figures): string[] {
  const { freeTopUpEnergy, freeTopUpBandwidth, freeTopUpCostSun } = free;
  const bandwidth = freeTopUpBandwidth === 0n ? '' : `, ${grouped(freeTopUpBandwidth)} bandwidth`;
  const lines = [
    ...(freeTopUpEnergy === 0n && freeTopUpBandwidth === 0n && freeTopUpCostSun === 0n
      ? []
      : [
          `Free top-ups: ${grouped(freeTopUpEnergy)} energy${bandwidth}; their transactions burnt ${trxText(freeTopUpCostSun)}.`,
        ]),
    ...(transactionsWithoutCost === 0n
      ? []
      : [`Final transactions without a known cost: ${grouped(transactionsWithoutCost)}.`]),
    ...(unratedCostSun === 0n
      ? []
      : [`Burnt for orders that were not sold, in no dollar margin: ${trxText(unratedCostSun)}.`]),
  ];
  return lines.length === 0 ? [] : [...lines, ''];
}

/** Returns true if any column of the tables has a value other than zero. */
function isShown({ topupsCredits: _topups, adjustmentsCredits: _adjustments, ...rest }: Figures): boolean {
  return Object.values(rest).some((figure) => figure !== 0n);
}

/** Formats energy × time in energy-hours. */
const hours = (energyTime: bigint, hour: bigint): string => grouped(divHalfUp(energyTime, hour));

/** Returns a day unchanged, and shortens names and addresses, which CSV and JSON have in full. */
function nameOf({ key, name }: ReportRow, by: ReportBy): string {
  if (key === null) return OF_NONE[by];
  if (by === 'day') return key;
  if (by === 'wallet') return `${key.slice(0, 6)}…${key.slice(-6)}`;
  const shown = (name ?? key).replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
  return shown.length > NAME_MAX ? `${shown.slice(0, NAME_MAX - 1)}…` : shown;
}

const usd = (credits: bigint): string => usdText(credits as Credits);

/** Formats with two digits, half away from zero, thousands separated. */
function amount(value: bigint, one: bigint): string {
  return grouped(decimal(divHalfUp(value * 100n, one), 2));
}

/** USDT counts as one dollar at most. */
function worth(units: bigint, asset: 'TRX' | 'USDT', rateE8: bigint): string {
  const rate = asset === 'USDT' && rateE8 > 100_000_000n ? 100_000_000n : rateE8;
  return amount(units * rate, 100_000_000_000_000n);
}
