/** Overview of a project: credits, open tasks, running rentals, savings and the last orders. */
import { Link } from 'wouter';
import type { MerchantHome } from '../../../../../src/modules/console/integration-shapes.js';
import { useArrivals } from '../../api/arrivals.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped, usd } from '../../format/money.js';
import { sentenceText } from '../../format/sentence.js';
import { dayBefore, everyDay, span } from '../../format/time.js';
import { Chart } from '../../parts/chart.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { AllClear, Status } from '../../parts/status.js';
import { orderPath, pathOf, useProject } from '../../shell/project.js';
import { HOME } from '../../text/home.js';
import { NAV } from '../../text/nav.js';
import { ORDERS } from '../../text/orders.js';
import { FirstDelivery } from './first-delivery.js';
import { GoLiveCard } from './go-live-page.js';
import { orderColumns } from '../order/orders-page.js';

const EVERY_MS = 30_000;
/** Days on the chart: the range of 30 days usually starts in the middle of a day. */
const DAYS_DRAWN = 30;

export function HomePage() {
  const { id } = useProject();
  useArrivals(id);
  const home = useProjectData<MerchantHome>('/home', { everyMs: EVERY_MS });
  return (
    <Page title={NAV.home}>
      <Loaded query={home} lines={8}>
        {(data) => (
          <>
            <Credits home={data} />
            <FirstSteps steps={data.first_steps} />
            {firstOrderOf(data) !== undefined && <FirstDelivery orderKey={firstOrderOf(data) ?? ''} />}
            <Needs home={data} />
            <Running home={data} />
            <Month home={data} />
            <Section title={HOME.lastOrders}>
              {data.last_orders.length === 0 ? (
                <p>{ORDERS.empty}</p>
              ) : (
                <Lines
                  caption={HOME.lastOrders}
                  columns={orderColumns(id)}
                  items={data.last_orders}
                  keyOf={(order) => order.id.toString()}
                />
              )}
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Returns the key of the project's only purchase. With a second order the introduction is no longer shown. */
function firstOrderOf({ last_orders: orders }: MerchantHome): string | undefined {
  const [first, second] = orders;
  return first !== undefined && second === undefined && first.kind === 'rental' && first.status !== 'refunded'
    ? first.key
    : undefined;
}

function Credits({ home: { balance, days_left: days } }: { readonly home: MerchantHome }) {
  const { id } = useProject();
  return (
    <Section title={HOME.credits}>
      <div className="credits-line">
        <p className="big-figure">
          <Amount credits={balance.credits} isBalance />
        </p>
        {days !== undefined && <p>{HOME.left(days)}</p>}
        <Link href={pathOf(id, '/billing/top-up')} className="button-link">
          {HOME.topUp}
        </Link>
      </div>
    </Section>
  );
}

function FirstSteps({ steps }: { readonly steps: MerchantHome['first_steps'] }) {
  const { id } = useProject();
  const text = HOME.steps;
  const all = [
    [text.toppedUp, steps.topped_up, '/billing/top-up'],
    [text.keyUsed, steps.key_used, '/integration/keys'],
    [text.webhook, steps.webhook_made, '/integration/webhooks'],
    [text.order, steps.order_delivered, '/orders'],
  ] as const;
  if (all.every(([, isDone]) => isDone)) return <GoLiveCard />;
  return (
    <Section title={text.title} note={text.lead}>
      <ol className="first-steps">
        {all.map(([words, isDone, path]) => (
          <li key={path}>
            <Status
              tone={isDone ? 'good' : 'calm'}
              icon={isDone ? 'good' : 'wait'}
              word={isDone ? text.done : text.open}
            />
            {isDone ? <span>{words}</span> : <Link href={pathOf(id, path)}>{words}</Link>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

type Need = MerchantHome['needs_you'][number];

/**
 * Returns the page on which the task is resolved. Undefined for a frozen project: only the operator can resolve that.
 */
function mendedAt({ kind, subject = '' }: Need): string | undefined {
  switch (kind) {
    case 'frozen':
      return undefined;
    case 'auto_delegation_paused':
      return `/auto-delegation/${encodeURIComponent(subject)}`;
    case 'webhook_failing':
    case 'webhook_disabled':
      return '/integration/webhooks';
    default:
      return '/billing/top-up';
  }
}

function Needs({ home: { needs_you: needs, checked_at: checkedAt } }: { readonly home: MerchantHome }) {
  const { id } = useProject();
  return (
    <Section title={HOME.needs}>
      {needs.length === 0 ? (
        <AllClear word={HOME.allClear} at={checkedAt} />
      ) : (
        needs.map((need) => {
          const { kind, says, subject, since } = need;
          const path = mendedAt(need);
          return (
            <Notice
              key={`${kind} ${subject ?? ''}`}
              tone="warn"
              title={subject === undefined ? sentenceText(says) : says}
            >
              {since !== undefined && (
                <p className="dim">
                  {HOME.since} <Moment at={since} />
                </p>
              )}
              {path !== undefined && (
                <Link href={pathOf(id, path)} className="crumb">
                  {HOME.mend[kind]}
                </Link>
              )}
            </Notice>
          );
        })
      )}
    </Section>
  );
}

function Running({ home }: { readonly home: MerchantHome }) {
  const { id } = useProject();
  const titles = HOME.runningColumns;
  const columns: Column<MerchantHome['running'][number]>[] = [
    { title: titles.energy, cell: ({ energy }) => grouped(energy), isFigure: true },
    { title: titles.address, cell: (rental) => <Groups text={rental.receive_address} name={titles.address} /> },
    { title: titles.left, cell: ({ left_sec: left }) => span(left) },
    {
      title: titles.order,
      cell: ({ order_key: key }) => (
        <Link href={orderPath(id, key)} className="mono order-link">
          {key}
        </Link>
      ),
    },
    {
      title: titles.act,
      cell: ({ order_key: key }) => (
        <Link href={`${orderPath(id, key)}#extend`} className="order-link">
          {HOME.extend}
          <span className="only-read"> {key}</span>
        </Link>
      ),
    },
  ];
  return (
    <Section title={HOME.running}>
      {home.running.length === 0 ? (
        <p>{HOME.runningNone}</p>
      ) : (
        <Lines
          caption={HOME.runningCaption}
          columns={columns}
          items={home.running}
          keyOf={({ order_key: key }) => key}
        />
      )}
      {home.running_more && <p className="dim">{HOME.runningMore}</p>}
    </Section>
  );
}

type Day = MerchantHome['last_30_days']['days'][number];
const DAYS: readonly Column<Day>[] = [
  { title: HOME.days.day, cell: ({ day }) => day },
  { title: HOME.spent, cell: ({ spent }) => usd(spent.credits), isFigure: true },
  { title: HOME.saved, cell: ({ saved }) => (saved === undefined ? '–' : usd(saved.credits)), isFigure: true },
];

function Days({ days, at }: { readonly days: readonly Day[]; readonly at: string }) {
  const all = everyDay(days, dayBefore(at, DAYS_DRAWN), dayBefore(at, 0));
  const sum = (of: (day: Day) => number): string => usd(days.reduce((total, day) => total + of(day), 0));
  const spent = (day: Day | undefined): number => day?.spent.credits ?? 0;
  const saved = (day: Day | undefined): number => day?.saved?.credits ?? 0;
  return (
    <>
      <Chart
        says={HOME.days.says(sum(spent), sum(saved))}
        labels={all.map(({ day }) => day.slice(5))}
        drawn={[
          { name: HOME.spent, values: all.map(({ of }) => spent(of)), isBars: true },
          { name: HOME.saved, values: all.map(({ of }) => saved(of)) },
        ]}
        format={(credits) => usd(Math.round(credits))}
      />
      <details>
        <summary>{HOME.days.table}</summary>
        <Lines caption={HOME.days.table} columns={DAYS} items={days} keyOf={({ day }) => day} />
      </details>
    </>
  );
}

function Month({ home: { last_30_days: month, checked_at: at } }: { readonly home: MerchantHome }) {
  const { saved, burning, used_energy: used, since } = month;
  return (
    <Section title={HOME.month}>
      <Facts
        of={[
          [HOME.spent, <Amount key="spent" credits={month.spent.credits} isBalance />],
          [HOME.saved, saved && <Amount credits={saved.credits} isBalance />],
          [HOME.orders, grouped(month.orders)],
          [HOME.energy, grouped(month.energy)],
        ]}
      />
      {burning !== undefined && used !== undefined && (
        <p className="dim">{HOME.burning(grouped(used), usd(burning.credits))}</p>
      )}
      {month.days.length > 0 && <Days days={month.days} at={at} />}
      {since !== undefined && (
        <p className="dim">
          {HOME.monthSince} <Moment at={since} />
        </p>
      )}
    </Section>
  );
}
