/** Orders of all projects. */
import { Link } from 'wouter';
import type { OperatorOrderLine } from '../../../../../src/modules/console/operator-shapes.js';
import { usePages } from '../../api/project-data.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { EXPLAIN } from '../../text/explain.js';
import { NAV } from '../../text/nav.js';
import { ORDERS } from '../../text/orders.js';
import { explainPath } from '../explain-page.js';
import { OrderFilter, useOrderFilter } from '../order/order-filter.js';
import { orderColumns } from '../order/orders-page.js';

/** The project is below the order: a separate column would not fit a common screen. */
function columnsOf(): Column<OperatorOrderLine>[] {
  const [order, ...rest] = orderColumns<OperatorOrderLine>(({ project }) => project.id);
  if (order === undefined) return rest;
  const withProject: Column<OperatorOrderLine> = {
    title: order.title,
    cell: (line) => (
      <>
        {order.cell(line)}
        <p className="dim">{line.project.name}</p>
        {line.needs_attention && <Status tone="warn" icon="warn" word={ORDERS.attention} />}
      </>
    ),
  };
  return [withProject, ...rest];
}

const COLUMNS = columnsOf();

export function OperatorOrdersPage() {
  const { query: filter, isFiltered } = useOrderFilter();
  const orders = usePages<OperatorOrderLine>(['orders'], '/api/operator/orders', filter);
  return (
    <Page
      title={NAV.orders}
      lead={ORDERS.leadService}
      actions={
        <Link className="crumb" href={explainPath(undefined)}>
          {EXPLAIN.link}
        </Link>
      }
    >
      <OrderFilter />
      <LoadedPages query={orders} empty={<p>{isFiltered ? ORDERS.emptyFiltered : ORDERS.emptyService}</p>}>
        {(items) => (
          <Lines caption={ORDERS.caption} columns={COLUMNS} items={items} keyOf={({ id }) => id.toString()} />
        )}
      </LoadedPages>
    </Page>
  );
}
