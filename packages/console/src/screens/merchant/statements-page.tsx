/** The closed months of a project. */
import { Link } from 'wouter';
import type { StatementLine } from '../../../../../src/modules/console/data-shapes.js';
import { usePages } from '../../api/project-data.js';
import { grouped, usd } from '../../format/money.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { pathOf, useProject } from '../../shell/project.js';
import { STATEMENTS } from '../../text/billing.js';
import { NAV } from '../../text/nav.js';
import { BillingNav } from '../../shell/subnav.js';

const titles = STATEMENTS.columns;

export function StatementsPage() {
  const { id, api } = useProject();
  const statements = usePages<StatementLine>(['project', id], `${api}/statements`);
  const columns: Column<StatementLine>[] = [
    { title: titles.number, cell: ({ number }) => number.toString() },
    {
      title: titles.month,
      cell: ({ number, month }) => (
        <Link href={pathOf(id, `/billing/statements/${number.toString()}`)} className="order-link">
          {month}
        </Link>
      ),
    },
    { title: titles.opening, cell: ({ opening }) => usd(opening.credits), isFigure: true },
    { title: titles.closing, cell: ({ closing }) => usd(closing.credits), isFigure: true },
    { title: titles.entries, cell: ({ entries }) => grouped(entries), isFigure: true },
    {
      title: titles.file,
      cell: ({ number, month }) => (
        <a className="order-link" href={`${api}/statements/${number.toString()}.csv`} download>
          {STATEMENTS.csv}
          <span className="only-read"> {month}</span>
        </a>
      ),
    },
  ];
  return (
    <Page title={NAV.statements} lead={STATEMENTS.lead} above={<BillingNav />}>
      <p>
        <Link href={pathOf(id, '/billing/statements/open')} className="crumb">
          {STATEMENTS.openMonth}
        </Link>
      </p>
      <LoadedPages query={statements} empty={<p>{STATEMENTS.empty}</p>}>
        {(items) => (
          <Lines
            caption={STATEMENTS.caption}
            columns={columns}
            items={items}
            keyOf={({ number }) => number.toString()}
          />
        )}
      </LoadedPages>
    </Page>
  );
}
