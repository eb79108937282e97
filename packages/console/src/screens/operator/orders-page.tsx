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

const PROJECT: Column<OperatorOrderLine> = {
  title: ORDERS.columns.project,
  cell: ({ project, needs_attention: isOdd }) => (
    <>
      {project.name} {isOdd && <Status tone="warn" icon="warn" word={ORDERS.attention} />}
    </>
  ),
};

export function OperatorOrdersPage() {
  const { query: filter, isFiltered } = useOrderFilter();
  const orders = usePages<OperatorOrderLine>(['orders'], '/api/operator/orders', filter);
  const columns = [...orderColumns<OperatorOrderLine>(({ project }) => project.id)];
  columns.splice(1, 0, PROJECT);
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
          <Lines caption={ORDERS.caption} columns={columns} items={items} keyOf={({ id }) => id.toString()} />
        )}
      </LoadedPages>
    </Page>
  );
}
