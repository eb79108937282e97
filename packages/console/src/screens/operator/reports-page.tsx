/** A report over a range of days, by day, project or wallet. */
import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type SubmitEvent } from 'react';
import { useSearchParams } from 'wouter';
import type { ReportFigures, ReportShape } from '../../../../../src/modules/console/operator-shapes.js';
import { get, withQuery } from '../../api/client.js';
import { assetText, grouped, shortly, usd, usdCents } from '../../format/money.js';
import { everyDay } from '../../format/time.js';
import { Chart } from '../../parts/chart.js';
import { Amount } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { COMMON } from '../../text/common.js';
import { NAV } from '../../text/nav.js';
import { OPERATOR_HOME } from '../../text/home.js';
import { REPORTS } from '../../text/operating.js';

const BYS = ['day', 'project', 'wallet'] as const;
const PATH = '/api/operator/report';
const DAY_MS = 86_400_000;

const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);

export function ReportsPage() {
  const [search, setSearch] = useSearchParams();
  const now = Date.now();
  const query = {
    from: search.get('from') ?? dayText(now - 29 * DAY_MS),
    to: search.get('to') ?? dayText(now),
    by: search.get('by') ?? 'day',
  };
  const report = useQuery({ queryKey: ['report', query], queryFn: () => get<ReportShape>(PATH, query) });
  return (
    <Page
      title={NAV.reports}
      lead={REPORTS.lead}
      actions={
        <a className="crumb" href={withQuery(`${PATH}.csv`, query)} download>
          {REPORTS.csv}
        </a>
      }
    >
      <Choice query={query} onShow={setSearch} />
      <Loaded query={report} lines={6}>
        {(data) => <Figures report={data} query={query} />}
      </Loaded>
    </Page>
  );
}

type Query = Readonly<Record<'from' | 'to' | 'by', string>>;

function Choice({
  query,
  onShow,
}: {
  readonly query: Query;
  readonly onShow: (query: Record<string, string>) => void;
}) {
  const [from, setFrom] = useState(query.from);
  const [to, setTo] = useState(query.to);
  const [by, setBy] = useState(query.by);
  const show = (event: SubmitEvent) => {
    event.preventDefault();
    onShow({ from, to, by });
  };
  return (
    <form className="filter" onSubmit={show}>
      <TextInput
        type="date"
        label={COMMON.filter.from}
        value={from}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        type="date"
        label={COMMON.filter.to}
        value={to}
        onChange={(event) => setTo(event.currentTarget.value)}
      />
      <label className="filter-field">
        <span>{REPORTS.by}</span>
        <select value={by} onChange={(event) => setBy(event.currentTarget.value)}>
          {BYS.map((one) => (
            <option key={one} value={one}>
              {REPORTS.bys[one]}
            </option>
          ))}
        </select>
      </label>
      <Button type="submit" variant="default">
        {COMMON.filter.apply}
      </Button>
    </form>
  );
}

interface Row {
  /** Project names are not unique. */
  readonly key: string;
  readonly name: string;
  readonly figures: ReportFigures;
}

const withTrx = (figure: string, amount: string) => (
  <>
    <span className="one-line">{figure}</span> <span className="dim one-line">{assetText(amount, 'TRX')}</span>
  </>
);

/** Names bandwidth only if some was delivered. */
function freeText({ free_top_up_energy: energy, free_top_up_bandwidth: bandwidth }: ReportFigures): string {
  const ofEnergy = OPERATOR_HOME.energyOf(grouped(energy));
  return bandwidth === '0' ? ofEnergy : REPORTS.withBandwidth(ofEnergy, grouped(bandwidth));
}

