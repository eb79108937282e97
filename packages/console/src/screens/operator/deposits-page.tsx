/** Deposits of all projects. */
import { Link } from 'wouter';
import type { OperatorDeposit } from '../../../../../src/console/operator-shapes.js';
import { usePages } from '../../api/project-data.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { pathOf } from '../../shell/project.js';
import { NAV } from '../../text/nav.js';
import { DEPOSITS } from '../../text/operating.js';
import { DEPOSIT_COLUMNS } from '../merchant/deposit-columns.js';

const PROJECT: Column<OperatorDeposit> = {
  title: DEPOSITS.project,
  cell: ({ project }) => (
    <Link href={pathOf(project.id, '/orders')} className="order-link">
      {project.name}
    </Link>
  ),
};

export function OperatorDepositsPage() {
  const deposits = usePages<OperatorDeposit>(['deposits'], '/api/operator/deposits');
  return (
    <Page title={NAV.deposits} lead={DEPOSITS.lead}>
      <LoadedPages query={deposits} empty={<p>{DEPOSITS.empty}</p>}>
        {(items) => (
          <Lines
            caption={DEPOSITS.caption}
            columns={[PROJECT, ...DEPOSIT_COLUMNS]}
            items={items}
            keyOf={({ id }) => id}
          />
        )}
      </LoadedPages>
    </Page>
  );
}
