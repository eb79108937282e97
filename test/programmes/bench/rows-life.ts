// An order's life step by step: statements, transactions, row versions, log and CPU, of this build beside an earlier
// one at the same time.
import { writeFileSync } from 'node:fs';
import { openBuild } from '../upgrade/earlier-build.js';
import { BenchCluster } from './cluster.js';
import { LifeProbe, PROBE_SETTINGS, type Probed, type TableFigures } from './life-probe.js';
import { STEPS } from './life-steps.js';
import { CHAIN, lives, Meter, spentRow, type LifePace, type Rounds } from './lives.js';
import type { Row } from './measure.js';

const FILE = new URL('output/life.txt', import.meta.url);
const SLOWEST = 12;
const QUERY_LENGTH = 110;

export interface Service {
  readonly cluster: BenchCluster;
  readonly meter: Meter;
  readonly probe: LifeProbe;
}

/** `against`: the commit to compare with; undefined measures this build alone. `isKept` writes the table's file. */
export interface LifeOptions {
  readonly against: string | undefined;
  /** Addresses that rentals go to in turn; the default is one. */
  readonly receivers?: number;
  readonly conditions: string;
  readonly isKept: boolean;
}

export async function lifeRows(pace: LifePace, options: LifeOptions): Promise<Row[]> {
  const { against, receivers, conditions, isKept } = options;
  const earlier = against === undefined ? undefined : await openBuild(against);
  const services: Service[] = [];
  try {
    services.push(await openService({ receivers }));
    if (earlier !== undefined) services.push(await openService({ receivers, build: earlier.root }));
    const [ours, limit = ours] = services;
    if (ours === undefined || limit === undefined) throw new Error('at least one service is measured');
    await Promise.all(services.map(({ meter }) => meter.startWorkers()));
    const rounds: Rounds = await lives(pace, [ours.meter, limit.meter], {
      begin: () => Promise.all(services.map(({ probe }) => probe.start())),
      end: async (bought) => {
        const [of, beside] = await Promise.all(services.map(({ probe }, index) => probe.end(bought[index] ?? 0)));
        if (of !== undefined) show(tableOf(of, beside), conditions, isKept);
      },
    });
    const whole = 'CPU of an order’s whole life';
    const what = receivers === undefined ? whole : `${whole}, ${receivers.toString()} receivers`;
    const row = { what, goal: 'ratio ≤ 0.55' };
    return earlier === undefined ? [] : [spentRow({ ...row, against: `the build of ${against ?? ''}` }, rounds)];
  } finally {
    for (const { cluster, probe } of services) {
      await probe.close();
      await cluster.close();
    }
    await earlier?.remove();
  }
}

interface ServiceOptions {
  readonly build?: string;
  readonly receivers?: number | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

export async function openService({ build, receivers, env }: ServiceOptions): Promise<Service> {
  const cluster = await BenchCluster.open({
    ...CHAIN,
    env: { ...CHAIN.env, ...env },
    postgresSettings: PROBE_SETTINGS,
    ...(receivers !== undefined && { receivers }),
    ...(build !== undefined && { build, hasEarlierSchema: true }),
  });
  return { cluster, meter: await Meter.of(cluster), probe: await LifeProbe.open(cluster.service.databaseUrl) };
}

function show(table: string, conditions: string, isKept: boolean): void {
  const text = `${conditions}\n\n${table}\n`;
  console.log(text);
  if (isKept) writeFileSync(FILE, text);
}

/** Each cell has this build's figure, and the earlier one's behind a slash. */
export function tableOf(
  of: Probed,
  beside: Probed | undefined,
  divisor = 'For each order, in a period in which as many orders end as begin.',
): string {
  const cell = (read: (probed: Probed) => number, digits = 1): string =>
    [of, beside].flatMap((probed) => (probed === undefined ? [] : read(probed).toFixed(digits))).join(' / ');
  const lines = [
    divisor,
    'kB: bytes of the write-ahead log, without images of whole pages. ms: the server’s time, planning included.',
    'Events are rows that triggers write within the statements of the other steps.',
    '',
    '| step | statements | transactions | rows | kB | ms |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  for (const step of STEPS) {
    const figures = (probed: Probed) => probed.steps.find((each) => each.step === step);
    const events = (probed: Probed) => probed.tables.find(({ table }) => table === 'event');
    if (step === 'events') {
      lines.push(
        `| events | – | – | ${cell((probed) => events(probed)?.inserted ?? 0)} | ${cell((probed) => (events(probed)?.walBytes ?? 0) / 1000)} (with numbering) | – |`,
      );
    } else {
      const cells = [
        cell((probed) => figures(probed)?.statements ?? 0, 2),
        cell((probed) => figures(probed)?.transactions ?? 0, 2),
        cell((probed) => figures(probed)?.rows ?? 0),
        cell((probed) => (figures(probed)?.walBytes ?? 0) / 1000),
        cell((probed) => figures(probed)?.serverMs ?? 0, 2),
      ];
      lines.push(`| ${step} | ${cells.join(' | ')} |`);
    }
  }
  lines.push(
    `| all | ${cell((probed) => probed.total.statements, 2)} | ${cell((probed) => probed.total.commits, 2)} commits | – | ${cell((probed) => probed.total.walBytes / 1000)} | ${cell((probed) => probed.steps.reduce((sum, { serverMs }) => sum + serverMs, 0), 2)} |`,
    '',
    `Images of whole pages: ${cell((probed) => probed.total.imageBytes / 1000)} kB.`,
  );
  if (beside !== undefined) {
    lines.push(`Log of an order: ${(of.total.walBytes / beside.total.walBytes).toFixed(2)} of the earlier build’s.`);
  }
  lines.push(
    '',
    '| table | inserted | updated | of them HOT | index entries | kB |',
    '| --- | --- | --- | --- | --- | --- |',
  );
  const names = [
    ...new Set(
      [of, beside]
        .flatMap((probed) => probed?.tables ?? [])
        .filter(isShown)
        .map(({ table }) => table),
    ),
  ];
  for (const name of names) {
    const figures = (probed: Probed) => probed.tables.find(({ table }) => table === name);
    const cells = (['inserted', 'updated', 'hot', 'entries'] as const).map((key) =>
      cell((probed) => figures(probed)?.[key] ?? 0),
    );
    lines.push(`| ${name} | ${cells.join(' | ')} | ${cell((probed) => (figures(probed)?.walBytes ?? 0) / 1000)} |`);
  }
  lines.push('', 'The statements that took the server longest: ms, calls and plans of an order.', '');
  for (const { query, calls, plans, ms } of of.slowest.slice(0, SLOWEST)) {
    lines.push(`${ms.toFixed(3)} ms, ${calls.toFixed(2)}, ${plans.toFixed(2)}: ${query.slice(0, QUERY_LENGTH)}`);
  }
  return lines.join('\n');
}

/** Leaves out tables that are written for many orders together. */
const isShown = ({ walBytes }: TableFigures): boolean => walBytes >= 20;