const titles = REPORTS.columns;
const BANDWIDTH: Column<Row> = {
  title: titles.bandwidth,
  cell: ({ figures }) => grouped(figures.bandwidth_hours),
  isFigure: true,
};
const COLUMNS: readonly Column<Row>[] = [
  { title: titles.key, cell: ({ name }) => <strong className="report-group">{name}</strong> },
  { title: titles.revenue, cell: ({ figures }) => usd(figures.revenue.credits), isFigure: true },
  { title: titles.refunds, cell: ({ figures }) => usd(figures.refunds.credits), isFigure: true },
  { title: titles.compensations, cell: ({ figures }) => usd(figures.compensations.credits), isFigure: true },
  {
    title: titles.cost,
    cell: ({ figures }) => withTrx(usdCents(figures.chain_cost_usd), figures.chain_cost_trx),
    isFigure: true,
  },
  { title: titles.margin, cell: ({ figures }) => usdCents(figures.margin_usd), isFigure: true },
  { title: titles.energy, cell: ({ figures }) => grouped(figures.energy_hours), isFigure: true },
  {
    title: titles.free,
    cell: ({ figures }) => withTrx(freeText(figures), figures.free_top_up_cost_trx),
    isFigure: true,
  },
  { title: titles.idle, cell: ({ figures }) => grouped(figures.idle_energy_hours), isFigure: true },
  { title: titles.recovering, cell: ({ figures }) => grouped(figures.recovering_energy_hours), isFigure: true },
];

/** Bandwidth has a column beside energy once some was sold. */
function columnsOf({ total }: ReportShape): readonly Column<Row>[] {
  if (total.bandwidth_hours === '0') return COLUMNS;
  return COLUMNS.flatMap((column) => (column.title === titles.energy ? [column, BANDWIDTH] : [column]));
}

interface ReportProps {
  readonly report: ReportShape;
  readonly query: Query;
}

/** Charts revenue with margin, and sold energy with the energy that could have been sold, by day. */
function ByDay({ report, query }: ReportProps) {
  const rows = report.rows.map((figures) => ({ day: figures.key ?? '', figures }));
  const days = everyDay(rows, query.from, query.to);
  const labels = days.map(({ day }) => day.slice(5));
  const drawn = (name: string, valueOf: (figures: ReportFigures) => string) => ({
    name,
    values: days.map(({ of }) => (of === undefined ? '0' : valueOf(of.figures))),
  });
  const { revenue, margin_usd: margin, energy_hours: sold, idle_energy_hours: idle } = report.total;
  return (
    <>
      <Chart
        says={REPORTS.saysMoney(usd(revenue.credits), usdCents(margin))}
        labels={labels}
        drawn={[
          { ...drawn(titles.revenue, (figures) => figures.revenue.usd), isBars: true },
          drawn(titles.margin, (figures) => figures.margin_usd),
        ]}
        format={(dollars) => usdCents(dollars.toFixed(2))}
      />
      <Chart
        says={REPORTS.saysEnergy(grouped(sold), grouped(idle))}
        labels={labels}
        drawn={[
          { ...drawn(titles.energy, (figures) => figures.energy_hours), isBars: true },
          drawn(titles.idle, (figures) => figures.idle_energy_hours),
        ]}
        format={shortly}
      />
    </>
  );
}

function Figures({ report, query }: ReportProps) {
  const rows: Row[] = [
    ...report.rows.map((row) => ({ key: `of ${row.key ?? ''}`, name: row.name ?? row.key ?? '–', figures: row })),
    { key: 'all', name: REPORTS.total, figures: report.total },
  ];
  return (
    <Section title={REPORTS.caption}>
      {report.rows.length === 0 ? (
        <div className="empty">
          <p>{REPORTS.empty}</p>
        </div>
      ) : (
        <>
          {report.by === 'day' && <ByDay report={report} query={query} />}
          <Lines caption={REPORTS.caption} columns={columnsOf(report)} items={rows} keyOf={({ key }) => key} />
        </>
      )}
      <Facts
        of={[
          [REPORTS.owed, <Amount key="owed" credits={report.owed.credits} isBalance />],
          [REPORTS.debts, <Amount key="debts" credits={report.debts.credits} isBalance />],
          ...report.held.map(({ asset, amount }) => [REPORTS.held(asset), assetText(amount, asset)] as const),
        ]}
      />
    </Section>
  );
}
