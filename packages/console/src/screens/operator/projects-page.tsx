/** All projects, newest first, page by page. */
import { useState } from 'react';
import { Link } from 'wouter';
import type { ProjectLine } from '../../../../../src/modules/console/operator-shapes.js';
import { usePages } from '../../api/project-data.js';
import { useSignedIn } from '../../api/session.js';
import { usd } from '../../format/money.js';
import { Filter, isFilteredBy, useFiltered, type FilterField } from '../../parts/filter.js';
import { Amount, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { BookCredits } from './book-credits.js';
import { pathOf } from '../../shell/project.js';
import { CREDITS } from '../../text/credits.js';
import { NAV } from '../../text/nav.js';
import { PROJECTS } from '../../text/projects.js';

const titles = PROJECTS.columns;
const NAMES = ['name', 'state'] as const;
const FIELDS: readonly FilterField<(typeof NAMES)[number]>[] = [
  { name: 'name', label: PROJECTS.filter.name, lengthMax: 100, isWide: true },
  {
    name: 'state',
    label: titles.state,
    choices: [
      ['live', PROJECTS.live],
      ['test', PROJECTS.test],
      ['frozen', PROJECTS.frozen],
    ],
  },
];
const READ: readonly Column<ProjectLine>[] = [
  {
    title: titles.name,
    cell: ({ id, name }) => (
      <Link href={pathOf(id, '/orders')} className="order-link">
        <strong>{name}</strong>
      </Link>
    ),
  },
  { title: titles.balance, cell: ({ balance }) => <Amount credits={balance.credits} isBalance />, isFigure: true },
  { title: titles.terms, cell: (project) => termsOf(project) },
  { title: titles.schemes, cell: ({ signature_schemes: schemes }) => PROJECTS.schemes[schemes] },
  {
    title: titles.state,
    cell: ({ frozen, test }) => {
      if (frozen) return <Status tone="warn" icon="warn" word={PROJECTS.frozen} />;
      return <Status tone="good" icon="good" word={test ? PROJECTS.test : PROJECTS.live} />;
    },
  },
  { title: titles.made, cell: ({ created_at: at }) => <Moment at={at} /> },
];

function columnsOf(book: (project: ProjectLine) => void): readonly Column<ProjectLine>[] {
  return [
    ...READ,
    {
      title: titles.act,
      cell: (project) => (
        <button type="button" className="link-button" onClick={() => book(project)}>
          {CREDITS.book}
          <span className="only-read"> {project.name}</span>
        </button>
      ),
    },
  ];
}

function termsOf({ is_postpaid: isPostpaid, debt_limit: limit }: ProjectLine): string {
  if (!isPostpaid) return PROJECTS.prepaid;
  return limit === undefined ? PROJECTS.postpaid : PROJECTS.postpaidTo(usd(limit.credits));
}

export function ProjectsPage() {
  const isAdmin = useSignedIn().operator_role === 'admin';
  const filter = useFiltered(NAMES);
  const isFiltered = isFilteredBy(filter);
  const projects = usePages<ProjectLine>(['projects'], '/api/operator/projects', filter);
  const [booking, setBooking] = useState<ProjectLine>();
  const columns = isAdmin ? columnsOf(setBooking) : READ;
  const make = (
    <Link href="/projects/new" className="button-link">
      {PROJECTS.make}
    </Link>
  );
  return (
    <Page title={NAV.projects} lead={PROJECTS.lead} actions={isAdmin && make}>
      <Filter legend={PROJECTS.filter.legend} fields={FIELDS} />
      <LoadedPages
        query={projects}
        empty={
          isFiltered ? (
            <p>{PROJECTS.emptyFiltered}</p>
          ) : (
            <>
              <p>{PROJECTS.empty}</p>
              {isAdmin && make}
            </>
          )
        }
      >
        {(items) => <Lines caption={PROJECTS.caption} columns={columns} items={items} keyOf={({ id }) => id} />}
      </LoadedPages>
      {booking !== undefined && <BookCredits project={booking} onClose={() => setBooking(undefined)} />}
    </Page>
  );
}
