/** The project's orders, newest first. Filters live in the URL; new orders do not move the visible rows. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { NewCount, OrderLine, Page as PageOf } from '../../../../../src/modules/console/data-shapes.js';
import { byHand, get, withQuery, type Query } from '../../api/client.js';
import { usePages } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { seconds, span } from '../../format/time.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { OrderStatus } from '../../parts/status.js';
import { orderPath, useProject } from '../../shell/project.js';
import { EXPLAIN } from '../../text/explain.js';
import { NAV } from '../../text/nav.js';
import { ORDERS } from '../../text/orders.js';
import { BuyEnergy } from '../purchase/buy-energy.js';
import { explainPath } from '../explain-page.js';
import { OrderFilter, useOrderFilter } from './order-filter.js';

/** Polling interval for new orders. */
const NEW_EVERY_MS = 5000;

export function OrdersPage() {
  const { id, api, isOwner } = useProject();
  const { query: filter, isFiltered } = useOrderFilter();
  const path = `${api}/orders`;
  const orders = usePages<OrderLine, PageOf<OrderLine>>(['orders', id], path, filter);
  const since = orders.data?.pages[0]?.newest;
  const show = () => {
    byHand();
    void orders.refetch();
  };
  return (
    <Page
      title={NAV.orders}
      lead={ORDERS.lead}
      actions={
        <>
          <Link className="crumb" href={explainPath(id)}>
            {EXPLAIN.link}
          </Link>
          <a className="crumb" href={withQuery(`${path}.csv`, filter)} download>
            {ORDERS.filter.csv}
          </a>
          {isOwner && <BuyEnergy receiver={String(filter['receiver'] ?? '')} />}
        </>
      }
    >
      <OrderFilter />
      {since !== undefined && <NewPill path={`${path}/new`} filter={filter} since={since} onShow={show} />}
      <LoadedPages query={orders} empty={<p>{isFiltered ? ORDERS.emptyFiltered : ORDERS.empty}</p>}>
        {(items) => (
          <Lines
            caption={ORDERS.caption}
            columns={orderColumns(id)}
            items={items}
            keyOf={(order) => order.id.toString()}
          />
        )}
      </LoadedPages>
    </Page>
  );
}

interface PillProps {
  readonly path: string;
  readonly filter: Query;
  readonly since: string;
  readonly onShow: () => void;
}

function NewPill({ path, filter, since, onShow }: PillProps) {
  const { data } = useQuery({
    queryKey: ['new', path, filter, since],
    queryFn: () => get<NewCount>(path, { ...filter, since }, { isBackground: true }),
    refetchInterval: NEW_EVERY_MS,
  });
  return (
    <div role="status" className="pill-place">
      {data !== undefined && data.count > 0 && (
        <Button variant="default" onClick={onShow}>
          {ORDERS.newer(data.count)}
        </Button>
      )}
    </div>
  );
}

const titles = ORDERS.columns;

/** The parts beside energy, in the widest column: the others have no room for them. */
function FurtherParts({ order: { bandwidth, activates } }: { readonly order: OrderLine }) {
  const parts = [
    ...(bandwidth === undefined ? [] : [ORDERS.bandwidth(grouped(bandwidth))]),
    ...(activates === true ? [ORDERS.activation] : []),
  ];
  return parts.length === 0 ? null : <p className="dim">{ORDERS.withParts(parts.join(', '))}</p>;
}

export function orderColumns<Line extends OrderLine>(projectOf: string | ((line: Line) => string)): Column<Line>[] {
  return [
    {
      title: titles.order,
      cell: (order) => (
        <Link
          href={orderPath(typeof projectOf === 'string' ? projectOf : projectOf(order), order.key)}
          className="mono order-link"
        >
          {order.key}
        </Link>
      ),
    },
    { title: titles.status, cell: (order) => <OrderStatus order={order} /> },
    {
      title: titles.receiver,
      cell: (order) => (
        <>
          <Groups text={order.receive_address} name={titles.receiver} withoutCopy isOneLine />
          <FurtherParts order={order} />
        </>
      ),
    },
    {
      title: titles.energy,
      cell: ({ energy, duration_sec: duration }) => (
        <>
          {energy === undefined ? '–' : grouped(energy)}{' '}
          {duration !== undefined && <span className="dim one-line">{ORDERS.forTime(span(duration))}</span>}
        </>
      ),
      isFigure: true,
    },
    {
      title: titles.charged,
      cell: ({ charged }) => <Amount credits={charged.credits} withoutCredits />,
      isFigure: true,
    },
    { title: titles.created, cell: (order) => <Moment at={order.created_at} /> },
    {
      title: titles.took,
      cell: ({ delivered_in_ms: took }) => (took === undefined ? '–' : seconds(took)),
      isFigure: true,
    },
  ];
}
