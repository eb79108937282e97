/** Overview of the service: inbox, capacity, today against the median, nodes, workers and ledger. */
import type { ReactNode } from 'react';
import type { OperatorDays, OperatorHome } from '../../../../../src/modules/console/operator-shapes.js';
import { useReadEvery } from '../../api/project-data.js';
import { grouped, trxRound, usd, usdCents } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Amount, Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { AllClear, Status } from '../../parts/status.js';
import { OPERATOR_HOME } from '../../text/home.js';
import { NAV } from '../../text/nav.js';
import { inboxKey, InboxNotice } from './inbox-item.js';

const EVERY_MS = 15_000;
/** The lifetime of the service's cache for these figures. */
const DAYS_EVERY_MS = 60_000;
const text = OPERATOR_HOME;

export function OperatorHomePage() {
  const home = useReadEvery<OperatorHome>(['operator-home'], '/api/operator/home', EVERY_MS);
  return (
    <Page title={NAV.home}>
      <Loaded query={home} lines={8}>
        {(data) => (
          <>
            <Inbox home={data} />
            <Service figures={data.last_day} />
            <Capacity capacity={data.capacity} />
            <Today />
            <Chain home={data} />
            <Ledger home={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Inbox({ home: { inbox, checked_at: checkedAt } }: { readonly home: OperatorHome }) {
  return (
    <Section title={text.inbox}>
      {inbox.length === 0 ? (
        <AllClear word={text.allClear} at={checkedAt} />
      ) : (
        inbox.map((item) => <InboxNotice key={inboxKey(item)} item={item} />)
      )}
    </Section>
  );
}

function Capacity({ capacity }: { readonly capacity: OperatorHome['capacity'] }) {
  const parts = [
    [text.sold, capacity.sold_sun, capacity.sold_energy, 'sold'],
    [text.free, capacity.free_sun, capacity.free_energy, 'free'],
    [text.recovering, capacity.recovering_sun, capacity.recovering_energy, 'recovering'],
  ] as const;
  const whole = Math.max(
    1,
    parts.reduce((sum, [, sun]) => sum + sun, 0),
  );
  const widths = parts.map(([, sun]) => Math.round((sun / whole) * 1000));
  const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, width) => sum + width, 0));
  return (
    <Section title={text.capacity}>
      <svg className="capacity" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(([, , , name], index) => (
          <rect key={name} className={`capacity-${name}`} x={starts[index]} width={widths[index]} height="10" />
        ))}
      </svg>
      <Facts
        of={parts.map(([name, sun, energy, part]) => [
          name,
          <>
            <span className={`swatch swatch-${part}`} aria-hidden="true" />
            {energy !== undefined && <strong>{text.energyOf(grouped(energy))} </strong>}
            <span className="dim">{trxRound(sun)}</span>
          </>,
        ])}
      />
      <p>{capacityText(capacity)}</p>
    </Section>
  );
}

function capacityText({ is_selling: isSelling, sold_out_in_hours: hours }: OperatorHome['capacity']): string {
  if (!isSelling) return text.notSelling;
  return hours === undefined ? text.notSoldOut : text.soldOut(hours);
}

/** Success, time to delivery and refusals. */
function Service({ figures }: { readonly figures: OperatorHome['last_day'] }) {
  const { delivered, refunded, p50_sec: p50, p95_sec: p95, since, refused_in_hour: refused } = figures;
  const seconds = (sec: number): string => `${sec < 10 ? sec.toFixed(1) : Math.round(sec).toString()} s`;
  const ended = delivered + refunded;
  const took = p50 === undefined || p95 === undefined ? undefined : text.deliveryOf(seconds(p50), seconds(p95));
  return (
    <Section title={text.service} note={text.serviceNote}>
      <Facts
        of={[
          [text.success, ended === 0 ? text.noOrders : text.successOf(delivered, ended)],
          [text.delivery, took],
          [text.refused, grouped(refused)],
          [text.countedSince, since === undefined ? undefined : <Moment key="since" at={since} />],
        ]}
      />
    </Section>
  );
}

interface Figure {
  readonly name: string;
  readonly today: ReactNode;
  readonly median: ReactNode;
}

const FIGURES: readonly Column<Figure>[] = [
  { title: text.figures.name, cell: ({ name }) => name },
  { title: text.figures.today, cell: ({ today }) => <strong>{today}</strong>, isFigure: true },
  { title: text.figures.median, cell: ({ median }) => median, isFigure: true },
];

function Today() {
  const days = useReadEvery<OperatorDays>(['operator-days'], '/api/operator/days', DAYS_EVERY_MS);
  return (
    <Section title={text.today} note={text.todayNote}>
      <Loaded query={days} lines={4}>
        {(data) => (
          <Lines caption={text.todayCaption} columns={FIGURES} items={figuresOf(data)} keyOf={({ name }) => name} />
        )}
      </Loaded>
    </Section>
  );
}

function figuresOf({ today, median }: OperatorDays): Figure[] {
  const cost = ({ chain_cost: { usd: dollars, sun } }: OperatorDays['median']) => (
    <>
      {usdCents(dollars)} <span className="dim one-line">{trxRound(sun)}</span>
    </>
  );
  return [
    { name: text.revenue, today: usd(today.revenue.credits), median: usd(median.revenue.credits) },
    { name: text.refunds, today: usd(today.refunds.credits), median: usd(median.refunds.credits) },
    { name: text.chainCost, today: cost(today), median: cost(median) },
    { name: text.margin, today: usdCents(today.margin_usd), median: usdCents(median.margin_usd) },
  ];
}

type Head = OperatorHome['heads'][number];
const HEADS: readonly Column<Head>[] = [
  { title: text.node, cell: ({ node }) => <code>{node}</code> },
  {
    title: text.head,
    cell: ({ block_number: block, error }) =>
      block === undefined ? <Status tone="bad" icon="bad" word={error ?? '–'} /> : grouped(block),
    isFigure: true,
  },
  { title: text.age, cell: ({ age_sec: age }) => (age === undefined ? '–' : span(age)), isFigure: true },
];

function Chain({ home: { heads, energy_fee_sun: fee, workers } }: { readonly home: OperatorHome }) {
  const { claimed, due, oldest_due_sec: oldest } = workers;
  return (
    <Section title={text.chain}>
      <Lines caption={text.heads} columns={HEADS} items={heads} keyOf={({ node }) => node} />
      <Facts
        of={[
          [text.fee, fee === undefined ? undefined : text.feeOf(grouped(fee))],
          [
            text.workers,
            [text.workersText(claimed, due), ...(oldest === undefined ? [] : [text.oldest(span(oldest))])].join(', '),
          ],
        ]}
      />
    </Section>
  );
}

function Ledger({ home: { verify, owed } }: { readonly home: OperatorHome }) {
  return (
    <Section title={text.ledger}>
      {verify.stopped && (
        <Notice tone="bad" title={text.stopped}>
          <p>{verify.reason}</p>
        </Notice>
      )}
      <Facts
        of={[
          [
            text.verify,
            verify.passed_at === undefined ? (
              text.verifyNever
            ) : (
              <>
                {text.verifyPassed} <Moment at={verify.passed_at} />
              </>
            ),
          ],
          [text.owed, <Amount key="owed" credits={owed.credits} isBalance />],
        ]}
      />
    </Section>
  );
}
